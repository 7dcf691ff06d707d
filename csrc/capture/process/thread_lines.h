/* The source lines that a thread is executing, one per frame of recorded code:
 * see hooks/source_lines.h. */
#ifndef FD_THREAD_LINES_H
#define FD_THREAD_LINES_H

#include "base/vector.h"
#include "recording/measures/measure_format.h"

typedef struct fd_open_line {
    const void *frame;
    fd_measure *record; /* in the recording; NULL: no space */
    uint64_t start;     /* tick */
} fd_open_line;

typedef struct fd_thread_lines {
    uint32_t generation; /* of the records; lines of earlier generations are
                            invalid */
    FD_VECTOR(fd_open_line) open; /* innermost last */
} fd_thread_lines;

/* Free the lines; NULL is allowed. */
void fd_thread_lines_free(fd_thread_lines *lines);

#endif
