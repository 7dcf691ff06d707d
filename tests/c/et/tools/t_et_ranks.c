#include "traces.h"

#include "et/et_names.h"
#include "et/tools/et_ranks.h"

#include <string.h>

/* A rank's communication as text: a letter each. R all-reduce, r the same with
 * other sizes, B broadcast in group 2, s a message to rank 1 - rank, v one from
 * there, w the same with another size. */
static fd_status
add(fd_et_ranks *ranks, int64_t rank, const char *calls)
{
    fd_et et = {.rank = rank};
    uint32_t groups[2];
    fd_status status = fd_text_pool_add(&et.texts, "1", 1, &groups[0]);
    if (status == FD_OK) {
        status = fd_text_pool_add(&et.texts, "2", 1, &groups[1]);
    }
    for (uint32_t i = 0; calls[i] != '\0' && status == FD_OK; i++) {
        char c = calls[i];
        fd_et_node *node = fd_et_add(&et);
        if (node == NULL || fd_et_make_comm(&et, i) == NULL) {
            status = FD_ENOMEM;
            break;
        }
        fd_et_comm *comm = &et.comms.list[et.comms.count - 1];
        et.nodes.list[i].id = 10 + i;
        et.nodes.list[i].type = c == 's'             ? FD_ET_SEND
                              : c == 'v' || c == 'w' ? FD_ET_RECV
                                                     : FD_ET_COLL;
        comm->type = c == 'B' ? FD_ET_BROADCAST : FD_ET_ALL_REDUCE;
        comm->group = groups[c == 'B'];
        comm->bytes = c == 'r' || c == 'w' ? 8 : 4;
        comm->src = comm->dst = (int32_t)(1 - rank);
    }
    status = status == FD_OK ? fd_et_ranks_add(ranks, &et) : status;
    fd_et_clear(&et);
    return status;
}

static void
compared(void)
{
    static const struct {
        const char *one, *other;
        uint64_t collectives, messages;
        int kind; /* -1: they match */
        uint64_t number;
    } cases[] = {
        {"RBR", "RRB", 3, 0, -1, 0}, /* groups are apart */
        {"RrR", "RRR", 1, 0, FD_ET_OTHER_SIZE, 2},
        {"RR", "RRR", 2, 0, FD_ET_MISSING, 3},
        {"R", "", 1, 0, -1, 0}, /* no part of the group */
        {"ss", "vv", 0, 2, -1, 0},
        {"sv", "vs", 0, 2, -1, 0},
        {"ss", "v", 0, 1, FD_ET_NO_RECEIVE, 2},
        {"s", "vv", 0, 1, FD_ET_NO_SEND, 2},
        {"s", "w", 0, 0, FD_ET_MESSAGE_SIZE, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
        OK(add(&ranks, 0, cases[i].one));
        OK(add(&ranks, 1, cases[i].other));
        OK(fd_et_ranks_compare(&ranks));
        EQUAL(ranks.collectives, cases[i].collectives);
        EQUAL(ranks.messages, cases[i].messages);
        EQUAL(ranks.mismatches.count, cases[i].kind >= 0);
        if (cases[i].kind >= 0) {
            EQUAL(ranks.mismatches.list[0].kind, cases[i].kind);
            EQUAL(ranks.mismatches.list[0].number, cases[i].number);
        }
    }
}

/* A rank that says it is of a group, and never comes. */
static void
absent(void)
{
    static const struct {
        const char *ranks;
        bool missing;
    } cases[] = {{"[]", true}, {"[0, 1]", true}, {"[0, 2, 11]", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
        CLEAN(fd_et_clear) fd_et other = {.rank = 1};
        fd_et_group group = {.size = 2};
        OK(fd_text_pool_add(&other.texts, "1", 1, &group.name));
        OK(fd_text_pool_add(&other.texts, cases[i].ranks,
                            strlen(cases[i].ranks), &group.ranks));
        OK(fd_vector_push(&other.groups, group));
        OK(add(&ranks, 0, "R"));
        OK(fd_et_ranks_add(&ranks, &other));
        OK(fd_et_ranks_compare(&ranks));
        EQUAL(ranks.mismatches.count, cases[i].missing);
    }
}

static void
another_collective(void)
{
    CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
    OK(add(&ranks, 0, "RR"));
    OK(add(&ranks, 1, "RR"));
    ranks.ranks.list[1].calls.list[1].coll = FD_ET_BARRIER;
    OK(fd_et_ranks_compare(&ranks));
    EQUAL(ranks.mismatches.count, 1);
    EQUAL(ranks.mismatches.list[0].kind, FD_ET_OTHER_KIND);
    EQUAL(ranks.mismatches.list[0].other_call, 2);
}

static void
unknown_peer(void)
{
    CLEAN(fd_et_ranks_clear) fd_et_ranks ranks = {.collectives = 0};
    OK(add(&ranks, 0, "s"));
    ranks.ranks.list[0].calls.list[0].peer = -1;
    OK(fd_et_ranks_compare(&ranks));
    EQUAL(ranks.unknown, 1);
    EQUAL(ranks.mismatches.count, 0);
}

RUN(TEST(compared), TEST(absent), TEST(another_collective), TEST(unknown_peer))
