#include "trace/trace_source.h"

#include "trace/canonical_order.h"
#include "trace/figure_sums.h"
#include "trace/reader/file_chunks.h"
#include "trace/reader/recording_reader.h"
#include "trace/step_window.h"
#include "trace/trace_merge.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 64, MANY = 32 };

/* A directory being read. */
typedef struct directory {
    fd_trace *trace;
    fd_trace_part part;
    const fd_steps_wanted *steps; /* borrowed; NULL: all steps */
    FD_VECTOR(uint32_t) notes;    /* texts: one per skipped input */
} directory;

static fd_status
read_head(const char *path, void *head, size_t capacity, size_t *size,
          fd_error *error)
{
    int fd;
    struct stat info;
    *size = 0;
    fd_status status = fd_open_to_read(path, &fd, &info, error);
    if (status == FD_OK) {
        *size = fd_read_at(fd, head, capacity, 0);
        close(fd);
    }
    return status;
}

/* Take a dump, which has the figures of its settled steps only. It is sorted,
 * because nodes without a context must not change those of a merge. */
static fd_status
take_dump(fd_trace **trace, const fd_trace_file *file,
          const fd_steps_wanted *steps, fd_error *error)
{
    if (steps != NULL && steps->range) {
        return fd_fail(error, FD_EFORMAT,
                       "%s: a dump has all steps and the settled ones: give "
                       "the recording to select others",
                       file->path);
    }
    *trace = fd_trace_new();
    fd_status status =
        *trace == NULL ? FD_ENOMEM
                       : fd_merge_take(*trace, file->dump, file->path, error);
    return fd_then(status, fd_trace_sort(*trace));
}

static fd_status
open_file(fd_trace **trace, const fd_trace_file *file, fd_trace_part part,
          const fd_steps_wanted *steps, fd_error *error)
{
    char head[HEAD] = "";
    size_t size;
    const char *path = file->path;
    if (file->dump != NULL) {
        return take_dump(trace, file, steps, error);
    }
    fd_status status = read_head(path, head, sizeof head, &size, error);
    if (status != FD_OK) {
        return status;
    }
    if (size == 0) {
        return fd_fail(error, FD_EFORMAT, "%s: the file is empty", path);
    }
    if (fd_chunks_match(head, size)) {
        return fd_reader_read_steps(trace, path, part, true, steps, error);
    }
    return fd_fail(error, FD_EFORMAT,
                   "%s: neither a recording (.fd) nor a dump (.json) of "
                   "fastdispatch",
                   path);
}

static fd_status
add_note(directory *d, const char *line)
{
    uint32_t id;
    fd_status status =
        fd_text_pool_add(&d->trace->texts, line, strlen(line), &id);
    return fd_then(status, fd_vector_push(&d->notes, id));
}

/* Read a file and merge it. An unreadable file gets a note. */
static fd_status
add_file(directory *d, const fd_trace_file *file)
{
    fd_trace *one = NULL;
    fd_error error = {""};
    fd_status status = open_file(&one, file, d->part, d->steps, &error);
    fd_then(status, fd_merge_take(d->trace, one, file->path, &error));
    fd_trace_free(one);
    if (status != FD_OK && status != FD_ENOMEM) {
        char line[sizeof error.text + 16];
        snprintf(line, sizeof line, "skipped: %s", error.text);
        status = add_note(d, line);
    }
    return status;
}

static fd_status
add_notes(directory *d)
{
    fd_trace_rank *first = &d->trace->ranks.list[0];
    for (uint32_t i = 1; i < d->trace->ranks.count; i++) {
        fd_trace_rank *rank = &d->trace->ranks.list[i];
        first = rank->rank < first->rank ? rank : first;
    }
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < d->notes.count && status == FD_OK; i++) {
        status = fd_vector_push(&first->notes, d->notes.list[i]);
    }
    return status;
}

static fd_status
open_directory(fd_trace **trace, const fd_trace_input *source,
               fd_trace_part part, const fd_steps_wanted *steps,
               fd_error *error)
{
    directory d = {.trace = fd_trace_new(), .part = part, .steps = steps};
    fd_status status = d.trace == NULL ? FD_ENOMEM : FD_OK;
    for (uint32_t i = 0; i < source->note_count && status == FD_OK; i++) {
        status = add_note(&d, source->notes[i]);
    }
    for (uint32_t i = 0; i < source->file_count && status == FD_OK; i++) {
        status = add_file(&d, &source->files[i]);
    }
    if (status == FD_OK && d.trace->ranks.count == 0) {
        status = fd_fail(error, FD_EFORMAT, "%s: %s", source->file.path,
                         d.notes.count > 0
                             ? fd_trace_text(d.trace, d.notes.list[0])
                             : "no recording (*.fd) in this directory");
    }
    fd_then(status, add_notes(&d));
    fd_vector_clear(&d.notes);
    if (status != FD_OK) {
        fd_trace_free(d.trace);
        d.trace = NULL;
    }
    *trace = d.trace;
    return status;
}

