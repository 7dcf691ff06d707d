#include "capture/process/thread_timers.h"

#include "base/alloc.h"

void
fd_thread_timers_free(fd_thread_timers *timers)
{
    if (timers != NULL) {
        fd_vector_clear(&timers->open);
        fd_map_clear(&timers->chosen);
        fd_free(timers);
    }
}
