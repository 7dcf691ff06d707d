#include "events/tools/event_sorter.h"

#include "base/budget.h"
#include "base/buffer.h"
#include "base/vector.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 1 << 17, PATH = 4096 };

typedef struct entry {
    int64_t key;
    uint64_t second;
    uint32_t at; /* offset in the arena */
    uint32_t size;
} entry;

typedef struct head {
    int64_t key;
    uint64_t second;
    uint64_t size;
} head;

typedef struct run {
    uint64_t from; /* offset in the file */
    uint64_t to;
} run;

typedef FD_VECTOR(run) run_list;

/* A run that is being read. */
typedef struct cursor {
    uint64_t from;
    uint64_t to;
    char *window; /* owned */
    size_t at;
    size_t end;
    bool ended;
    head head;
} cursor;

struct fd_sorter {
    const char *output;
    size_t budget;   /* for the arena and its entries together */
    fd_buffer arena; /* records, in the order added */
    FD_VECTOR(entry) entries;
    uint32_t next; /* next entry to return if nothing is in the file */
    bool reading;
    int fd;       /* -1: nothing is in the file */
    uint64_t end; /* size of the file */
    run_list runs;
    cursor cursors[FD_SORTER_RUNS];
    uint32_t heap[FD_SORTER_RUNS]; /* runs with records left, the smallest key
                                    * first */
    uint32_t left;
    fd_buffer out;
    fd_buffer item;
};

fd_sorter *
fd_sorter_new(const char *output, size_t budget)
{
    fd_sorter *s = fd_calloc(1, sizeof *s);
    if (s != NULL) {
        s->output = output;
        s->budget = fd_budget(budget);
        s->fd = -1;
    }
    return s;
}

static void
drop_cursors(fd_sorter *s)
{
    for (uint32_t i = 0; i < FD_SORTER_RUNS; i++) {
        fd_free(s->cursors[i].window);
        s->cursors[i].window = NULL;
    }
    s->left = 0;
}

/* Empty the sorter for reuse. */
static void
reset_sorter(fd_sorter *s)
{
    drop_cursors(s);
    if (s->fd >= 0) {
        close(s->fd);
    }
    s->fd = -1;
    s->end = 0;
    s->arena.size = 0;
    s->entries.count = s->next = 0;
    s->runs.count = 0;
    s->reading = false;
}

void
fd_sorter_free(fd_sorter *s)
{
    if (s != NULL) {
        reset_sorter(s);
        fd_buffer_clear(&s->arena);
        fd_vector_clear(&s->entries);
        fd_vector_clear(&s->runs);
        fd_buffer_clear(&s->out);
        fd_buffer_clear(&s->item);
        fd_free(s);
    }
}

FD_ORDER_BY(by_key, entry, key, second, at)

/* Sort the entries. Sorted input, as in most traces, is detected and costs no
 * sort. */
static void
sort_entries(fd_sorter *s)
{
    entry *list = s->entries.list;
    bool sorted = true;
    for (uint32_t i = 1; i < s->entries.count && sorted; i++) {
        sorted = by_key(&list[i - 1], &list[i]) < 0;
    }
    if (!sorted) {
        qsort(list, s->entries.count, sizeof *list, by_key);
    }
}

static size_t
folder_of(const fd_sorter *s, const char **folder)
{
    *folder = getenv("TMPDIR");
    if (*folder != NULL && **folder != '\0') {
        return strlen(*folder);
    }
    const char *slash = strrchr(s->output, '/');
    *folder = slash != NULL ? s->output : ".";
    return slash == NULL      ? 1
         : slash == s->output ? 1
                              : (size_t)(slash - s->output);
}

static fd_status
file_refused(const fd_sorter *s, const char *what, int reason, fd_error *error)
{
    const char *folder;
    int size = (int)folder_of(s, &folder);
    return fd_fail(error, FD_EIO,
                   "%.*s: cannot %s temporary data: %s (TMPDIR selects "
                   "another folder)",
                   size, folder, what, strerror(reason));
}

/* Open an unlinked file, which disappears with the process. */
static fd_status
open_file(const fd_sorter *s, int *fd, fd_error *error)
{
    char path[PATH];
    const char *folder;
    int size = (int)folder_of(s, &folder);
    int length =
        snprintf(path, sizeof path, "%.*s/fastdispatch.XXXXXX", size, folder);
    if (length < 0 || length >= PATH) {
        return file_refused(s, "store", ENAMETOOLONG, error);
    }
    *fd = mkostemp(path, 02000000 /* O_CLOEXEC */);
    if (*fd < 0) {
        return file_refused(s, "store", errno, error);
    }
    unlink(path);
    return FD_OK;
}