static fd_status
open_one(fd_trace **trace, const fd_trace_input *source, fd_trace_part part,
         const fd_steps_wanted *steps, fd_error *error)
{
    *trace = NULL;
    return source->files != NULL
             ? open_directory(trace, source, part, steps, error)
             : open_file(trace, &source->file, part, steps, error);
}

static fd_status
merge_all(fd_trace **trace, const fd_trace_input *sources, size_t count,
          fd_trace_part part, const fd_steps_wanted *steps, fd_error *error)
{
    fd_trace *merged = fd_trace_new();
    fd_status status = merged != NULL ? FD_OK : FD_ENOMEM;
    fd_figure_sums sums = {.ranks = 0};
    for (size_t i = 0; i < count && status == FD_OK; i++) {
        fd_trace *one;
        status = open_one(&one, &sources[i], part, steps, error);
        fd_then(status,
                fd_merge_take(merged, one, sources[i].file.path, error));
        fd_trace_free(one);
        if (status == FD_OK && part == FD_PART_TOTALS) {
            status = fd_figure_sums_add(&sums, merged);
        }
    }
    if (status == FD_OK && part == FD_PART_TOTALS) {
        fd_figure_sums_move(&sums, merged);
    }
    fd_figure_sums_clear(&sums);
    *trace = merged;
    return status;
}

/* The recordings that one thread reads. */
typedef struct thread_share {
    const fd_trace_input *sources;
    size_t count;
    fd_trace_part part;
    fd_trace *trace;
    fd_status status;
} thread_share;

static void *
read_share(void *context)
{
    thread_share *share = context;
    fd_error error;
    share->status = merge_all(&share->trace, share->sources, share->count,
                              share->part, NULL, &error);
    return NULL;
}

/* Read and merge with a second thread for half of the recordings. A failure
 * has no message. */
static fd_status
merge_halves(fd_trace **trace, const fd_trace_input *sources, size_t count,
             fd_trace_part part)
{
    fd_error error;
    size_t half = count / 2;
    pthread_t thread;
    thread_share other = {
        .sources = sources + half, .count = count - half, .part = part};
    if (pthread_create(&thread, NULL, read_share, &other) != 0) {
        return FD_ENOMEM;
    }
    fd_status status = merge_all(trace, sources, half, part, NULL, &error);
    pthread_join(thread, NULL);
    fd_then(status, other.status);
    fd_then(status, fd_merge_take(*trace, other.trace, "", &error));
    fd_trace_free(other.trace);
    if (status != FD_OK) {
        fd_trace_free(*trace);
        *trace = NULL;
    }
    return status;
}

/* Return whether no input has a dump, which can be taken only once. */
static bool
are_recordings(const fd_trace_input *sources, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        found |= sources[i].file.dump != NULL;
        for (uint32_t k = 0; k < sources[i].file_count; k++) {
            found |= sources[i].files[k].dump != NULL;
        }
    }
    return !found;
}

/* Read and merge; with two threads for parts of many recordings, which live
 * views read as often as possible. */
static fd_status
merge_sources(fd_trace **trace, const fd_trace_input *sources, size_t count,
              fd_trace_part part, const fd_steps_wanted *steps,
              fd_error *error)
{
    bool live = part == FD_PART_TOTALS || part == FD_PART_OPEN_CALLS;
    if (live && count >= MANY && steps == NULL
        && are_recordings(sources, count)
        && merge_halves(trace, sources, count, part) == FD_OK) {
        return FD_OK;
    }
    return merge_all(trace, sources, count, part, steps, error);
}

/* Return whether all ranks have the requested range. */
static fd_status
check_range(const fd_trace *trace, fd_error *error)
{
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        const fd_trace_rank *rank = &trace->ranks.list[i];
        if (rank->window.to == 0) {
            return fd_fail(error, FD_EFORMAT,
                           "rank %u: %s, so none can be selected", rank->rank,
                           rank->steps == 0
                               ? "no steps were recorded"
                               : "the recording has no snapshots of steps");
        }
    }
    return FD_OK;
}

fd_status
fd_source_open(fd_trace **trace, const fd_trace_input *sources, size_t count,
               fd_trace_part part, const fd_steps_wanted *steps,
               fd_error *error)
{
    fd_status status =
        count == 1 ? open_one(trace, &sources[0], part, steps, error)
                   : merge_sources(trace, sources, count, part, steps, error);
    fd_then(status, fd_trace_sort(*trace));
    if (status == FD_OK && steps != NULL) {
        status = steps->range ? check_range(*trace, error) : FD_OK;
        fd_then(status, fd_window_apply(trace));
    }
    if (status == FD_ENOMEM) {
        fd_fail(error, status, "%s: out of memory",
                count == 1 ? sources[0].file.path : "reading the recordings");
    }
    if (status != FD_OK) {
        fd_trace_free(*trace);
        *trace = NULL;
    }
    return status;
}
