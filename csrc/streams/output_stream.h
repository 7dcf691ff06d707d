/* A file that is written piece by piece, plain or gzip, and replaced
 * atomically at the end. Writers append to the text buffer and call
 * fd_bytes_out_flow regularly. */
#ifndef FD_OUTPUT_STREAM_H
#define FD_OUTPUT_STREAM_H

#include "base/buffer.h"

typedef struct fd_bytes_out fd_bytes_out;

/* Open a file for writing; compress it if the name ends in ".gz". On failure,
 * return NULL and set `*status` and the error. */
fd_bytes_out *fd_bytes_out_open(const char *path, fd_status *status,
                                fd_error *error);

/* Return the buffer of text not yet written; borrowed. */
fd_buffer *fd_bytes_out_text(fd_bytes_out *out);

/* Write the buffered text if it is large enough. */
fd_status fd_bytes_out_flow(fd_bytes_out *out, fd_error *error);

/* Finish the file: move it to its path, or remove it. Call exactly one of the
 * two. */
fd_status fd_bytes_out_keep(fd_bytes_out *out, fd_error *error);
void fd_bytes_out_drop(fd_bytes_out *out);

#endif
