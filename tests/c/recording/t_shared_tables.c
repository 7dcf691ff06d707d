#include "check.h"
#include "fixtures.h"

#include "recording/shared_tables.h"

ABSORBS(nodes_are_added_once)
{
    FIXTURE(f, NULL, 4);
    fd_node_spec spec = {.kind = FD_NODE_RANGE, .name = "batch"};
    bool added = false;
    uint32_t node = fd_recording_node(f.recording, &spec, &added);
    CHECK(node != 0 && added);
    EQUAL(fd_recording_node(f.recording, &spec, &added), node);
    CHECK(!added);
}
