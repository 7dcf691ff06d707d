/* Reader of the log of a PaddlePaddle worker (workerlog.N): one process per
 * device, with its jobs and steps. */
#ifndef FD_FROM_PADDLE_H
#define FD_FROM_PADDLE_H

#include "events/event_maker.h"

/* See fd_timeline_source. Malformed job lines are reported as `trouble` at the
 * end. */
bool fd_timeline_is_paddle(const char *path, const char *head, size_t size);
fd_status fd_timeline_from_paddle(fd_timeline_maker *maker, fd_bytes_in *in,
                                  const char *path, fd_error *error);

#endif
