#include "trace/trace_source.h"

#include "trace/canonical_order.h"
#include "trace/dump/dump_reader.h"
#include "trace/figure_sums.h"
#include "trace/reader/file_chunks.h"
#include "trace/reader/recording_reader.h"
#include "trace/run_manifest.h"
#include "trace/step_window.h"
#include "trace/trace_merge.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 64, MANY = 32 };

typedef struct candidate {
    char *path; /* owned */
    uint32_t world;
} candidate;

/* A directory being read. */
typedef struct directory {
    fd_trace *trace;
    fd_trace_part part;
    const fd_steps_wanted *steps; /* borrowed; NULL: all steps */
    bool dumps;                   /* without recordings, rank*.json */
    FD_VECTOR(candidate) candidates;
    FD_VECTOR(char *) notes; /* owned: one per skipped input */
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

/* Read a dump, which has the figures of its settled steps only. */
static fd_status
load_dump(fd_trace **trace, const char *path, const fd_steps_wanted *steps,
          fd_error *error)
{
    if (steps != NULL && steps->range) {
        return fd_fail(error, FD_EFORMAT,
                       "%s: a dump has all steps and the settled ones: give "
                       "the recording to select others",
                       path);
    }
    return fd_load(trace, path, error);
}

static fd_status
open_file(fd_trace **trace, const char *path, fd_trace_part part,
          const fd_steps_wanted *steps, fd_error *error)
{
    char head[HEAD] = "";
    size_t size;
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
    size_t at = memcmp(head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < size && isspace((unsigned char)head[at])) {
        at++;
    }
    if (at < size && head[at] == '{') {
        return load_dump(trace, path, steps, error);
    }
    return fd_fail(error, FD_EFORMAT,
                   "%s: neither a recording (.fd) nor a dump (.json) of "
                   "fastdispatch",
                   path);
}

/* Return a copy that the caller owns, or NULL. */
static char *
copy_text(const char *text)
{
    char *copy = fd_malloc(strlen(text) + 1);
    return copy == NULL ? NULL : strcpy(copy, text);
}

static fd_status
leave_out(directory *d, const char *line)
{
    char *copy = copy_text(line);
    fd_status status =
        copy == NULL ? FD_ENOMEM : fd_vector_push(&d->notes, copy);
    if (status != FD_OK) {
        fd_free(copy);
    }
    return status;
}

/* Read a file and merge it. An unreadable file gets a note. */
static fd_status
add_file(directory *d, const char *path)
{
    fd_trace *one = NULL;
    fd_error error = {""};
    fd_status status = open_file(&one, path, d->part, d->steps, &error);
    fd_then(status, fd_merge_take(d->trace, one, path, &error));
    fd_trace_free(one);
    if (status != FD_OK && status != FD_ENOMEM) {
        char line[sizeof error.text + 16];
        snprintf(line, sizeof line, "skipped: %s", error.text);
        status = leave_out(d, line);
    }
    return status;
}

static bool
join_path(char to[PATH_MAX], const char *folder, const char *name)
{
    int size = snprintf(to, PATH_MAX, "%s/%s", folder, name);
    return size > 0 && size < PATH_MAX;
}

/* Read a manifest; one that cannot be read gets a note and is ignored. */
static fd_status
read_manifest(directory *d, const char *folder, fd_manifest *manifest)
{
    char path[PATH_MAX];
    char line[PATH_MAX + 512];
    fd_error error = {""};
    *manifest = (fd_manifest){.names_any = false};
    if (!join_path(path, folder, "manifest.json")) {
        return FD_OK;
    }
    fd_status status = fd_manifest_read(manifest, path, &error);
    if (status != FD_OK && status != FD_ENOMEM) {
        snprintf(line, sizeof line,
                 "skipped: %s, all recordings beside it are read", error.text);
        status = leave_out(d, line);
    }
    return status;
}

static bool
ends_with(const char *name, const char *suffix)
{
    size_t size = strlen(name);
    size_t tail = strlen(suffix);
    return size > tail && strcmp(name + size - tail, suffix) == 0;
}

static bool
is_input(const char *name, bool dumps)
{
    return dumps ? strncmp(name, "rank", 4) == 0 && ends_with(name, ".json")
                 : ends_with(name, ".fd");
}

/* Order recordings of one rank, the preferred one first: a larger world size
 * (it is unknown if the launcher spawned the ranks), then "rank00000.fd"
 * before "rank00000.4711.fd", which a second process of the same rank
 * wrote. */
FD_ORDER_AS(by_weight, candidate, FD_DOWN(world),
            FD_ORDER(strlen(one->path), strlen(other->path)),
            strcmp(one->path, other->path))

/* Return the world size of a recording; 0 for other files. */
static uint32_t
world_of(const char *path)
{
    fd_header header;
    size_t size;
    read_head(path, &header, sizeof header, &size, NULL);
    return size == sizeof header && fd_chunks_match(header.magic, size)
             ? header.world
             : 0;
}

static fd_status
add_candidate(directory *d, const char *path)
{
    char *copy = copy_text(path);
    fd_status status = copy == NULL
                         ? FD_ENOMEM
                         : fd_vector_push(&d->candidates,
                                          (candidate){copy, world_of(path)});
    if (status != FD_OK) {
        fd_free(copy);
    }
    return status;
}

static fd_status
add_candidates(directory *d)
{
    fd_status status = FD_OK;
    fd_vector_sort(&d->candidates, by_weight);
    for (uint32_t i = 0; i < d->candidates.count && status == FD_OK; i++) {
        status = add_file(d, d->candidates.list[i].path);
    }
    return status;
}

static fd_status add_folder(directory *d, const char *folder, bool nested,
                            fd_error *error);

static fd_status
add_entry(directory *d, const char *folder, const char *name, bool nested,
          const fd_manifest *manifest, fd_error *error)
{
    char path[PATH_MAX];
    struct stat info;
    if (!join_path(path, folder, name) || stat(path, &info) != 0) {
        return FD_OK;
    }
    if (S_ISDIR(info.st_mode)) {
        return !nested && strncmp(name, "machine", 7) == 0
                 ? add_folder(d, path, true, error)
                 : FD_OK;
    }
    if (!is_input(name, d->dumps)) {
        return FD_OK;
    }
    if (!fd_manifest_names(manifest, name)) {
        char line[PATH_MAX + 64];
        snprintf(line, sizeof line,
                 "skipped: %s: not named in manifest.json, so of an earlier "
                 "run",
                 path);
        return leave_out(d, line);
    }
    return add_candidate(d, path);
}

static fd_status
add_folder(directory *d, const char *folder, bool nested, fd_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) {
        return fd_fail(error, FD_EIO, "%s: %s", folder, strerror(errno));
    }
    fd_manifest manifest;
    fd_status status = read_manifest(d, folder, &manifest);
    for (int i = 0; i < count; i++) {
        fd_then(status, add_entry(d, folder, entries[i]->d_name, nested,
                                  &manifest, error));
        free(entries[i]);
    }
    free(entries);
    fd_manifest_clear(&manifest);
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
        uint32_t id;
        status = fd_text_pool_add(&d->trace->texts, d->notes.list[i],
                                  strlen(d->notes.list[i]), &id);
        fd_then(status, fd_vector_push(&first->notes, id));
    }
    return status;
}

