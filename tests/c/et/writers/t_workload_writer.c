#include "traces.h"

static void
there_and_back(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_et_clear) fd_et again = {.rank = -1};
    fd_et_format format;
    fd_error error;
    OK(traces_loaded(&et));
    OK(fd_et_save_workload(&et, "w.json", NULL));
    OK(fd_et_load(&again, "w.json", FD_ET_ALL_KINDS, &format, NULL));
    EQUAL(format, FD_ET_WORKLOAD);
    EQUAL(again.nodes.count, et.nodes.count);
    EQUAL(again.edges.count, et.edges.count);
    CHECK(again.finished);
    const fd_et_node *work = traces_find(&again, 9);
    EQUAL(work->type, FD_ET_COLL);
    EQUAL(fd_et_comm_of(&again, work)->bytes, 24);
    EQUAL(traces_edge(&again, 8, 9), 1U << FD_ET_GIVEN);
    STATUS(fd_et_save_workload(&et, "w.et", &error), FD_EINVAL);
}

RUN(TEST(there_and_back))
