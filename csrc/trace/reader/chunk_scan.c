#include "trace/reader/chunk_scan.h"

#include "recording/gpu_format.h"
#include "recording/measures/measure_format.h"
#include "recording/wait_kinds.h"

#include <string.h>

enum {
    DEPTHS_ROUND = 1, /* round_of */
    LAST_ROUND = 4,
    STACK_ENTRIES = 64
};

/* Copy memory that other threads are writing to. No other function reads such
 * memory. */
static void __attribute__((no_sanitize("thread")))
copy_live(char *to, const char *from, size_t size)
{
    const volatile uint64_t *words =
        (const volatile uint64_t *)(const void *)from;
    for (size_t i = 0; i < size / sizeof *words; i++) {
        uint64_t word = words[i];
        memcpy(to + i * sizeof word, &word, sizeof word);
    }
    for (size_t i = size / sizeof *words * sizeof *words; i < size; i++) {
        to[i] = ((const volatile char *)from)[i];
    }
}

size_t
fd_chunks_take(const fd_chunks *chunks, void *to, size_t size, size_t offset)
{
    if (chunks->fd >= 0) {
        return fd_read_at(chunks->fd, to, size, offset);
    }
    size_t there = offset < chunks->size ? chunks->size - offset : 0;
    size = size < there ? size : there;
    copy_live(to, chunks->memory + offset, size);
    return size;
}

/* Sizes of the records of known kinds. */
static const uint32_t record_bytes[] = {
    [FD_CHUNK_STRINGS] = 1,
    [FD_CHUNK_NODES] = sizeof(fd_node),
    [FD_CHUNK_MODULES] = sizeof(fd_module),
    [FD_CHUNK_CONTEXTS] = sizeof(fd_context),
    [FD_CHUNK_SPREADS] = sizeof(fd_spread),
    [FD_CHUNK_THREADS] = sizeof(fd_thread_record),
    [FD_CHUNK_STACK] = sizeof(fd_entry),
    [FD_CHUNK_STEPS] = sizeof(fd_step),
    [FD_CHUNK_META] = sizeof(fd_meta),
    [FD_CHUNK_EVENTS] = sizeof(fd_event),
    [FD_CHUNK_JOBS] = sizeof(fd_job),
    [FD_CHUNK_OP_CALLS] = sizeof(fd_op_call),
    [FD_CHUNK_OPERANDS] = sizeof(uint64_t),
    [FD_CHUNK_SCHEMAS] = sizeof(fd_schema),
    [FD_CHUNK_SNAPSHOTS] = sizeof(fd_snapshot),
    [FD_CHUNK_SNAPSHOT_FIGURES] = sizeof(fd_snapshot_figure),
    [FD_CHUNK_SNAPSHOT_THREADS] = sizeof(fd_snapshot_thread),
    [FD_CHUNK_GPU] = sizeof(fd_gpu_record),
    [FD_CHUNK_GPU_EVENTS] = sizeof(fd_gpu_event),
    [FD_CHUNK_MEASURES] = sizeof(fd_measure),
    [FD_CHUNK_KERNELS] = sizeof(fd_kernel_record),
    [FD_CHUNK_KERNEL_EVENTS] = sizeof(fd_kernel_event),
    [FD_CHUNK_LINES] = sizeof(fd_open_line),
    [FD_CHUNK_WATCHED] = sizeof(fd_entry),
};

/* Return the size of the records of a kind, 0 for unknown kinds. */
static uint32_t
record_bytes_of(uint32_t kind)
{
    return kind < sizeof record_bytes / sizeof *record_bytes
             ? record_bytes[kind]
             : 0;
}

static bool
is_chunk(const fd_chunk *chunk, size_t at)
{
    return chunk->magic == FD_CHUNK_MAGIC && chunk->offset == at
        && chunk->bytes >= FD_PAGE && chunk->bytes % FD_PAGE == 0
        && chunk->bytes <= SIZE_MAX / 2 - at && chunk->record_bytes > 0
        && (record_bytes_of(chunk->kind) == 0
            || record_bytes_of(chunk->kind) == chunk->record_bytes);
}

