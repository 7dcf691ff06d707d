#include "events/stats/stats_table.h"

#include "base/budget.h"
#include "base/hash.h"

#include <stdbool.h>

void
fd_tally_clear(fd_tally *tally)
{
    for (uint32_t i = 0; i < tally->rows.count; i++) {
        fd_digest_clear(&tally->rows.list[i].figures);
    }
    fd_vector_clear(&tally->rows);
    fd_index_clear(&tally->index);
}

static uint64_t
hash_of(const fd_tally_key *key)
{
    uint64_t hash = fd_hash_next(key->of, key->rank);
    hash = fd_hash_next(hash, (uint64_t)key->stage);
    hash = fd_hash_next(hash, (uint64_t)key->step);
    hash = fd_hash_next(hash, key->work);
    return fd_hash_next(hash, (uint64_t)key->cat << 32 | key->name);
}

static bool
are_equal(const fd_tally_key *a, const fd_tally_key *b)
{
    return a->of == b->of && a->rank == b->rank && a->stage == b->stage
        && a->step == b->step && a->work == b->work && a->cat == b->cat
        && a->name == b->name;
}

static fd_status
find_row(fd_tally *tally, const fd_tally_key *key, fd_tally_row **row)
{
    uint64_t hash = hash_of(key);
    fd_probe probe = fd_index_probe(&tally->index, hash);
    uint32_t id;
    *row = NULL;
    while ((id = fd_index_next(&tally->index, &probe)) != 0) {
        if (are_equal(&tally->rows.list[id - 1].key, key)) {
            *row = &tally->rows.list[id - 1];
            return FD_OK;
        }
    }
    if (tally->rows.count >= fd_budget(FD_TALLY_ROWS)) {
        tally->left_out++;
        return FD_OK;
    }
    fd_status status =
        fd_vector_push(&tally->rows, (fd_tally_row){.key = *key});
    fd_then(status, fd_index_add(&tally->index, hash, tally->rows.count));
    if (status == FD_OK) {
        *row = &tally->rows.list[tally->rows.count - 1];
        (*row)->figures.widened = tally->widened;
    }
    return status;
}

static void
widen_all(fd_tally *tally)
{
    tally->widened++;
    tally->buckets = 0;
    for (uint32_t i = 0; i < tally->rows.count; i++) {
        fd_digest_widen(&tally->rows.list[i].figures);
        tally->buckets += tally->rows.list[i].figures.buckets.count;
    }
}

fd_status
fd_tally_add(fd_tally *tally, const fd_tally_key *key, uint64_t value)
{
    fd_tally_row *row;
    fd_status status = find_row(tally, key, &row);
    if (status != FD_OK || row == NULL) {
        return status;
    }
    uint32_t before = row->figures.buckets.count;
    status = fd_digest_add(&row->figures, value);
    tally->buckets += row->figures.buckets.count - before;
    while (tally->buckets > fd_budget(FD_TALLY_BUCKETS)
           && tally->widened < FD_DIGEST_BITS) {
        widen_all(tally);
    }
    return status;
}
