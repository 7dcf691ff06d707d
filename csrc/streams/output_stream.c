#include "streams/output_stream.h"

#include "base/budget.h"
#include "base/new_file.h"
#include "streams/zlib_memory.h"

#include <stdbool.h>
#include <string.h>

enum {
    ENOUGH = 1 << 18,
    PACKED = 1 << 16,
    /* Traces are repetitive: the fastest level compresses them well. */
    LEVEL = 1
};

struct fd_bytes_out {
    fd_new_file file;
    fd_buffer text;
    bool packs;
    z_stream stream;
    unsigned char packed[PACKED];
};

static void
clear_stream(fd_bytes_out *out)
{
    if (out->packs) {
        deflateEnd(&out->stream);
    }
    fd_buffer_clear(&out->text);
    fd_free(out);
}

static fd_status
prepare_packing(fd_bytes_out *out, const char *path)
{
    size_t size = strlen(path);
    if (size < 3 || strcmp(path + size - 3, ".gz") != 0) {
        return FD_OK;
    }
    out->stream = fd_zlib_stream();
    out->packs = deflateInit2(&out->stream, LEVEL, Z_DEFLATED, 15 + 16, 9,
                              Z_DEFAULT_STRATEGY)
              == Z_OK;
    return out->packs ? FD_OK : FD_ENOMEM;
}

fd_bytes_out *
fd_bytes_out_open(const char *path, fd_status *status, fd_error *error)
{
    fd_bytes_out *out = fd_calloc(1, sizeof *out);
    *status = out == NULL ? FD_ENOMEM : prepare_packing(out, path);
    if (*status == FD_OK) {
        *status = fd_new_file_open(&out->file, path, error);
    }
    if (*status != FD_OK && out != NULL) {
        clear_stream(out);
        out = NULL;
    }
    return out;
}

fd_buffer *
fd_bytes_out_text(fd_bytes_out *out)
{
    return &out->text;
}

static fd_status
pack_bytes(fd_bytes_out *out, int flush, fd_error *error)
{
    z_stream *stream = &out->stream;
    stream->next_in = (unsigned char *)out->text.bytes;
    stream->avail_in = (unsigned)out->text.size;
    fd_status status = FD_OK;
    do {
        stream->next_out = out->packed;
        stream->avail_out = PACKED;
        deflate(stream, flush);
        status = fd_new_file_write(&out->file, out->packed,
                                   PACKED - stream->avail_out, error);
    } while (status == FD_OK && stream->avail_out == 0);
    return status;
}

static fd_status
flush_text(fd_bytes_out *out, int how, fd_error *error)
{
    fd_buffer *text = &out->text;
    fd_status status = text->status;
    if (status == FD_OK) {
        status = out->packs ? pack_bytes(out, how, error)
                            : fd_new_file_write(&out->file, text->bytes,
                                                text->size, error);
    }
    text->size = 0;
    return status;
}

fd_status
fd_bytes_out_flow(fd_bytes_out *out, fd_error *error)
{
    return out->text.size < fd_budget(ENOUGH) && out->text.status == FD_OK
             ? FD_OK
             : flush_text(out, Z_NO_FLUSH, error);
}

fd_status
fd_bytes_out_keep(fd_bytes_out *out, fd_error *error)
{
    fd_status status = flush_text(out, Z_FINISH, error);
    if (status == FD_OK) {
        status = fd_new_file_keep(&out->file, error);
    }
    else {
        fd_new_file_drop(&out->file);
    }
    clear_stream(out);
    return status;
}

void
fd_bytes_out_drop(fd_bytes_out *out)
{
    if (out != NULL) {
        fd_new_file_drop(&out->file);
        clear_stream(out);
    }
}
