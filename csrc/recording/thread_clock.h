/* The CPU time of any thread of this process. */
#ifndef FD_THREAD_CLOCK_H
#define FD_THREAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The CPU time of the thread with this id of the kernel, ns; false if it has
 * ended, or the system has no such clock. A system call; errno is unchanged. */
bool fd_thread_cpu(uint32_t system_id, uint64_t *ns);

#endif
