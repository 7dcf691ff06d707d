/* The output tracks of an input. A track gets its number at its
 * first event. */
#include "events/writers/perfetto_writing.h"

#include "base/budget.h"

#include <stdio.h>

fd_status
fd_perfetto_process_track(fd_perfetto_writer *w, uint32_t process,
                          uint32_t *track)
{
    while (w->processes.count <= process) {
        if (fd_vector_push(&w->processes, (fd_perfetto_process){0, 0})
            != FD_OK) {
            return FD_ENOMEM;
        }
    }
    fd_perfetto_process *p = &w->processes.list[process];
    p->track = p->track != 0 ? p->track : w->spare->track++;
    *track = p->track;
    return FD_OK;
}

fd_status
fd_perfetto_thread_of(fd_perfetto_writer *w, fd_timeline_ids *ids,
                      uint32_t process, fd_span tid, uint32_t *thread)
{
    fd_status status = fd_timeline_ids_thread(
        ids, ids->processes.list[process].pid, tid, thread);
    while (status == FD_OK && w->threads.count <= *thread) {
        fd_perfetto_thread made = {.track = w->spare->track++,
                                   .process = process};
        status = fd_vector_push(&w->threads, made);
    }
    return status;
}

typedef struct placing {
    fd_perfetto_writer *w;
    fd_timeline_ids *ids;
    const fd_perfetto_tables *tables;
} placing;

static fd_status
keep_text(const placing *p, uint32_t text, uint32_t *stored)
{
    const fd_text_pool *texts = &p->tables->texts;
    return fd_text_pool_add(&p->w->stored, fd_text_pool_get(texts, text),
                            fd_text_pool_size(texts, text), stored);
}

static fd_status find_place(const placing *p, const fd_perfetto_track *track,
                            int depth, fd_perfetto_place *place);

/* Find the parent track: the parent in the input, or the process. */
static fd_status
find_parent(const placing *p, const fd_perfetto_track *track, int depth,
            uint32_t process, uint32_t *parent)
{
    const fd_perfetto_track *around = fd_perfetto_parent(p->tables, track);
    fd_perfetto_place place;
    fd_status status = fd_perfetto_process_track(p->w, process, parent);
    if (status != FD_OK || around == NULL || depth == FD_PERFETTO_PARENTS
        || track->kind == FD_PERFETTO_PROCESS) {
        return status;
    }
    status = find_place(p, around, depth + 1, &place);
    *parent = place.track;
    return status;
}

/* Add a track that is not a thread. */
static fd_status
add_named(const placing *p, const fd_perfetto_track *track, int depth,
          fd_perfetto_place *place)
{
    fd_perfetto_writer *w = p->w;
    fd_perfetto_named made = {.has_name = track->has_name,
                              .counts = track->kind == FD_PERFETTO_COUNTS,
                              .described = track->kind == FD_PERFETTO_PROCESS};
    if (w->named.count >= fd_budget(FD_PERFETTO_SERIES)) {
        return FD_EFULL;
    }
    fd_status status = keep_text(p, track->name, &made.name);
    status = status == FD_OK ? keep_text(p, track->rest, &made.rest) : status;
    status =
        status == FD_OK ? keep_text(p, track->counter, &made.counter) : status;
    if (status == FD_OK) {
        status = find_parent(p, track, depth, place->process, &made.parent);
    }
    made.track = made.described ? made.parent : w->spare->track++;
    place->lane = FD_PERFETTO_LANE(w->named.count, true);
    place->track = made.track;
    return status == FD_OK ? fd_vector_push(&w->named, made) : status;
}

static fd_span
digits(uint32_t number, char text[16])
{
    return (fd_span){text, text + snprintf(text, 16, "%u", (unsigned)number)};
}

static fd_status
add_place(const placing *p, const fd_perfetto_track *track, int depth,
          fd_perfetto_place *place)
{
    char text[16];
    uint32_t pid = 0;
    uint32_t thread;
    fd_perfetto_pid_of(p->tables, track, &pid);
    fd_status status =
        fd_timeline_ids_process(p->ids, digits(pid, text), &place->process);
    if (status != FD_OK || track->kind != FD_PERFETTO_THREAD) {
        return status == FD_OK ? add_named(p, track, depth, place) : status;
    }
    status = fd_perfetto_thread_of(p->w, p->ids, place->process,
                                   digits(track->tid, text), &thread);
    if (status == FD_OK) {
        place->lane = FD_PERFETTO_LANE(thread, false);
        place->track = p->w->threads.list[thread].track;
    }
    return status;
}

static fd_status
find_place(const placing *p, const fd_perfetto_track *track, int depth,
           fd_perfetto_place *place)
{
    fd_perfetto_writer *w = p->w;
    uint32_t number = (uint32_t)(track - p->tables->tracks.list);
    *place = (fd_perfetto_place){.known = true};
    while (w->places.count <= number) {
        if (fd_vector_push(&w->places, (fd_perfetto_place){0}) != FD_OK) {
            return FD_ENOMEM;
        }
    }
    if (w->places.list[number].known) {
        *place = w->places.list[number];
        return FD_OK;
    }
    fd_status status = add_place(p, track, depth, place);
    if (status == FD_OK) {
        w->places.list[number] = *place;
    }
    return status;
}

fd_status
fd_perfetto_place_of(fd_perfetto_writer *w, fd_timeline_ids *ids,
                     const fd_perfetto_tables *tables,
                     const fd_perfetto_track *track, fd_perfetto_place *place)
{
    placing p = {w, ids, tables};
    return find_place(&p, track, 0, place);
}
