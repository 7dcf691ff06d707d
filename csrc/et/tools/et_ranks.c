#include "et/tools/et_ranks.h"

#include "base/budget.h"
#include "base/rows.h"
#include "et/et_names.h"

#include <string.h>

void
fd_et_ranks_clear(fd_et_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->ranks.count; i++) {
        fd_vector_clear(&ranks->ranks.list[i].calls);
        fd_vector_clear(&ranks->ranks.list[i].groups);
    }
    fd_vector_clear(&ranks->ranks);
    fd_vector_clear(&ranks->mismatches);
    fd_text_pool_clear(&ranks->texts);
}

static fd_status
copy_text(fd_et_ranks *ranks, const fd_et *et, uint32_t from, uint32_t *to)
{
    return fd_text_pool_add(&ranks->texts, fd_et_text(et, from),
                            fd_text_pool_size(&et->texts, from), to);
}

static fd_status
add_groups(fd_et_ranks *ranks, const fd_et *et)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->groups.count && status == FD_OK; i++) {
        const fd_et_group *group = &et->groups.list[i];
        uint32_t name;
        const char *listed = fd_et_text(et, group->ranks);
        if (fd_et_lists_all(listed)
            || (et->rank >= 0 && fd_et_lists_rank(listed, et->rank))) {
            status = copy_text(ranks, et, group->name, &name);
            if (status == FD_OK) {
                status = fd_vector_push(
                    &ranks->ranks.list[ranks->ranks.count - 1].groups, name);
            }
        }
    }
    return status;
}

fd_status
fd_et_ranks_add(fd_et_ranks *ranks, const fd_et *et)
{
    fd_status status =
        fd_vector_push(&ranks->ranks, (fd_et_rank){.rank = et->rank});
    fd_then(status, add_groups(ranks, et));
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        const fd_et_comm *comm = fd_et_comm_of(et, node);
        if (comm == NULL || node->type < FD_ET_SEND) {
            continue;
        }
        fd_et_call call = {.id = node->id,
                           .bytes = comm->bytes,
                           .type = node->type,
                           .coll = comm->type,
                           .peer = node->type == FD_ET_SEND ? comm->dst
                                                            : comm->src};
        status = copy_text(ranks, et, comm->group, &call.group);
        fd_then(status, copy_text(ranks, et, node->name, &call.name));
        if (status == FD_OK) {
            fd_et_rank *rank = &ranks->ranks.list[ranks->ranks.count - 1];
            status = fd_vector_push(&rank->calls, call);
        }
    }
    return status;
}

static fd_status
note_mismatch(fd_et_ranks *ranks, fd_et_mismatch mismatch)
{
    return ranks->mismatches.count < fd_budget(FD_ET_MISMATCHES)
             ? fd_vector_push(&ranks->mismatches, mismatch)
             : FD_OK;
}

/* Return the index + 1 of the next collective of a group, starting at `from`;
 * 0: no more. */
static uint32_t
next_of(const fd_et_rank *rank, uint32_t group, uint32_t from)
{
    for (uint32_t i = from; i < rank->calls.count; i++) {
        const fd_et_call *call = &rank->calls.list[i];
        if (call->type == FD_ET_COLL && call->group == group) {
            return i + 1;
        }
    }
    return 0;
}

static bool
is_member(const fd_et_rank *rank, uint32_t group)
{
    for (uint32_t i = 0; i < rank->groups.count; i++) {
        if (rank->groups.list[i] == group) {
            return true;
        }
    }
    return false;
}

/* Return whether ranks may send parts of different sizes in a collective. */
static bool
may_differ(int32_t coll)
{
    return coll == FD_ET_GATHER || coll == FD_ET_SCATTER
        || coll == FD_ET_ALL_TO_ALL || coll == FD_ET_BARRIER || coll < 0;
}

static bool
calls_differ(const fd_et_call *a, const fd_et_call *b,
             fd_et_mismatch_kind *kind)
{
    *kind = a->coll != b->coll ? FD_ET_OTHER_KIND : FD_ET_OTHER_SIZE;
    return a->coll != b->coll
        || (!may_differ(a->coll) && a->bytes >= 0 && b->bytes >= 0
            && a->bytes != b->bytes);
}

/* Compare one group on all ranks that use it, until the first mismatch, which
 * causes all later ones. `at` has one entry per rank. */
