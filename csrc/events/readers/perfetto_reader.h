/* The events of a native Perfetto trace: its row in events/event_source.c. The
 * file is read twice: first for tracks and for where flows begin. */
#ifndef FD_PERFETTO_READER_H
#define FD_PERFETTO_READER_H

#include "events/event_maker.h"

/* The name of the format. */
#define FD_PERFETTO_FORMAT "Perfetto"

bool fd_perfetto_matches(const char *path, const char *head, size_t size);

fd_status fd_perfetto_open(fd_timeline_maker *maker, fd_bytes_in *in,
                           const char *path, fd_error *error);

#endif
