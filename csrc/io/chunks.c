#include "io/chunks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool
fd_chunks_match(const void *bytes, size_t size)
{
    return size >= sizeof(FD_FILE_MAGIC) - 1
           && memcmp(bytes, FD_FILE_MAGIC, sizeof(FD_FILE_MAGIC) - 1) == 0;
}

bool
fd_chunks_match_spill(const void *bytes, size_t size)
{
    return size >= sizeof(FD_SPILL_MAGIC) - 1
           && memcmp(bytes, FD_SPILL_MAGIC, sizeof(FD_SPILL_MAGIC) - 1) == 0;
}

/* How much to map: a live file may grow up to its own bound meanwhile. */
static size_t
room_of(const fd_chunks *chunks)
{
    fd_header header;
    size_t most = (size_t)FD_MAX_SPILL_MB << 20;
    if (!chunks->writer_lives
        || pread(chunks->fd, &header, sizeof header, 0)
               != (ssize_t)sizeof header
        || header.max_bytes < chunks->size || header.max_bytes > most) {
        return chunks->size;
    }
    return header.max_bytes;
}

static fd_status
map_file(fd_chunks *chunks, const char *path, fd_error *error)
{
    struct stat info;
    chunks->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (chunks->fd < 0 || fstat(chunks->fd, &info) != 0) {
        return fd_fail(error, FD_EIO, "%s: %s", path, strerror(errno));
    }
    if (info.st_size == 0) {
        return fd_fail(error, FD_EFORMAT, "%s: the file is empty", path);
    }
    chunks->size = (size_t)info.st_size;
    chunks->writer_lives = flock(chunks->fd, LOCK_SH | LOCK_NB) != 0;
    chunks->room = room_of(chunks);
    void *base = mmap(NULL, chunks->room, PROT_READ, MAP_SHARED, chunks->fd,
                      0);
    if (base == MAP_FAILED) {
        return fd_fail(error, FD_EIO, "%s: cannot map: %s", path,
                       strerror(errno));
    }
    chunks->base = base;
    chunks->mapped = true;
    return FD_OK;
}

static fd_status
check_header(const fd_chunks *chunks, const char *path, bool spill,
             fd_error *error)
{
    const fd_header *header = fd_chunks_header(chunks);
    if (!(spill ? fd_chunks_match_spill : fd_chunks_match)(chunks->base,
                                                           chunks->size)) {
        return fd_fail(error, FD_EFORMAT, "%s: not a fastdispatch recording",
                       path);
    }
    if (chunks->size < FD_PAGE) {
        return fd_fail(error, FD_EFORMAT,
                       "%s: cut off within the header, nothing is readable",
                       path);
    }
    if (header->version > FD_FILE_VERSION) {
        return fd_fail(error, FD_EVERSION,
                       "%s: version %u of the format, this fastdispatch reads "
                       "up to %u: upgrade it",
                       path, header->version, FD_FILE_VERSION);
    }
    if (header->version == 0 || header->header_bytes != FD_PAGE) {
        return fd_fail(error, FD_EFORMAT, "%s: the header is damaged", path);
    }
    return FD_OK;
}

/* Size of the records of a kind, 0 for kinds this version does not know. */
static uint32_t
record_bytes_of(uint32_t kind)
{
    switch (kind) {
    case FD_CHUNK_STRINGS: return 1;
    case FD_CHUNK_NODES: return sizeof(fd_node);
    case FD_CHUNK_MODULES: return sizeof(fd_module);
    case FD_CHUNK_CONTEXTS: return sizeof(fd_context);
    case FD_CHUNK_SPREADS: return sizeof(fd_spread);
    case FD_CHUNK_THREADS: return sizeof(fd_thread_record);
    case FD_CHUNK_STACK: return sizeof(fd_entry);
    case FD_CHUNK_STEPS: return sizeof(fd_step);
    case FD_CHUNK_META: return sizeof(fd_meta);
    case FD_CHUNK_EVENTS: return sizeof(fd_event);
    case FD_CHUNK_JOBS: return sizeof(fd_job);
    case FD_CHUNK_OP_CALLS: return sizeof(fd_op_call);
    case FD_CHUNK_OPERANDS: return sizeof(uint64_t);
    case FD_CHUNK_SCHEMAS: return sizeof(fd_schema);
    case FD_CHUNK_GPU: return sizeof(fd_gpu_record);
    case FD_CHUNK_GPU_EVENTS: return sizeof(fd_gpu_event);
    default: return 0;
    }
}

