#include "fuzz.h"

#include "et/et_file.h"
#include "et/et_summary.h"
#include "et/tools/et_diff.h"
#include "et/tools/et_estimate.h"

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

/* Simulate it alone, and with itself as another rank. */
static void
play(const fd_et *et)
{
    static const fd_et_scale scale = {"aten::linear", 0.5};
    fd_et_changes changes = {&scale, 1, 2, 5000};
    fd_et both[2] = {*et, *et};
    fd_et_ranks ranks = {.collectives = 0};
    fd_et_estimate estimate = {.matched = 0};
    both[1].rank = et->rank + 1;
    for (uint32_t i = 0; i < 2; i++) {
        must(fd_et_ranks_add(&ranks, &both[i]) == FD_OK);
    }
    must(fd_et_ranks_compare(&ranks) == FD_OK);
    fd_status status =
        fd_et_estimate_make(both, 2, &ranks, &changes, &estimate, NULL);
    must(status == FD_OK || status == FD_EINVAL);
    fd_et_estimate_clear(&estimate);
    fd_et_ranks_clear(&ranks);
}

/* In each output format it has as many nodes, and as many edges if the format
 * has edges. */
static void
write_and_read(const fd_et *et)
{
    static const char *const names[] = {"a.et", "a.json"};
    for (int i = 0; i < 2; i++) {
        fd_et again;
        fd_et_format format;
        must(fd_et_save(et, names[i], false, NULL) == FD_OK);
        must(fd_et_load(&again, names[i], FD_ET_ALL_KINDS, &format, NULL)
             == FD_OK);
        sound(&again);
        must(again.faults.lost == 0 && again.nodes.count == et->nodes.count);
        must(i == 1 || again.edges.count == et->edges.count);
        fd_et_clear(&again);
    }
    fd_status status = fd_et_save(et, "t.json", true, NULL);
    must(status == FD_OK || status == FD_EINVAL);
    status = fd_et_save_kineto(et, "k.json", NULL);
    must(status == FD_OK || status == FD_EINVAL);
    must(fd_et_save(et, "a.graphml", false, NULL) == FD_OK);
    must(fd_et_save(et, "a.dot", false, NULL) == FD_OK);
}

/* A trace has no difference to itself. */
static void
compare(const fd_et *et)
{
    fd_et_diff diff = {.threshold = 0};
    fd_et_summary summary;
    must(fd_et_summarize(et, &summary) == FD_OK);
    must(fd_et_diff_add(&diff, et, et) == FD_OK);
    must(!fd_et_diff_any(&diff));
    fd_et_diff_clear(&diff);
}

void
fuzz_use_et(const fd_et *et)
{
    sound(et);
    play(et);
    compare(et);
    write_and_read(et);
}
