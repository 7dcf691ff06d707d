#include "check.h"
#include "fixtures.h"

#include "columns/path_ids.h"
#include "trace/trace_merge.h"

static void
drop(uint64_t **ids)
{
    fd_free(*ids);
}

/* The ids of one rank are found in a merge, whatever its order. */
TEST(same_in_every_trace)
{
    TRAINED_TRACE(alone, 1, NULL);
    NEW_TRACE(merged);
    CLEAN(drop) uint64_t *of_alone = NULL;
    CLEAN(drop) uint64_t *of_merged = NULL;
    uint32_t id;
    OK(fixture_add(merged, 0, FD_NODE_PYTHON, "unrelated", 1, 0, &id));
    of_alone = fd_path_ids(alone);
    ALLOCATED(of_alone != NULL);
    OK(fixture_merge(merged, alone, "alone", NULL));
    of_merged = fd_path_ids(merged);
    ALLOCATED(of_merged != NULL);
    EQUAL(merged->contexts.count, alone->contexts.count + 1);
    for (uint32_t i = 1; i < alone->contexts.count; i++) {
        uint32_t found = 0;
        for (uint32_t k = 1; k < merged->contexts.count; k++) {
            found += of_merged[k] == of_alone[i];
        }
        EQUAL(found, 1);
    }
}

/* Two backward paths that differ by their origin alone are two paths. */
TEST(origins_count)
{
    NEW_TRACE(trace);
    CLEAN(drop) uint64_t *ids = NULL;
    uint32_t first;
    uint32_t second;
    uint32_t backward;
    OK(fixture_add(trace, 0, FD_NODE_OP, "first", 1, 0, &first));
    OK(fixture_add(trace, 0, FD_NODE_OP, "second", 1, 0, &second));
    OK(fixture_add(trace, 0, FD_NODE_AUTOGRAD, "backward", 1, 0, &backward));
    fd_trace_context more = trace->contexts.list[backward];
    trace->contexts.list[backward].origin = first;
    more.origin = second;
    OK(fd_vector_push(&trace->contexts, more));
    ids = fd_path_ids(trace);
    ALLOCATED(ids != NULL);
    CHECK(ids[backward] != ids[backward + 1]);
    CHECK(ids[first] != ids[second]);
    EQUAL(ids[0], 0);
}
