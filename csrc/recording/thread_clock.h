/* The CPU time of any thread of this process. */
#ifndef FD_THREAD_CLOCK_H
#define FD_THREAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Read the CPU time in ns of the thread with this kernel id. Return false if
 * it has ended or the system has no such clock. One system call; errno is
 * unchanged. */
bool fd_thread_cpu(uint32_t system_id, uint64_t *ns);

#endif
