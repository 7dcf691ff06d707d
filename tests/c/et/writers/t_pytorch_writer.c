#include "traces.h"

#include "fixtures.h"

#include <string.h>

TEST(round_trip)
{
    LOADED(et);
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    fd_et_node *node = &et.nodes.list[5];
    ENTER(&et.arena);
    node->name = fd_et_add_word(&et, "a \"b\"\n");
    node->flags |= FD_ET_TIMED;
    node->start_ns = 1234567;
    node->dur_ns = 2000;
    node->self_ns = -5;
    node->thread = 99;
    fd_et_add_edge(&et, 2, 9, FD_ET_SYNC);
    fd_et_add_edge(&et, 3, 9, FD_ET_EVENT);
    fd_et_add_edge(&et, 3, 9, FD_ET_SYNC);
    fd_et_add_edge(&et, 4, 9, FD_ET_EVENT);
    fd_et_add_edge(&et, 5, 9, FD_ET_GIVEN);
    fd_et_sort_edges(&et);
    OK(fd_et_save(&et, "b.json.gz", NULL));
    OK(traces_read(&again, "b.json.gz", FD_ET_ALL_KINDS, NULL));
    EQUAL(again.format, FD_ET_PYTORCH);
    EQUAL(again.nodes.count, et.nodes.count);
    EQUAL(again.faults.lost + again.faults.repaired + again.faults.wrong, 0);
    const fd_et_node *read = &again.nodes.list[5];
    SAME(fd_et_text(&again, read->name), "a \"b\"\n");
    FIELDS(read, (start_ns, 1234567), (dur_ns, 2000), (self_ns, -5),
           (thread, 99), (rf_id, node->rf_id));
    /* Each of these comes back as what it was. */
    const uint32_t waits =
        1U << FD_ET_SYNC | 1U << FD_ET_EVENT | 1U << FD_ET_GIVEN;
    EQUAL(traces_edge(&again, 3, 20) & waits, 1U << FD_ET_SYNC);
    EQUAL(traces_edge(&again, 4, 20) & waits,
          1U << FD_ET_SYNC | 1U << FD_ET_EVENT);
    EQUAL(traces_edge(&again, 5, 20) & waits, 1U << FD_ET_EVENT);
    EQUAL(traces_edge(&again, 6, 20) & waits, 1U << FD_ET_GIVEN);
}

/* Lists in Python's spelling, which is not JSON, do not break the document. */
TEST(odd_lists)
{
    LOADED(et);
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    OK(fd_text_pool_add(&et.texts, "[True, 'x']", 11,
                        &et.nodes.list[4].in.values));
    et.nodes.list[0].flags |= FD_ET_WRITTEN; /* as from a .et */
    OK(fd_et_save(&et, "b.json", NULL));
    OK(fixture_read("b.json", &file));
    CHECK(memmem(file.bytes, file.size, "[\"[True, 'x']\"]", 15) != NULL);
}