static bool
is_read(const fd_chunks *chunks, uint32_t kind)
{
    switch (kind) {
    case FD_CHUNK_EVENTS:
    case FD_CHUNK_GPU_EVENTS:
    case FD_CHUNK_KERNEL_EVENTS:
        return false;
    case FD_CHUNK_OP_CALLS:
    case FD_CHUNK_OPERANDS:
    case FD_CHUNK_SCHEMAS:
        return chunks->part == FD_CHUNKS_ALL;
    case FD_CHUNK_SPREADS:
    case FD_CHUNK_JOBS:
    case FD_CHUNK_STEPS:
    case FD_CHUNK_SNAPSHOTS:
    case FD_CHUNK_SNAPSHOT_FIGURES:
    case FD_CHUNK_SNAPSHOT_THREADS:
    case FD_CHUNK_GPU:
    case FD_CHUNK_KERNELS:
        return chunks->part != FD_CHUNKS_TOTALS;
    default:
        return true;
    }
}

/* Read the header of a chunk. The use count must belong to the lap of `first`.
 * The writer sets it to 0 before it changes `first`, so `first` is read before
 * it. */
static bool
take_header(const fd_chunks *chunks, size_t at, fd_chunk *header)
{
    uint64_t first;
    bool whole = fd_chunks_take(chunks, &first, sizeof first,
                                at + offsetof(fd_chunk, first))
                  == sizeof first
              && fd_chunks_take(chunks, header, sizeof *header, at)
                     == sizeof *header;
    atomic_thread_fence(memory_order_acquire);
    if (whole && header->first != first) {
        header->used = 0;
    }
    return whole;
}

static fd_status
add_view(fd_chunks *chunks, fd_chunk_view *view, size_t end)
{
    if (view->header.kind <= FD_CHUNK_SNAPSHOT_THREADS) {
        uint32_t *count = &chunks->counts[view->header.kind];
        view->before = *count;
        *count += view->used;
    }
    fd_status status = fd_vector_push(&chunks->list, *view);
    size_t page = view->header.offset / FD_PAGE;
    for (; status == FD_OK && chunks->by_page != NULL
           && page < (end + FD_PAGE - 1) / FD_PAGE;
         page++) {
        chunks->by_page[page] = chunks->list.count;
    }
    return status;
}

/* Return whether the records of a chunk that is filled again and again have
 * not changed since its header was read. */
static bool
is_unchanged(const fd_chunks *chunks, const fd_chunk_view *view)
{
    fd_chunk now;
    atomic_thread_fence(memory_order_acquire);
    return take_header(chunks, view->header.offset, &now)
        && now.used >= view->used && now.first == view->header.first;
}

/* Copy a chunk in its current state. Offset and layout are those of the header
 * that was checked before. */
static fd_status
add_chunk(fd_chunks *chunks, const fd_chunk *found)
{
    size_t at = found->offset;
    size_t end = at + found->bytes;
    size_t record = found->record_bytes;
    fd_chunk_view view = {.header = *found};
    fd_chunk now;
    if (!take_header(chunks, at, &now)) {
        chunks->truncated = true;
        return FD_OK;
    }
    if (end > chunks->size) {
        chunks->truncated = true;
        end = chunks->size;
    }
    size_t fit = end > at + sizeof now ? (end - at - sizeof now) / record : 0;
    view.used = now.used <= fit ? now.used : (uint32_t)fit;
    view.header.first = now.first;
    view.header.owner = now.owner;
    if (is_read(chunks, found->kind)) {
        char *to = chunks->base + at + sizeof now;
        size_t wanted = found->kind == FD_CHUNK_STACK ? fit : view.used;
        size_t got =
            fd_chunks_take(chunks, to, wanted * record, at + sizeof now);
        if (got < wanted * record) {
            chunks->truncated = true;
            view.used = got / record < view.used ? (uint32_t)(got / record)
                                                 : view.used;
        }
        view.records = to;
    }
    if (found->kind == FD_CHUNK_WATCHED) {
        view.header.partner = now.partner;
        view.used = is_unchanged(chunks, &view) ? view.used : 0;
    }
    return add_view(chunks, &view, end);
}

/* Return the round in which the use counts of a kind are read. */
static int
round_of(uint32_t kind)
{
    switch (kind) {
    case FD_CHUNK_STRINGS:
        return 4;
    case FD_CHUNK_NODES:
    case FD_CHUNK_MODULES:
    case FD_CHUNK_OPERANDS:
    case FD_CHUNK_SPREADS:
        return 3;
    case FD_CHUNK_CONTEXTS:
    case FD_CHUNK_JOBS:
        return 2;
    case FD_CHUNK_STACK:
        return 0;
    default:
        return 1;
    }
}