static fd_status
open_directory(fd_trace **trace, const char *path, fd_trace_part part,
               const fd_steps_wanted *steps, fd_error *error)
{
    directory d = {.trace = fd_trace_new(), .part = part, .steps = steps};
    fd_status status =
        d.trace == NULL ? FD_ENOMEM : add_folder(&d, path, false, error);
    d.dumps = d.candidates.count == 0 && d.notes.count == 0;
    if (status == FD_OK && d.dumps) {
        status = add_folder(&d, path, false, error);
    }
    fd_then(status, add_candidates(&d));
    if (status == FD_OK && d.trace->ranks.count == 0) {
        status = fd_fail(error, FD_EFORMAT, "%s: %s", path,
                         d.notes.count > 0
                             ? d.notes.list[0]
                             : "no recording (*.fd) in this directory");
    }
    fd_then(status, add_notes(&d));
    for (uint32_t i = 0; i < d.notes.count; i++) {
        fd_free(d.notes.list[i]);
    }
    fd_vector_clear(&d.notes);
    for (uint32_t i = 0; i < d.candidates.count; i++) {
        fd_free(d.candidates.list[i].path);
    }
    fd_vector_clear(&d.candidates);
    if (status != FD_OK) {
        fd_trace_free(d.trace);
        d.trace = NULL;
    }
    *trace = d.trace;
    return status;
}

