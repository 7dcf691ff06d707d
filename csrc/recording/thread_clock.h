/* The CPU time of any thread of this process, and its waits for a CPU. */
#ifndef FD_THREAD_CLOCK_H
#define FD_THREAD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Read the CPU time in ns of the thread with this kernel id. Return false if
 * it has ended or the system has no such clock. One system call; errno is
 * unchanged. */
bool fd_thread_cpu(uint32_t system_id, uint64_t *ns);

typedef struct fd_thread_turns {
    uint64_t queued; /* ns in which the thread could run, but had no CPU */
    uint64_t slices; /* how often it has been scheduled */
} fd_thread_turns;

/* Read how the thread has been scheduled. Return false if it has ended or the
 * system does not count this. Three system calls; errno is unchanged. */
bool fd_thread_turns_of(uint32_t system_id, fd_thread_turns *turns);

#endif
