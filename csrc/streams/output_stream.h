/* A file that is written piece by piece, plain or gzip, and appears as a
 * whole. Writers append to `text` and call fd_bytes_out_flow now and then. */
#ifndef FD_OUTPUT_STREAM_H
#define FD_OUTPUT_STREAM_H

#include "base/buffer.h"

typedef struct fd_bytes_out fd_bytes_out;

/* gzip when the name ends in ".gz". NULL with `*status` and the error. */
fd_bytes_out *fd_bytes_out_open(const char *path, fd_status *status,
                                fd_error *error);

/* The text that is not written yet; borrowed. */
fd_buffer *fd_bytes_out_text(fd_bytes_out *out);

/* Write the text once there is enough of it. */
fd_status fd_bytes_out_flow(fd_bytes_out *out, fd_error *error);

/* Exactly one of these ends it: move the file to its path, or remove it. */
fd_status fd_bytes_out_keep(fd_bytes_out *out, fd_error *error);
void fd_bytes_out_drop(fd_bytes_out *out);

#endif
