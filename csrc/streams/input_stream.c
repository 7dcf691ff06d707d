#include "streams/input_stream.h"

#include "base/budget.h"
#include "base/folder.h"
#include "base/poison.h"
#include "streams/zlib_memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    BLOCK = 1 << 18,
    PACKED = 1 << 16,
    LONGEST_TEXT = 64,
    /* Content beyond this size may be this many times as large as its file.
     * Traces reach 100, gzip 1032. */
    ALWAYS_UNPACKED = 1 << 28,
    MOST_TIMES = 500
};

struct fd_unpacking {
    z_stream stream;
    unsigned char packed[PACKED];
};

static size_t
read_file(fd_bytes_in *in, void *to, size_t capacity)
{
    ssize_t got;
    do {
        got = read(in->fd, to, capacity);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        in->trouble = "reading it failed";
        return 0;
    }
    in->read += (uint64_t)got;
    return (size_t)got;
}

static fd_status
start_unpacking(fd_bytes_in *in)
{
    fd_unpacking *u = fd_malloc(sizeof *u);
    if (u == NULL) {
        return FD_ENOMEM;
    }
    u->stream = fd_zlib_stream();
    if (inflateInit2(&u->stream, 15 + 16) != Z_OK) {
        fd_free(u);
        return FD_ENOMEM;
    }
    in->unpacking = u;
    return FD_OK;
}

/* Start the next gzip member. A file consists of one or more consecutive
 * members; anything after them is padding. */
static bool
next_member(fd_bytes_in *in, z_stream *stream)
{
    if (stream->avail_in == 0) {
        stream->next_in = in->unpacking->packed;
        stream->avail_in =
            (unsigned)read_file(in, in->unpacking->packed, PACKED);
    }
    return stream->avail_in > 0 && stream->next_in[0] == 0x1F
        && inflateReset(stream) == Z_OK;
}

/* Refuse a small file that unpacks to an endless one. */
static bool
is_sound_size(fd_bytes_in *in, size_t got)
{
    in->unpacked += got;
    if (in->unpacked > fd_budget(ALWAYS_UNPACKED)
        && in->unpacked / MOST_TIMES > in->read) {
        in->status = fd_fail(in->error, FD_EFORMAT,
                             "%s: the gzip data unpacks to more than %d times "
                             "its size",
                             in->path, MOST_TIMES);
    }
    return in->status == FD_OK;
}

static size_t
unpack_bytes(fd_bytes_in *in, char *to, size_t capacity)
{
    z_stream *stream = &in->unpacking->stream;
    stream->next_out = (unsigned char *)to;
    stream->avail_out = (unsigned)capacity;
    while (stream->avail_out > 0) {
        if (stream->avail_in == 0) {
            stream->next_in = in->unpacking->packed;
            stream->avail_in =
                (unsigned)read_file(in, in->unpacking->packed, PACKED);
        }
        int answer = inflate(stream, Z_NO_FLUSH);
        if (answer == Z_STREAM_END) {
            if (!next_member(in, stream)) {
                break;
            }
        }
        else if (answer == Z_MEM_ERROR) {
            in->status = FD_ENOMEM;
            break;
        }
        else if (answer != Z_OK) {
            bool cut = answer == Z_BUF_ERROR && in->trouble == NULL;
            in->trouble = cut                 ? "the gzip data is cut short"
                        : in->trouble != NULL ? in->trouble
                                              : "the gzip data is corrupt";
            break;
        }
    }
    in->ended = in->ended || stream->avail_out > 0;
    capacity -= stream->avail_out;
    return is_sound_size(in, capacity) ? capacity : 0;
}

/* Make space by dropping the bytes before `at`; if that is not enough, grow
 * the window. */
static bool
make_room(fd_bytes_in *in)
{
    size_t kept = (size_t)(in->end - in->at);
    in->before += (uint64_t)(in->at - in->window);
    memmove(in->window, in->at, kept);
    in->at = in->window;
    in->end = in->window + kept;
    if (kept <= in->capacity / 2) {
        return true;
    }
    if (in->capacity >= in->most) {
        return kept < in->capacity;
    }
    char *window = fd_realloc(in->window, 2 * in->capacity);
    if (window == NULL) {
        in->status = FD_ENOMEM;
        return false;
    }
    in->window = window;
    in->capacity *= 2;
    in->at = window;
    in->end = window + kept;
    return true;
}

static bool
read_more(fd_bytes_in *in)
{
    if (in->ended || in->status != FD_OK || !make_room(in)) {
        return false;
    }
    size_t kept = (size_t)(in->end - in->window);
    char *to = in->window + kept;
    size_t capacity = in->capacity - kept;
    size_t got = in->unpacking != NULL ? unpack_bytes(in, to, capacity)
                                       : read_file(in, to, capacity);
    in->end += got;
    in->ended = in->ended || got == 0;
    return got > 0;
}

bool
fd_bytes_in_more(fd_bytes_in *in)
{
    FD_UNPOISON(in->window, in->capacity);
    bool any = read_more(in);
    FD_POISON(in->end, in->capacity - (size_t)(in->end - in->window));
    return any;
}

static bool
is_packed(int fd)
{
    unsigned char magic[2];
    return pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1F && magic[1] == 0x8B;
}

fd_status
fd_bytes_in_open(fd_bytes_in *in, const char *path, fd_error *error)
{
    struct stat info;
    *in = (fd_bytes_in){.fd = -1, .path = path, .error = error};
    fd_status status = fd_open_to_read(path, &in->fd, &info, error);
    if (status != FD_OK) {
        return status;
    }
    in->size = (uint64_t)info.st_size;
    in->capacity = fd_budget(BLOCK);
    in->most = fd_budget(FD_BYTES_IN_MOST);
    in->window = fd_malloc(in->capacity);
    in->at = in->end = in->window;
    return in->window == NULL ? FD_ENOMEM
         : is_packed(in->fd)  ? start_unpacking(in)
                              : FD_OK;
}

void
fd_bytes_in_close(fd_bytes_in *in)
{
    if (in->unpacking != NULL) {
        inflateEnd(&in->unpacking->stream);
    }
    fd_free(in->unpacking);
    FD_UNPOISON(in->window, in->capacity);
    fd_free(in->window);
    if (in->fd >= 0) {
        close(in->fd);
    }
    *in = (fd_bytes_in){.fd = -1};
}

bool
fd_bytes_in_find(fd_bytes_in *in, const char *const *texts, size_t count)
{
    do {
        size_t size = (size_t)(in->end - in->at);
        for (size_t i = 0; i < count; i++) {
            if (memmem(in->at, size, texts[i], strlen(texts[i])) != NULL) {
                return true;
            }
        }
        /* A text may span the end of the window. */
        in->at = size > LONGEST_TEXT ? in->end - LONGEST_TEXT : in->at;
    } while (fd_bytes_in_more(in));
    return false;
}