static fd_status
open_one(fd_trace **trace, const char *path, fd_trace_part part,
         const fd_steps_wanted *steps, fd_error *error)
{
    struct stat info;
    *trace = NULL;
    if (stat(path, &info) != 0) {
        return fd_fail(error, FD_EIO, "%s: %s", path, strerror(errno));
    }
    return S_ISDIR(info.st_mode)
             ? open_directory(trace, path, part, steps, error)
             : open_file(trace, path, part, steps, error);
}

static fd_status
merge_all(fd_trace **trace, const char *const *paths, size_t count,
          fd_trace_part part, const fd_steps_wanted *steps, fd_error *error)
{
    fd_trace *merged = fd_trace_new();
    fd_status status = merged != NULL ? FD_OK : FD_ENOMEM;
    fd_figure_sums sums = {.ranks = 0};
    for (size_t i = 0; i < count && status == FD_OK; i++) {
        fd_trace *one;
        status = open_one(&one, paths[i], part, steps, error);
        fd_then(status, fd_merge_take(merged, one, paths[i], error));
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
    const char *const *paths;
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
    share->status = merge_all(&share->trace, share->paths, share->count,
                              share->part, NULL, &error);
    return NULL;
}

/* Read and merge with a second thread for half of the recordings. A failure
 * has no message. */
static fd_status
merge_halves(fd_trace **trace, const char *const *paths, size_t count,
             fd_trace_part part)
{
    fd_error error;
    size_t half = count / 2;
    pthread_t thread;
    thread_share other = {
        .paths = paths + half, .count = count - half, .part = part};
    if (pthread_create(&thread, NULL, read_share, &other) != 0) {
        return FD_ENOMEM;
    }
    fd_status status = merge_all(trace, paths, half, part, NULL, &error);
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

/* Read and merge; with two threads for parts of many recordings, which live
 * views read as often as possible. */
static fd_status
merge_paths(fd_trace **trace, const char *const *paths, size_t count,
            fd_trace_part part, const fd_steps_wanted *steps, fd_error *error)
{
    bool live = part == FD_PART_TOTALS || part == FD_PART_OPEN_CALLS;
    if (live && count >= MANY && steps == NULL
        && merge_halves(trace, paths, count, part) == FD_OK) {
        return FD_OK;
    }
    return merge_all(trace, paths, count, part, steps, error);
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
fd_source_open(fd_trace **trace, const char *const *paths, size_t count,
               fd_trace_part part, const fd_steps_wanted *steps,
               fd_error *error)
{
    fd_status status =
        count == 1 ? open_one(trace, paths[0], part, steps, error)
                   : merge_paths(trace, paths, count, part, steps, error);
    fd_then(status, fd_trace_sort(*trace));
    if (status == FD_OK && steps != NULL) {
        status = steps->range ? check_range(*trace, error) : FD_OK;
        fd_then(status, fd_window_apply(trace));
    }
    if (status == FD_ENOMEM) {
        fd_fail(error, status, "%s: out of memory",
                count == 1 ? paths[0] : "reading the recordings");
    }
    if (status != FD_OK) {
        fd_trace_free(*trace);
        *trace = NULL;
    }
    return status;
}
