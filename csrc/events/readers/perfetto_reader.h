/* Reader of native Perfetto traces, with a row in events/event_source.c. It
 * reads the file twice: first for the tracks and the first event of
 * each flow. */
#ifndef FD_PERFETTO_READER_H
#define FD_PERFETTO_READER_H

#include "events/event_maker.h"

/* The name of the format. */
#define FD_PERFETTO_FORMAT "Perfetto"

bool fd_perfetto_matches(const char *path, const char *head, size_t size);

fd_status fd_perfetto_open(fd_timeline_maker *maker, fd_bytes_in *in,
                           const char *path, fd_error *error);

#endif