static fd_status
flush_bytes(fd_sorter *s, int fd, fd_error *error)
{
    const char *from = s->out.bytes;
    size_t size = s->out.size;
    fd_status status = s->out.status;
    while (status == FD_OK && size > 0) {
        ssize_t written = write(fd, from, size);
        if (written < 0 && errno != EINTR) {
            status = file_refused(s, "store", errno, error);
        }
        from += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    s->out.size = 0;
    return status;
}

static fd_status
put_record(fd_sorter *s, int fd, const head *record, const char *bytes,
           uint64_t *end, fd_error *error)
{
    fd_buffer_bytes(&s->out, record, sizeof *record);
    fd_buffer_bytes(&s->out, bytes, record->size);
    *end += sizeof *record + record->size;
    return s->out.size < fd_budget(WINDOW) && s->out.status == FD_OK
             ? FD_OK
             : flush_bytes(s, fd, error);
}

/* Empty the arena. Free it if it grew for one large record. */
static void
empty_arena(fd_sorter *s)
{
    if (s->arena.capacity / 2 > s->budget) {
        fd_buffer_clear(&s->arena);
    }
    s->arena.size = 0;
    s->entries.count = 0;
}

/* Write the arena to the file as a run. */
static fd_status
spill_arena(fd_sorter *s, fd_error *error)
{
    fd_status status = s->fd >= 0 ? FD_OK : open_file(s, &s->fd, error);
    run made = {s->end, 0};
    sort_entries(s);
    for (uint32_t i = 0; i < s->entries.count && status == FD_OK; i++) {
        const entry *each = &s->entries.list[i];
        head record = {each->key, each->second, each->size};
        status = put_record(s, s->fd, &record, s->arena.bytes + each->at,
                            &s->end, error);
    }
    fd_then(status, flush_bytes(s, s->fd, error));
    made.to = s->end;
    empty_arena(s);
    return fd_then(status, fd_vector_push(&s->runs, made));
}

/* Return whether one more record stays within the budget. */
static bool
record_fits(const fd_sorter *s, size_t size)
{
    size_t listed = ((size_t)s->entries.count + 1) * sizeof(entry);
    return listed <= s->budget
        && fd_buffer_fits(&s->arena, size, s->budget - listed);
}

/* A record larger than the budget is alone in the arena, which grows for it;
 * so `at` is always below the budget. */
fd_status
fd_sorter_add(fd_sorter *s, int64_t key, uint64_t second, const void *bytes,
              size_t size, fd_error *error)
{
    if (size > UINT32_MAX) {
        return fd_fail(error, FD_EFULL, "one event of more than 4 GB");
    }
    if (s->entries.count > 0 && !record_fits(s, size)) {
        fd_status status = spill_arena(s, error);
        if (status != FD_OK) {
            return status;
        }
    }
    entry made = {key, second, (uint32_t)s->arena.size, (uint32_t)size};
    fd_buffer_bytes(&s->arena, bytes, size);
    return s->arena.status == FD_OK ? fd_vector_push(&s->entries, made)
                                    : s->arena.status;
}

/* Read the next bytes of a run. */
static fd_status
take_bytes(fd_sorter *s, cursor *c, void *to, size_t size, fd_error *error)
{
    char *at = to;
    while (size > 0) {
        size_t there = c->end - c->at;
        size_t part = there < size ? there : size;
        memcpy(at, c->window + c->at, part);
        at += part;
        c->at += part;
        size -= part;
        if (size > 0) {
            uint64_t rest = c->to - c->from;
            size_t capacity = fd_budget(WINDOW);
            ssize_t got = pread(s->fd, c->window,
                                rest < capacity ? (size_t)rest : capacity,
                                (off_t)c->from);
            if (got <= 0 && !(got < 0 && errno == EINTR)) {
                return file_refused(s, "read", got < 0 ? errno : EIO, error);
            }
            c->at = 0;
            c->end = got > 0 ? (size_t)got : 0;
            c->from += c->end;
        }
    }
    return FD_OK;
}

/* Advance to the next record of the run. */
static fd_status
advance_cursor(fd_sorter *s, cursor *c, fd_error *error)
{
    c->ended = c->from == c->to && c->at == c->end;
    return c->ended ? FD_OK
                    : take_bytes(s, c, &c->head, sizeof c->head, error);
}

static bool
is_before(const fd_sorter *s, uint32_t left, uint32_t right)
{
    const head *a = &s->cursors[left].head;
    const head *b = &s->cursors[right].head;
    return a->key != b->key       ? a->key < b->key
         : a->second != b->second ? a->second < b->second
                                  : left < right;
}

static void
sift_down(fd_sorter *s, uint32_t at)
{
    uint32_t *heap = s->heap;
    for (;;) {
        uint32_t least = at;
        for (uint32_t i = 2 * at + 1; i <= 2 * at + 2 && i < s->left; i++) {
            least = is_before(s, heap[i], heap[least]) ? i : least;
        }
        if (least == at) {
            return;
        }
        uint32_t one = heap[at];
        heap[at] = heap[least];
        heap[least] = one;
        at = least;
    }
}

/* Start merging these runs. */
static fd_status
begin_merge(fd_sorter *s, const run *runs, uint32_t count, fd_error *error)
{
    s->left = 0;
    for (uint32_t i = 0; i < count; i++) {
        cursor *c = &s->cursors[i];
        char *window =
            c->window != NULL ? c->window : fd_malloc(fd_budget(WINDOW));
        *c =
            (cursor){.from = runs[i].from, .to = runs[i].to, .window = window};
        fd_status status =
            window != NULL ? advance_cursor(s, c, error) : FD_ENOMEM;
        if (status != FD_OK) {
            return status;
        }
        if (!c->ended) {
            s->heap[s->left++] = i;
        }
    }
    for (uint32_t i = s->left / 2; i-- > 0;) {
        sift_down(s, i);
    }
    return FD_OK;
}

/* Read the record with the smallest key of the merged runs into `item`. */
static fd_status
pop_record(fd_sorter *s, head *record, fd_error *error)
{
    cursor *c = &s->cursors[s->heap[0]];
    *record = c->head;
    s->item.size = 0;
    /* at least one byte */
    char *to = fd_buffer_grow(&s->item, record->size + 1);
    fd_status status = to != NULL ? take_bytes(s, c, to, record->size, error)
                                  : s->item.status;
    fd_then(status, advance_cursor(s, c, error));
    if (c->ended) {
        s->heap[0] = s->heap[--s->left];
    }
    sift_down(s, 0);
    return status;
}

static fd_status
merge_group(fd_sorter *s, const run *runs, uint32_t count, int fd,
            uint64_t *end, fd_error *error)
{
    fd_status status = begin_merge(s, runs, count, error);
    while (status == FD_OK && s->left > 0) {
        head record;
        status = pop_record(s, &record, error);
        fd_then(status, put_record(s, fd, &record, s->item.bytes, end, error));
    }
    return fd_then(status, flush_bytes(s, fd, error));
}

/* Merge groups of runs into fewer, longer runs in another file. */
static fd_status
merge_pass(fd_sorter *s, fd_error *error)
{
    run_list made = {NULL, 0, 0};
    int fd = -1;
    uint64_t end = 0;
    fd_status status = open_file(s, &fd, error);
    for (uint32_t i = 0; i < s->runs.count && status == FD_OK;
         i += FD_SORTER_RUNS) {
        uint32_t rest = s->runs.count - i;
        run one = {end, 0};
        status = merge_group(s, &s->runs.list[i],
                             rest < FD_SORTER_RUNS ? rest : FD_SORTER_RUNS, fd,
                             &end, error);
        one.to = end;
        fd_then(status, fd_vector_push(&made, one));
    }
    if (status != FD_OK) {
        if (fd >= 0) {
            close(fd);
        }
        fd_vector_clear(&made);
        return status;
    }
    close(s->fd);
    s->fd = fd;
    s->end = end;
    fd_vector_clear(&s->runs);
    s->runs = made;
    return FD_OK;
}

static fd_status
start_reading(fd_sorter *s, fd_error *error)
{
    s->reading = true;
    if (s->fd < 0) {
        sort_entries(s);
        return FD_OK;
    }
    fd_status status = s->entries.count > 0 ? spill_arena(s, error) : FD_OK;
    fd_buffer_clear(&s->arena);
    fd_vector_clear(&s->entries);
    while (status == FD_OK && s->runs.count > FD_SORTER_RUNS) {
        status = merge_pass(s, error);
    }
    return fd_then(status, begin_merge(s, s->runs.list, s->runs.count, error));
}

/* Return the next record in memory. */
static fd_status
next_entry(fd_sorter *s, fd_sorted *item)
{
    const entry *each = &s->entries.list[s->next++];
    item->key = each->key;
    item->second = each->second;
    item->size = each->size;
    item->bytes = s->arena.bytes != NULL ? s->arena.bytes + each->at : "";
    return FD_OK;
}

/* Return the next record of the file. */
static fd_status
next_record(fd_sorter *s, fd_sorted *item, fd_error *error)
{
    head record;
    fd_status status = pop_record(s, &record, error);
    item->key = record.key;
    item->second = record.second;
    item->size = (uint32_t)record.size;
    item->bytes = s->item.bytes;
    return status;
}

fd_status
fd_sorter_next(fd_sorter *s, fd_sorted *item, fd_error *error)
{
    *item = (fd_sorted){.bytes = NULL};
    fd_status status = s->reading ? FD_OK : start_reading(s, error);
    bool ended = s->fd < 0 ? s->next == s->entries.count : s->left == 0;
    if (status != FD_OK || ended) {
        reset_sorter(s);
        return status;
    }
    return s->fd < 0 ? next_entry(s, item) : next_record(s, item, error);
}
