#include "et/estimate.h"

#include "et/play.h"

#include <stdlib.h>
#include <string.h>

void
fd_et_estimate_clear(fd_et_estimate *estimate)
{
    fd_text_pool_clear(&estimate->texts);
    fd_vector_clear(&estimate->path);
}

static fd_status
judge(const fd_et *traces, uint32_t count, fd_et_estimate *e, fd_error *error)
{
    bool any = false;
    for (uint32_t r = 0; r < count; r++) {
        uint64_t steps = 0;
        for (uint32_t i = 0; i < traces[r].nodes.count; i++) {
            const fd_et_node *node = &traces[r].nodes.list[i];
            bool timed = (node->flags & FD_ET_TIMED) != 0
                         && node->start_ns > 0;
            any = any || timed;
            e->untimed += !timed && (node->flags & FD_ET_PROCESS) == 0;
            steps += (node->flags & FD_ET_GPU) == 0
                     && strncmp(fd_et_text(&traces[r], node->name),
                                "ProfilerStep#", 13)
                            == 0;
        }
        e->steps = steps > e->steps ? steps : e->steps;
    }
    return any ? FD_OK
               : fd_fail(error, FD_EINVAL,
                         "no start times in these traces: link them with "
                         "Kineto traces first (fastdispatch et link)");
}

/* One stretch of the path, added to those of its name and rank. */
static fd_status
add_stretch(fd_et_estimate *e, fd_map *places, const fd_et *et, uint32_t rank,
            uint32_t name, int64_t ns)
{
    uint32_t text = 0;
    fd_status status = FD_OK;
    if (ns <= 0) {
        return FD_OK;
    }
    if (name != 0) {
        status = fd_text_pool_add(&e->texts, fd_et_text(et, name),
                                  fd_text_pool_size(&et->texts, name), &text);
    }
    uint64_t key = (uint64_t)rank << 32 | (text + 1);
    uint32_t place = fd_map_get(places, key);
    if (status == FD_OK && place == 0) {
        status = fd_vector_push(&e->path, (fd_et_stretch){text, rank, 0, 0});
        place = e->path.count;
        status = status == FD_OK ? fd_map_put(places, key, place) : status;
    }
    if (status == FD_OK) {
        e->path.list[place - 1].count++;
        e->path.list[place - 1].ns += ns;
    }
    return status;
}

static int
by_length(const void *a, const void *b)
{
    const fd_et_stretch *one = a;
    const fd_et_stretch *other = b;
    return one->ns != other->ns       ? (one->ns > other->ns ? -1 : 1)
           : one->rank != other->rank ? (one->rank < other->rank ? -1 : 1)
           : one->name < other->name  ? -1
                                      : 1;
}

/* From the last end back to the first begin: each node gives the time from
 * when what held it up was over. */
static fd_status
find_path(const fd_play *play, fd_et_estimate *e)
{
    fd_map places = {.entries = NULL};
    fd_play_place at = play->last;
    int64_t until = play->end;
    fd_status status = FD_OK;
    while (status == FD_OK && at.place != 0) {
        const fd_play_rank *rank = &play->ranks[at.rank];
        const fd_play_node *node = &rank->nodes[at.place - 1];
        const fd_et_node *made = &rank->et->nodes.list[at.place - 1];
        int64_t begin = node->start < until ? node->start : until;
        status = add_stretch(e, &places, rank->et, at.rank, made->name,
                             until - begin);
        int64_t ready = begin - node->delay;
        if (status == FD_OK) {
            status = add_stretch(e, &places, rank->et, at.rank, 0,
                                 begin - ready);
        }
        until = ready;
        at = node->why;
    }
    fd_map_clear(&places);
    if (status == FD_OK && e->path.count > 0) {
        qsort(e->path.list, e->path.count, sizeof *e->path.list, by_length);
    }
    return status;
}

fd_status
fd_et_estimate_make(const fd_et *traces, uint32_t count,
                    const fd_et_ranks *ranks, const fd_et_changes *changes,
                    fd_et_estimate *e, fd_error *error)
{
    static const fd_et_changes none = {.bandwidth = 1};
    fd_play play;
    *e = (fd_et_estimate){.steps = 0};
    fd_status status = judge(traces, count, e, error);
    if (status != FD_OK) {
        return status;
    }
    status = fd_play_make(&play, traces, count, ranks);
    if (status == FD_OK) {
        e->measured_ns = play.measured_end - play.measured_begin;
        fd_play_run(&play, &none);
        e->replayed_ns = play.end - play.measured_begin;
        fd_play_run(&play, changes);
        e->predicted_ns = play.end - play.measured_begin;
        e->matched = ranks->matches;
        e->broken = play.broken;
        status = find_path(&play, e);
    }
    fd_play_clear(&play);
    return status;
}
