#include "trace/reader/file_chunks.h"

#include "trace/reader/chunk_scan.h"

#include <string.h>
#include <unistd.h>

/* The bounds of the format; bytes beyond them are ignored. */
static const size_t MOST = (size_t)FD_MAX_MB << 20;

bool
fd_chunks_match(const void *bytes, size_t size)
{
    return size >= sizeof(FD_FILE_MAGIC) - 1
        && memcmp(bytes, FD_FILE_MAGIC, sizeof(FD_FILE_MAGIC) - 1) == 0;
}

static fd_status
open_file(fd_chunks *chunks, const char *path, fd_error *error)
{
    struct stat info;
    fd_header header;
    fd_status status = fd_open_to_read(path, &chunks->fd, &info, error);
    if (status != FD_OK) {
        return status;
    }
    if (info.st_size == 0) {
        return fd_fail(error, FD_EFORMAT, "%s: the file is empty", path);
    }
    /* The size is read after that: without a writer it no longer grows. */
    chunks->writer = fd_writer_of(chunks->fd, &header);
    fstat(chunks->fd, &info);
    chunks->size = (size_t)info.st_size < MOST ? (size_t)info.st_size : MOST;
    chunks->capacity = chunks->size;
    /* A live recording can grow up to its own bound while it is read. */
    if (chunks->writer != FD_WRITER_GONE
        && header.max_bytes > chunks->capacity) {
        chunks->capacity = header.max_bytes < MOST ? header.max_bytes : MOST;
    }
    return FD_OK;
}

static fd_status
check_header(const fd_chunks *chunks, const char *path, fd_error *error)
{
    const fd_header *header = fd_chunks_header(chunks);
    if (!fd_chunks_match(chunks->base, chunks->size)) {
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

/* Allocate the copy, and read the header into it. */
static fd_status
start_copy(fd_chunks *chunks)
{
    size_t capacity = chunks->capacity < FD_PAGE ? FD_PAGE : chunks->capacity;
    size_t pages = (capacity + FD_PAGE - 1) / FD_PAGE;
    chunks->base = fd_calloc(pages, FD_PAGE);
    chunks->by_page = fd_calloc(pages, sizeof *chunks->by_page);
    if (chunks->base == NULL || chunks->by_page == NULL) {
        return FD_ENOMEM;
    }
    fd_chunks_take(chunks, chunks->base, sizeof(fd_header), 0);
    chunks->next = FD_PAGE;
    return FD_OK;
}

static fd_status
check_chunks(fd_chunks *chunks, const char *name, fd_error *error)
{
    fd_status status = start_copy(chunks);
    if (status == FD_OK) {
        status = check_header(chunks, name, error);
        if (status != FD_OK) {
            return status;
        }
    }
    fd_then(status, fd_chunks_scan(chunks));
    return status == FD_OK ? FD_OK
                           : fd_fail(error, status, "%s: out of memory", name);
}

static fd_status
chunks_opened(fd_chunks *chunks, fd_status status, const char *name,
              fd_error *error)
{
    fd_then(status, check_chunks(chunks, name, error));
    if (status != FD_OK) {
        fd_chunks_close(chunks);
    }
    return status;
}

fd_status
fd_chunks_open(fd_chunks *chunks, const char *path, fd_chunks_part part,
               fd_error *error)
{
    *chunks = (fd_chunks){.fd = -1, .part = part};
    return chunks_opened(chunks, open_file(chunks, path, error), path, error);
}

fd_status
fd_chunks_view(fd_chunks *chunks, const void *base, size_t size,
               fd_error *error)
{
    *chunks = (fd_chunks){.memory = base,
                          .size = size,
                          .capacity = size,
                          .fd = -1,
                          .writer = FD_WRITER_LIVES};
    return chunks_opened(chunks, FD_OK, "this recording", error);
}

void
fd_chunks_close(fd_chunks *chunks)
{
    if (chunks->fd >= 0) {
        close(chunks->fd);
    }
    fd_free(chunks->base);
    fd_free(chunks->by_page);
    fd_free(chunks->events);
    fd_vector_clear(&chunks->found);
    fd_vector_clear(&chunks->list);
    *chunks = (fd_chunks){.fd = -1};
}

static const fd_chunk_view *
chunk_at(const fd_chunks *chunks, uint32_t kind, size_t at)
{
    uint32_t index = at < chunks->size && chunks->by_page != NULL
                       ? chunks->by_page[at / FD_PAGE]
                       : 0;
    if (index == 0 || chunks->list.list[index - 1].header.kind != kind) {
        return NULL;
    }
    return &chunks->list.list[index - 1];
}

/* Find the chunk that contains the record of an id, and the index of the
 * record. */
static const fd_chunk_view *
find_record(const fd_chunks *chunks, uint32_t kind, uint32_t id,
            uint32_t *index)
{
    size_t at = (size_t)id * FD_ID_UNIT;
    const fd_chunk_view *view = id == 0 ? NULL : chunk_at(chunks, kind, at);
    if (view == NULL || view->records == NULL
        || chunks->base + at < (const char *)view->records) {
        return NULL;
    }
    size_t offset = (size_t)(chunks->base + at - (const char *)view->records);
    size_t record = view->header.record_bytes;
    *index = (uint32_t)(offset / record);
    return offset % record == 0 && *index < view->used ? view : NULL;
}

const void *
fd_chunks_record(const fd_chunks *chunks, uint32_t kind, uint32_t id)
{
    uint32_t index;
    return find_record(chunks, kind, id, &index) != NULL
             ? chunks->base + (size_t)id * FD_ID_UNIT
             : NULL;
}

uint32_t
fd_chunks_index(const fd_chunks *chunks, uint32_t kind, uint32_t id)
{
    uint32_t index;
    const fd_chunk_view *view = find_record(chunks, kind, id, &index);
    return view != NULL ? view->before + index + 1 : 0;
}

const fd_string *
fd_chunks_string(const fd_chunks *chunks, uint32_t id)
{
    size_t at = (size_t)id * FD_STRING_UNIT;
    const fd_chunk_view *view =
        id == 0 ? NULL : chunk_at(chunks, FD_CHUNK_STRINGS, at);
    if (view == NULL || view->records == NULL
        || chunks->base + at < (const char *)view->records) {
        return NULL;
    }
    size_t offset = (size_t)(chunks->base + at - (const char *)view->records);
    const fd_string *string = (const fd_string *)(chunks->base + at);
    return offset + sizeof *string <= view->used
                && string->size < view->used - offset - sizeof *string
             ? string
             : NULL;
}