/* Return the current end of the last chunk. The file grows before its header
 * is updated. */
static size_t
end_of(fd_chunks *chunks)
{
    uint64_t end = 0;
    struct stat info;
    fd_chunks_take(chunks, &end, sizeof end, offsetof(fd_header, file_bytes));
    atomic_thread_fence(memory_order_acquire);
    if (chunks->fd >= 0 && fstat(chunks->fd, &info) == 0) {
        size_t size = (size_t)info.st_size;
        chunks->size = size < chunks->capacity ? size : chunks->capacity;
    }
    if (end > chunks->size || end < FD_PAGE) {
        chunks->truncated = true;
        end = chunks->size;
    }
    return end;
}

/* Find the chunks that exist by now. */
static fd_status
find_chunks(fd_chunks *chunks)
{
    size_t end = end_of(chunks);
    fd_status status = FD_OK;
    while (chunks->next < end && status == FD_OK) {
        fd_chunk chunk;
        size_t at = chunks->next;
        if (fd_chunks_take(chunks, &chunk, sizeof chunk, at) == sizeof chunk
            && is_chunk(&chunk, at)) {
            status = fd_vector_push(&chunks->found, chunk);
            chunks->next = at + chunk.bytes;
        }
        else {
            chunks->damaged++;
            chunks->next = at + FD_PAGE;
        }
    }
    return status;
}

static fd_status
scan_round(fd_chunks *chunks, int round)
{
    fd_status status = find_chunks(chunks);
    for (uint32_t i = 0; i < chunks->found.count && status == FD_OK; i++) {
        if (round_of(chunks->found.list[i].kind) == round) {
            status = add_chunk(chunks, &chunks->found.list[i]);
        }
    }
    return status;
}

/* Return the number of bytes of whole entries at `at` that are the same now,
 * at most `size`. */
static size_t
count_same(const fd_chunks *chunks, size_t at, size_t size)
{
    fd_entry now[STACK_ENTRIES];
    const char *before = chunks->base + at;
    size_t same = 0;
    size = size < sizeof now ? size : sizeof now;
    if (fd_chunks_take(chunks, now, size, at) < size) {
        return 0;
    }
    while (same + sizeof *now <= size
           && memcmp((const char *)now + same, before + same, sizeof *now)
                  == 0) {
        same += sizeof *now;
    }
    return same;
}

/* Clear the entries of a stack from the first one on that has changed. */
static void
clear_changed_entries(const fd_chunks *chunks, const fd_chunk_view *view)
{
    size_t at = view->header.offset + sizeof(fd_chunk);
    size_t end = view->header.offset + view->header.bytes;
    size_t same = 1;
    end = end < chunks->size ? end : chunks->size;
    for (; at < end && same > 0; at += same) {
        same = count_same(chunks, at, end - at);
    }
    if (at < end) {
        memset(chunks->base + at, 0, end - at);
    }
}

/* Stacks are read before and after the depths of threads, so that the open
 * calls of a running thread were open at the same time. */
static void
keep_settled_entries(const fd_chunks *chunks)
{
    for (uint32_t i = 0; i < chunks->list.count; i++) {
        if (chunks->list.list[i].header.kind == FD_CHUNK_STACK) {
            clear_changed_entries(chunks, &chunks->list.list[i]);
        }
    }
}

fd_status
fd_chunks_scan(fd_chunks *chunks)
{
    fd_status status = FD_OK;
    for (int round = 0; round <= LAST_ROUND && status == FD_OK; round++) {
        status = scan_round(chunks, round);
        if (round == DEPTHS_ROUND) {
            keep_settled_entries(chunks);
        }
    }
    return status;
}

fd_status
fd_chunks_events(fd_chunks *chunks, const fd_chunk_view *view,
                 const void **records)
{
    size_t at = view->header.offset;
    size_t size = (size_t)view->used * view->header.record_bytes;
    *records = NULL;
    if (size > chunks->events_room) {
        fd_free(chunks->events);
        chunks->events = fd_malloc(size);
        chunks->events_room = chunks->events != NULL ? size : 0;
        if (chunks->events == NULL) {
            return FD_ENOMEM;
        }
    }
    size_t got =
        fd_chunks_take(chunks, chunks->events, size, at + sizeof(fd_chunk));
    if (got == size && is_unchanged(chunks, view)) {
        *records = chunks->events;
    }
    return FD_OK;
}
