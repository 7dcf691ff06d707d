#include "traces.h"

#define ROWS(list) ((fd_et_rows){(list), sizeof(list)})

static fd_status
add_kernel(fd_et *et, fd_kineto *k)
{
    if (fd_arena_caught(&et->arena, NULL)) {
        return et->arena.status;
    }
    fd_kineto_kernel kernel = {.start = 20000,
                               .dur = 30000,
                               .stream = 7,
                               .elements = 9,
                               .name = fd_et_add_word(et, "gemm"),
                               .dtype = fd_et_add_word(et, "Float")};
    fd_arena_push(&et->arena, &k->kernels, kernel);
    return fd_arena_left(&et->arena);
}

TEST(linked)
{
    LOADED(et);
    fd_et_time times[10] = {{.thread = 0}};
    uint32_t linear = fd_et_index(&et, 4);
    uint32_t order[11];
    times[linear - 1] = (fd_et_time){10000, 20000, 50, 1};
    EQUAL(et.nodes.count, 10);
    OK(fd_et_link(&et, NULL, fd_et_set_times, ROWS(times), NULL));
    EQUAL(traces_named(&et, "aten::linear")->start_ns, 10000);
    fd_kineto k = {.events = 0};
    OK(add_kernel(&et, &k));
    OK(fd_et_link(&et, &k, fd_et_add_kernels,
                  (fd_et_rows){&linear, sizeof linear}, NULL));
    const fd_et_node *gemm = traces_named(&et, "gemm");
    EQUAL(gemm->parent, linear);
    EQUAL(gemm->self_ns, 30000);
    EQUAL(gemm->in.values, traces_named(&et, "aten::linear")->in.values);
    EQUAL(fd_et_comm_of(&et, gemm)->bytes, 36);
    fd_et_edge edges[] = {{10, 3, 1U << FD_ET_SYNC}, {3, 3, 1}};
    OK(fd_et_link(&et, NULL, fd_et_add_edges, ROWS(edges), NULL));
    for (uint32_t i = 0; i < 11; i++) {
        order[i] = (i + 10) % 11;
    }
    OK(fd_et_link(&et, NULL, fd_et_reorder, ROWS(order), NULL));
    SAME(fd_et_text(&et, et.nodes.list[0].name), "gemm");
    EQUAL(traces_edge(&et, 1, 5), 1U << FD_ET_SYNC);
    EQUAL(et.faults.renumbered, 0);
}

/* Rows of another trace. */
TEST(refused)
{
    uint32_t order[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 8};
    fd_et_edge edges[] = {{1, 10, 1}};
    uint32_t launchers[] = {1};
    const struct {
        fd_et_link_step *step;
        fd_et_rows rows;
    } cases[] = {
        {fd_et_reorder, ROWS(order)},
        {fd_et_reorder, ROWS(launchers)},
        {fd_et_add_edges, ROWS(edges)},
        {fd_et_add_edges, ROWS(launchers)},
        {fd_et_add_kernels, ROWS(launchers)},
        {fd_et_set_times, ROWS(order)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        LOADED(et);
        fd_error error;
        fd_kineto k = {.events = 0};
        STATUS(fd_et_link(&et, &k, cases[i].step, cases[i].rows, &error),
               FD_EINVAL);
        SAME(error.text, "rows do not fit the execution trace");
    }
}
