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

static fd_status find_output(const placing *p, const fd_perfetto_track *track,
                             int depth, fd_output_track *output);

/* Find the parent track: the parent in the input, or the process. */
static fd_status
find_parent(const placing *p, const fd_perfetto_track *track, int depth,
            uint32_t process, uint32_t *parent)
{
    const fd_perfetto_track *around = fd_perfetto_parent(p->tables, track);
    fd_output_track output;
    fd_status status = fd_perfetto_process_track(p->w, process, parent);
    if (status != FD_OK || around == NULL || depth == FD_PERFETTO_PARENTS
        || track->kind == FD_PERFETTO_PROCESS) {
        return status;
    }
    status = find_output(p, around, depth + 1, &output);
    *parent = output.track;
    return status;
}

/* Add a track that is not a thread. */
static fd_status
add_named(const placing *p, const fd_perfetto_track *track, int depth,
          fd_output_track *output)
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
        status = find_parent(p, track, depth, output->process, &made.parent);
    }
    made.track = made.described ? made.parent : w->spare->track++;
    output->lane = FD_PERFETTO_LANE(w->named.count, true);
    output->track = made.track;
    return status == FD_OK ? fd_vector_push(&w->named, made) : status;
}

static fd_span
digits(uint32_t number, char text[16])
{
    return (fd_span){text, text + snprintf(text, 16, "%u", (unsigned)number)};
}

static fd_status
add_output(const placing *p, const fd_perfetto_track *track, int depth,
           fd_output_track *output)
{
    char text[16];
    uint32_t pid = 0;
    uint32_t thread;
    fd_perfetto_pid_of(p->tables, track, &pid);
    fd_status status =
        fd_timeline_ids_process(p->ids, digits(pid, text), &output->process);
    if (status != FD_OK || track->kind != FD_PERFETTO_THREAD) {
        return status == FD_OK ? add_named(p, track, depth, output) : status;
    }
    status = fd_perfetto_thread_of(p->w, p->ids, output->process,
                                   digits(track->tid, text), &thread);
    if (status == FD_OK) {
        output->lane = FD_PERFETTO_LANE(thread, false);
        output->track = p->w->threads.list[thread].track;
    }
    return status;
}

static fd_status
find_output(const placing *p, const fd_perfetto_track *track, int depth,
            fd_output_track *output)
{
    fd_perfetto_writer *w = p->w;
    uint32_t number = (uint32_t)(track - p->tables->tracks.list);
    *output = (fd_output_track){.known = true};
    while (w->outputs.count <= number) {
        if (fd_vector_push(&w->outputs, (fd_output_track){0}) != FD_OK) {
            return FD_ENOMEM;
        }
    }
    if (w->outputs.list[number].known) {
        *output = w->outputs.list[number];
        return FD_OK;
    }
    fd_status status = add_output(p, track, depth, output);
    if (status == FD_OK) {
        w->outputs.list[number] = *output;
    }
    return status;
}

fd_status
fd_output_track_of(fd_perfetto_writer *w, fd_timeline_ids *ids,
                   const fd_perfetto_tables *tables,
                   const fd_perfetto_track *track, fd_output_track *output)
{
    placing p = {w, ids, tables};
    return find_output(&p, track, 0, output);
}
