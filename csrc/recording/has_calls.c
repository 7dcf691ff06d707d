#include "recording/has_calls.h"

#include "base/folder.h"
#include "recording/recording_format.h"

/* One call is enough; a chunk of contexts is read block by block. */
static bool
chunk_has_call(int fd, const fd_chunk *chunk, size_t at)
{
    fd_context block[FD_PAGE / sizeof(fd_context)];
    size_t left = chunk->used;
    at += sizeof *chunk;
    while (left > 0) {
        size_t got = fd_read_at(fd, block, sizeof block, at) / sizeof *block;
        got = got < left ? got : left;
        for (size_t i = 0; i < got; i++) {
            if (block[i].parent != 0
                && (block[i].calls > 0 || block[i].resumes > 0)) {
                return true;
            }
        }
        if (got == 0) {
            return false;
        }
        left -= got;
        at += got * sizeof *block;
    }
    return false;
}

bool
fd_has_call(int fd)
{
    struct stat info;
    fd_chunk chunk;
    size_t at = FD_PAGE;
    if (fstat(fd, &info) != 0) {
        return true;
    }
    size_t size = (size_t)info.st_size;
    while (at < size
           && fd_read_at(fd, &chunk, sizeof chunk, at) == sizeof chunk) {
        bool good = chunk.magic == FD_CHUNK_MAGIC && chunk.offset == at
                 && chunk.bytes >= FD_PAGE && chunk.bytes <= size - at
                 && chunk.bytes % FD_PAGE == 0;
        if (good && chunk.kind == FD_CHUNK_CONTEXTS
            && chunk_has_call(fd, &chunk, at)) {
            return true;
        }
        at += good ? chunk.bytes : FD_PAGE;
    }
    return false;
}
