/* A native Perfetto trace as the text of a Chrome trace: its table row in
 * events/event_source.c. Read twice: tracks and where arrows begin first. */
#ifndef FD_PERFETTO_READER_H
#define FD_PERFETTO_READER_H

#include "streams/input_stream.h"

/* What the format is called. */
#define FD_PERFETTO_FORMAT "Perfetto"

bool fd_perfetto_matches(const char *path, const char *head, size_t size);

fd_status fd_perfetto_open(fd_bytes_in *in, const char *path, fd_error *error);

#endif