static fd_status
compare_group(fd_et_ranks *ranks, uint32_t group, uint32_t *at)
{
    uint32_t count = ranks->ranks.count;
    memset(at, 0, count * sizeof *at);
    for (uint64_t number = 1;; number++) {
        uint32_t first = count;
        uint32_t first_call = 0;
        uint32_t ended = count;
        for (uint32_t i = 0; i < count; i++) {
            const fd_et_rank *rank = &ranks->ranks.list[i];
            uint32_t call = next_of(rank, group, at[i]);
            if (call == 0) {
                /* Ranks that never use the group are not members. */
                ended = at[i] > 0 || is_member(rank, group) ? i : ended;
                continue;
            }
            at[i] = call;
            fd_et_mismatch_kind kind;
            if (first == count) {
                first = i;
                first_call = call;
            }
            else if (calls_differ(
                         &ranks->ranks.list[first].calls.list[first_call - 1],
                         &rank->calls.list[call - 1], &kind)) {
                return note_mismatch(
                    ranks, (fd_et_mismatch){kind, group, number, first, i,
                                            first_call, call});
            }
        }
        if (first == count) {
            return FD_OK;
        }
        if (ended < count) {
            return note_mismatch(ranks, (fd_et_mismatch){FD_ET_MISSING, group,
                                                         number, first, ended,
                                                         first_call, 0});
        }
        ranks->collectives++;
    }
}

static fd_status
compare_groups(fd_et_ranks *ranks)
{
    fd_map seen = {.entries = NULL};
    uint32_t *at = fd_calloc((size_t)ranks->ranks.count + 1, sizeof *at);
    fd_status status = at == NULL ? FD_ENOMEM : FD_OK;
    for (uint32_t i = 0; i < ranks->ranks.count && status == FD_OK; i++) {
        const fd_et_rank *rank = &ranks->ranks.list[i];
        for (uint32_t k = 0; k < rank->calls.count && status == FD_OK; k++) {
            const fd_et_call *call = &rank->calls.list[k];
            if (call->type == FD_ET_COLL
                && fd_map_is_new(&seen, (uint64_t)call->group + 1, &status)) {
                status = compare_group(ranks, call->group, at);
            }
        }
    }
    fd_map_clear(&seen);
    fd_free(at);
    return status;
}

/* Return the index of a rank + 1; 0: its trace is missing. */
static uint32_t
index_of(const fd_et_ranks *ranks, int64_t rank)
{
    for (uint32_t i = 0; i < ranks->ranks.count; i++) {
        if (ranks->ranks.list[i].rank == rank) {
            return i + 1;
        }
    }
    return 0;
}

/* Return the index + 1 of the next message of a type with a peer, starting at
 * `from`; 0: no more. Tags are not compared. */
static uint32_t
next_message(const fd_et_rank *rank, fd_et_type type, int64_t peer,
             uint32_t from)
{
    for (uint32_t i = from; i < rank->calls.count; i++) {
        const fd_et_call *call = &rank->calls.list[i];
        if (call->type == type && call->peer == peer) {
            return i + 1;
        }
    }
    return 0;
}

/* Compare the messages from one rank to another, in order. */
static fd_status
compare_pair(fd_et_ranks *ranks, uint32_t from, uint32_t to)
{
    const fd_et_rank *one = &ranks->ranks.list[from];
    const fd_et_rank *other = &ranks->ranks.list[to];
    uint32_t sent = 0;
    uint32_t taken = 0;
    for (uint64_t number = 1;; number++) {
        sent = next_message(one, FD_ET_SEND, other->rank, sent);
        taken = next_message(other, FD_ET_RECV, one->rank, taken);
        if (sent == 0 && taken == 0) {
            return FD_OK;
        }
        fd_et_mismatch found = {.group = 0,
                                .number = number,
                                .one = from,
                                .other = to,
                                .one_call = sent,
                                .other_call = taken};
        if (sent == 0 || taken == 0) {
            found.kind = sent == 0 ? FD_ET_NO_SEND : FD_ET_NO_RECEIVE;
            return note_mismatch(ranks, found);
        }
        int64_t size = one->calls.list[sent - 1].bytes;
        int64_t its = other->calls.list[taken - 1].bytes;
        if (size >= 0 && its >= 0 && size != its) {
            found.kind = FD_ET_MESSAGE_SIZE;
            return note_mismatch(ranks, found);
        }
        ranks->messages++;
    }
}

/* Compare all pairs of ranks that exchange messages. */
static fd_status
compare_messages(fd_et_ranks *ranks)
{
    fd_map seen = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < ranks->ranks.count && status == FD_OK; i++) {
        for (uint32_t k = 0;
             k < ranks->ranks.list[i].calls.count && status == FD_OK; k++) {
            const fd_et_call *call = &ranks->ranks.list[i].calls.list[k];
            if (call->type == FD_ET_COLL) {
                continue;
            }
            uint32_t peer = call->peer < 0 ? 0 : index_of(ranks, call->peer);
            ranks->unknown += call->peer < 0;
            if (peer == 0) {
                continue;
            }
            bool sends = call->type == FD_ET_SEND;
            uint32_t from = sends ? i : peer - 1;
            uint32_t to = sends ? peer - 1 : i;
            uint64_t key = (uint64_t)from << 32 | (to + 1);
            if (fd_map_is_new(&seen, key, &status)) {
                status = compare_pair(ranks, from, to);
            }
        }
    }
    fd_map_clear(&seen);
    return status;
}

fd_status
fd_et_ranks_compare(fd_et_ranks *ranks)
{
    fd_status status = compare_groups(ranks);
    return fd_then(status, compare_messages(ranks));
}