static bool
is_chunk(const fd_chunks *chunks, size_t at)
{
    const fd_chunk *chunk = (const fd_chunk *)(chunks->base + at);
    return at + sizeof *chunk <= chunks->size
           && chunk->magic == FD_CHUNK_MAGIC && chunk->offset == at
           && chunk->bytes >= FD_PAGE && chunk->bytes % FD_PAGE == 0
           && chunk->bytes <= SIZE_MAX / 2 - at && chunk->record_bytes > 0
           && (record_bytes_of(chunk->kind) == 0
               || record_bytes_of(chunk->kind) == chunk->record_bytes);
}

static fd_status
add_chunk(fd_chunks *chunks, size_t at)
{
    const fd_chunk *chunk = (const fd_chunk *)(chunks->base + at);
    size_t end = at + chunk->bytes;
    if (end > chunks->size) {
        chunks->truncated = true;
        end = chunks->size;
    }
    size_t fit = (end - at - sizeof *chunk) / chunk->record_bytes;
    uint32_t used = atomic_load_explicit(
        (_Atomic uint32_t *)(uintptr_t)&chunk->used, memory_order_acquire);
    fd_chunk_view view = {chunk, chunk + 1, used <= fit ? used : (uint32_t)fit};
    fd_status status = fd_vector_push(&chunks->list, view);
    for (size_t page = at / FD_PAGE; status == FD_OK
                                     && page < (end + FD_PAGE - 1) / FD_PAGE;
         page++) {
        chunks->by_page[page] = chunks->list.count;
    }
    return status;
}

/* The round in which the use counts of a kind are taken. */
static int
round_of(uint32_t kind)
{
    switch (kind) {
    case FD_CHUNK_STRINGS: return 3;
    case FD_CHUNK_NODES:
    case FD_CHUNK_MODULES:
    case FD_CHUNK_OPERANDS:
    case FD_CHUNK_SPREADS: return 2;
    case FD_CHUNK_CONTEXTS:
    case FD_CHUNK_JOBS: return 1;
    default: return 0;
    }
}

/* The end of the last chunk by now. The file is as long before its header
 * says so. */
static size_t
end_of(fd_chunks *chunks)
{
    size_t end = fd_chunks_header(chunks)->file_bytes;
    struct stat info;
    if (chunks->fd >= 0 && fstat(chunks->fd, &info) == 0) {
        size_t size = (size_t)info.st_size;
        chunks->size = size < chunks->room ? size : chunks->room;
    }
    if (end > chunks->size || end < FD_PAGE) {
        chunks->truncated = true;
        end = chunks->size;
    }
    return end;
}

static fd_status
scan_round(fd_chunks *chunks, int round)
{
    size_t end = end_of(chunks);
    size_t at = FD_PAGE;
    chunks->damaged = 0;
    while (at < end) {
        if (!is_chunk(chunks, at)) {
            chunks->damaged++;
            at += FD_PAGE;
            continue;
        }
        const fd_chunk *chunk = (const fd_chunk *)(chunks->base + at);
        if (round_of(chunk->kind) == round
            && add_chunk(chunks, at) != FD_OK) {
            return FD_ENOMEM;
        }
        at += chunk->bytes;
    }
    return FD_OK;
}

static fd_status
scan(fd_chunks *chunks)
{
    size_t pages = (chunks->room + FD_PAGE - 1) / FD_PAGE;
    chunks->by_page = fd_calloc(pages, sizeof *chunks->by_page);
    fd_status status = chunks->by_page != NULL ? FD_OK : FD_ENOMEM;
    for (int round = 0; round <= 3 && status == FD_OK; round++) {
        status = scan_round(chunks, round);
    }
    return status;
}

