/* The log of a worker of PaddlePaddle (workerlog.N) as the text of a Chrome
 * trace: a process for its device, with its jobs and its steps. */
#ifndef FD_FROM_PADDLE_H
#define FD_FROM_PADDLE_H

#include "streams/input_stream.h"

/* As fd_timeline_source has them. Lines that begin like a job and are none
 * become the trouble at its end. */
bool fd_timeline_is_paddle(const char *path, const char *head, size_t size);
fd_status fd_timeline_from_paddle(fd_bytes_in *in, const char *path,
                                  fd_error *error);

#endif
