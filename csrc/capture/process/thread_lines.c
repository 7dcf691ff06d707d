#include "capture/process/thread_lines.h"

#include "base/alloc.h"

void
fd_thread_lines_free(fd_thread_lines *lines)
{
    if (lines != NULL) {
        fd_vector_clear(&lines->open);
        fd_free(lines);
    }
}
