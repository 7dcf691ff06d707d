#include "fuzz.h"
#include "traces.h"

/* The invariants of a trace. */
static void
sound(const fd_et *et)
{
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        must(node->parent <= et->nodes.count && node->comm <= et->comms.count);
        must(i == 0 || et->nodes.list[i - 1].id < node->id);
    }
    for (uint32_t i = 0; i < et->edges.count; i++) {
        const fd_et_edge *edge = &et->edges.list[i];
        must(edge->from < edge->to && edge->to < et->nodes.count);
    }
}

/* A written trace has as many nodes and edges. */
static void
write_and_read(const fd_et *et)
{
    fd_et again;
    must(fd_et_save(et, "a.et", NULL) == FD_OK);
    must(traces_read(&again, "a.et", FD_ET_ALL_KINDS, NULL) == FD_OK);
    sound(&again);
    must(again.faults.lost == 0 && again.nodes.count == et->nodes.count);
    must(again.edges.count == et->edges.count);
    fd_et_clear(&again);
}

void
fuzz_use_et(const fd_et *et)
{
    sound(et);
    write_and_read(et);
}
