#include "et/et_link.h"

#include "base/scalar_types.h"
#include "et/et_steps.h"

/* End the request unless rows fit the trace. */
static void
check_rows(fd_et *et, bool fit)
{
    if (!fit) {
        fd_arena_fail(&et->arena,
                      fd_fail(et->arena.error, FD_EINVAL,
                              "rows do not fit the execution trace"));
    }
}

static void
set_time(fd_et_node *node, const fd_et_time *time)
{
    node->thread = time->thread;
    if (time->linked != 0) {
        node->flags |= FD_ET_TIMED;
        node->start_ns = time->start_ns;
        node->dur_ns = time->dur_ns;
    }
}

void
fd_et_set_times(fd_et *et, const fd_kineto *kineto, fd_et_rows rows)
{
    (void)kineto;
    const fd_et_time *times = rows.list;
    check_rows(et, rows.bytes == et->nodes.count * sizeof *times);
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        set_time(&et->nodes.list[i], &times[i]);
    }
    fd_et_fill_times(et);
}

static void
add_kernel(fd_et *et, const fd_kineto_kernel *kernel, uint64_t id,
           uint32_t launcher)
{
    fd_et_node *node = fd_et_add_kernel(et, id, launcher);
    node->start_ns = kernel->start;
    node->dur_ns = kernel->dur;
    node->stream = kernel->stream;
    node->device = kernel->device;
    node->name = kernel->name;
    node->category = kernel->category;
    if (kernel->group == 0 && kernel->elements < 0) {
        return;
    }
    fd_et_comm *comm = fd_et_make_comm(et, et->nodes.count - 1);
    comm->group = kernel->group;
    comm->dtype = kernel->dtype;
    uint32_t item =
        fd_dtype_size(fd_et_text(et, kernel->dtype),
                      fd_text_pool_size(&et->texts, kernel->dtype));
    comm->bytes =
        kernel->elements >= 0 && item > 0 ? kernel->elements * item : -1;
}

void
fd_et_add_kernels(fd_et *et, const fd_kineto *kineto, fd_et_rows rows)
{
    const uint32_t *launchers = rows.list;
    uint32_t before = et->nodes.count;
    uint64_t next = before > 0 ? et->nodes.list[before - 1].id + 1 : 2;
    check_rows(et, rows.bytes == kineto->kernels.count * sizeof *launchers);
    for (uint32_t i = 0; i < kineto->kernels.count; i++) {
        check_rows(et, launchers[i] <= before);
        add_kernel(et, &kineto->kernels.list[i], next + i, launchers[i]);
    }
    fd_et_finish(et);
    fd_et_find_self(et);
}

void
fd_et_add_edges(fd_et *et, const fd_kineto *kineto, fd_et_rows rows)
{
    (void)kineto;
    const fd_et_edge *edges = rows.list;
    check_rows(et, rows.bytes % sizeof *edges == 0);
    for (size_t i = 0; i < rows.bytes / sizeof *edges; i++) {
        check_rows(et, edges[i].from < et->nodes.count
                           && edges[i].to < et->nodes.count
                           && edges[i].kinds <= FD_ET_ALL_KINDS);
        if (edges[i].from != edges[i].to) {
            fd_arena_push(&et->arena, &et->edges, edges[i]);
        }
    }
}

void
fd_et_reorder(fd_et *et, const fd_kineto *kineto, fd_et_rows rows)
{
    (void)kineto;
    const uint32_t *order = rows.list;
    uint32_t count = et->nodes.count;
    check_rows(et, rows.bytes == count * sizeof *order);
    bool *seen = fd_arena_new(&et->arena, count, sizeof *seen);
    for (uint32_t i = 0; i < count; i++) {
        check_rows(et, order[i] < count && !seen[order[i]]);
        seen[order[i]] = true;
    }
    fd_arena_drop(seen);
    fd_et_renumber(et, order);
    et->faults.renumbered = 0;
}

fd_status
fd_et_link(fd_et *et, const fd_kineto *kineto, fd_et_link_step *step,
           fd_et_rows rows, fd_error *error)
{
    if (fd_arena_caught(&et->arena, error)) {
        return et->arena.status;
    }
    step(et, kineto, rows);
    return fd_arena_left(&et->arena);
}
