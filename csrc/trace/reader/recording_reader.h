/* From a recording file to a trace. */
#ifndef FD_RECORDING_READER_H
#define FD_RECORDING_READER_H

#include "trace/trace.h"

/* Read a recording, finished, live or left by a killed process. What is
 * damaged is left out and named in the rank's notes; paths whose beginning is
 * lost hang below <lost>. The trace is sorted. The timeline, 24 bytes an event,
 * is read only where it is wanted: from the side file too, which lies beside the
 * recording; what is missing of that is counted, and named in the notes. */
fd_status fd_reader_read(fd_trace **trace, const char *path, bool timeline,
                         fd_error *error);

/* The same for a recording that this process has in memory. */
fd_status fd_reader_read_memory(fd_trace **trace, const void *base,
                                size_t size, bool timeline, fd_error *error);

/* And with its side file, which has no bytes where there is none. */
typedef struct fd_memory {
    const void *base;
    size_t size;
} fd_memory;

fd_status fd_reader_read_memories(fd_trace **trace, fd_memory recording,
                                  fd_memory spill, bool timeline,
                                  fd_error *error);

#endif
