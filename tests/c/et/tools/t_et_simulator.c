#include "traces.h"

#include "et/et_names.h"
#include "et/tools/et_simulator.h"

/* An operator of 10 us, a pause of 5, an all-reduce that began at `start` and
 * ended at 100, both on the thread. */
static fd_status
make(fd_et *et, fd_et_ranks *ranks, int64_t rank, int64_t start)
{
    *et = (fd_et){.rank = rank};
    for (int i = 0; i < 2; i++) {
        fd_et_node *node = fd_et_add(et);
        if (node == NULL) {
            return FD_ENOMEM;
        }
        node->id = node->parent_id = (uint64_t)i + 1;
        node->flags = FD_ET_TIMED;
        node->type = i == 0 ? FD_ET_COMP : FD_ET_COLL;
        node->start_ns = i == 0 ? start - 15 : start;
        node->self_ns = node->dur_ns = i == 0 ? 10 : 100 - start;
        if (fd_text_pool_add(&et->texts, i == 0 ? "op" : "reduce",
                             i == 0 ? 2 : 6, &node->name)
            != FD_OK) {
            return FD_ENOMEM;
        }
    }
    fd_et_comm *comm = fd_et_make_comm(et, 1);
    if (comm == NULL) {
        return FD_ENOMEM;
    }
    comm->type = FD_ET_ALL_REDUCE;
    comm->src = -1;
    fd_status status = fd_et_finish(et);
    status = status == FD_OK ? fd_et_add_edge(et, 0, 1, FD_ET_ORDER) : status;
    return status == FD_OK ? fd_et_ranks_add(ranks, et) : status;
}

static void
clear_two(fd_et (*traces)[2])
{
    fd_et_clear(&(*traces)[0]);
    fd_et_clear(&(*traces)[1]);
}

static void
together(void)
{
    static const fd_et_scale faster = {"op", 0.5};
    static const struct {
        fd_et_changes changes;
        int64_t end;
    } cases[] = {
        {{.bandwidth = 1}, 100},
        {{.bandwidth = 2}, 90}, /* 20 from the last come */
        {{.bandwidth = 1, .latency_ns = 7}, 107},
        {{&faster, 1, 1, 0}, 95}, /* the last comes 5 before */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(clear_two) fd_et traces[2] = {{.rank = 0}, {.rank = 1}};
        CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
        CLEAN(fd_et_sim_clear) fd_et_simulation s = {.ranks = NULL};
        OK(make(&traces[0], &ranks, 0, 40));
        OK(make(&traces[1], &ranks, 1, 80));
        OK(fd_et_ranks_compare(&ranks));
        EQUAL(ranks.matches, 1);
        OK(fd_et_sim_make(&s, traces, 2, &ranks));
        EQUAL(s.measured_begin, 25);
        EQUAL(s.measured_end, 100);
        OK(fd_et_sim_run(&s, &cases[i].changes));
        EQUAL(s.end, cases[i].end);
        EQUAL(s.ranks[0].nodes[1].end, s.ranks[1].nodes[1].end);
        EQUAL(s.broken, 0);
        /* A second run repeats the first. */
        OK(fd_et_sim_run(&s, &cases[i].changes));
        EQUAL(s.end, cases[i].end);
    }
}

/* A rank that left before another came did not wait for it; and of a broadcast
 * only those wait that are not the root, for that alone. */
static void
waiting_ranks(void)
{
    static const fd_et_scale slower = {"op", 11};
    static const struct {
        int32_t type;
        int64_t left; /* rank 0, whose operator is not scaled */
        int64_t end;
    } cases[] = {{FD_ET_ALL_REDUCE, 100, 200}, /* 20 from the last come */
                 {FD_ET_ALL_REDUCE, 60, 60},
                 {FD_ET_BROADCAST, 100, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(clear_two) fd_et traces[2] = {{.rank = 0}, {.rank = 1}};
        CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
        CLEAN(fd_et_sim_clear) fd_et_simulation s = {.ranks = NULL};
        fd_et_changes changes = {&slower, 1, 1, 0};
        OK(make(&traces[0], &ranks, 0, 40));
        OK(make(&traces[1], &ranks, 1, 80));
        traces[0].nodes.list[0].name = 0;
        traces[0].nodes.list[1].dur_ns = cases[i].left - 40;
        for (int r = 0; r < 2; r++) {
            traces[r].comms.list[0].type = cases[i].type;
            traces[r].comms.list[0].src = 0;
        }
        OK(fd_et_ranks_compare(&ranks));
        OK(fd_et_sim_make(&s, traces, 2, &ranks));
        OK(fd_et_sim_run(&s, &changes));
        EQUAL(s.ranks[0].nodes[1].end, cases[i].end);
        EQUAL(s.ranks[1].nodes[1].end, 200);
    }
}

/* Meetings in a circle end all the same. */
static void
circle(void)
{
    CLEAN(clear_two) fd_et traces[2] = {{.rank = 0}, {.rank = 1}};
    CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
    CLEAN(fd_et_sim_clear) fd_et_simulation s = {.ranks = NULL};
    static const fd_et_changes none = {.bandwidth = 1};
    OK(make(&traces[0], &ranks, 0, 40));
    OK(make(&traces[1], &ranks, 1, 41));
    ranks.matches = 2;
    /* Each is still in its first when the other reaches its second. */
    traces[0].nodes.list[0].dur_ns = traces[1].nodes.list[0].dur_ns = 20;
    for (uint32_t r = 0; r < 2; r++) {
        fd_et_rank *rank = &ranks.ranks.list[r];
        fd_et_call other = rank->calls.list[0];
        rank->calls.list[0].match = r + 1;
        other.index = 0;
        other.match = 2 - r;
        OK(fd_vector_push(&rank->calls, other));
    }
    OK(fd_et_sim_make(&s, traces, 2, &ranks));
    OK(fd_et_sim_run(&s, &none));
    CHECK(s.broken > 0);
    EQUAL(s.jobs.ordered, 8);
}

RUN(TEST(together), TEST(waiting_ranks), TEST(circle))