static fd_status
check(fd_chunks *chunks, const char *name, bool spill, fd_error *error)
{
    fd_status status = check_header(chunks, name, spill, error);
    if (status == FD_OK) {
        status = scan(chunks);
        if (status != FD_OK) {
            fd_fail(error, status, "%s: out of memory", name);
        }
    }
    return status;
}

static fd_status
open_file(fd_chunks *chunks, const char *path, bool spill, fd_error *error)
{
    *chunks = (fd_chunks){.fd = -1};
    fd_status status = map_file(chunks, path, error);
    if (status == FD_OK) {
        status = check(chunks, path, spill, error);
    }
    if (chunks->fd >= 0) {
        close(chunks->fd);
        chunks->fd = -1;
    }
    if (status != FD_OK) {
        fd_chunks_close(chunks);
    }
    return status;
}

fd_status
fd_chunks_open(fd_chunks *chunks, const char *path, fd_error *error)
{
    return open_file(chunks, path, false, error);
}

fd_status
fd_chunks_open_spill(fd_chunks *chunks, const char *path, fd_error *error)
{
    return open_file(chunks, path, true, error);
}

static fd_status
view(fd_chunks *chunks, const void *base, size_t size, bool spill,
     fd_error *error)
{
    *chunks = (fd_chunks){.base = base,
                          .size = size,
                          .room = size,
                          .fd = -1,
                          .writer_lives = true};
    fd_status status = check(chunks, "this recording", spill, error);
    if (status != FD_OK) {
        fd_chunks_close(chunks);
    }
    return status;
}

fd_status
fd_chunks_view(fd_chunks *chunks, const void *base, size_t size,
               fd_error *error)
{
    return view(chunks, base, size, false, error);
}

fd_status
fd_chunks_view_spill(fd_chunks *chunks, const void *base, size_t size,
                     fd_error *error)
{
    return view(chunks, base, size, true, error);
}

void
fd_chunks_close(fd_chunks *chunks)
{
    if (chunks->mapped) {
        munmap((void *)(uintptr_t)chunks->base, chunks->room);
    }
    fd_vector_clear(&chunks->list);
    fd_free(chunks->by_page);
    *chunks = (fd_chunks){.fd = -1};
}

static const fd_chunk_view *
chunk_at(const fd_chunks *chunks, uint32_t kind, size_t at)
{
    uint32_t index = at < chunks->size ? chunks->by_page[at / FD_PAGE] : 0;
    if (index == 0 || chunks->list.list[index - 1].header->kind != kind) {
        return NULL;
    }
    return &chunks->list.list[index - 1];
}

const void *
fd_chunks_record(const fd_chunks *chunks, uint32_t kind, uint32_t id)
{
    size_t at = (size_t)id * FD_ID_UNIT;
    const fd_chunk_view *view = id == 0 ? NULL : chunk_at(chunks, kind, at);
    if (view == NULL || chunks->base + at < (const char *)view->records) {
        return NULL;
    }
    size_t offset = (size_t)(chunks->base + at - (const char *)view->records);
    size_t record = view->header->record_bytes;
    return offset % record == 0 && offset / record < view->used
               ? chunks->base + at
               : NULL;
}

const fd_string *
fd_chunks_string(const fd_chunks *chunks, uint32_t id)
{
    size_t at = (size_t)id * FD_STRING_UNIT;
    const fd_chunk_view *view
        = id == 0 ? NULL : chunk_at(chunks, FD_CHUNK_STRINGS, at);
    if (view == NULL || chunks->base + at < (const char *)view->records) {
        return NULL;
    }
    size_t offset = (size_t)(chunks->base + at - (const char *)view->records);
    const fd_string *string = (const fd_string *)(chunks->base + at);
    return offset + sizeof *string <= view->used
                   && string->size < view->used - offset - sizeof *string
               ? string
               : NULL;
}
