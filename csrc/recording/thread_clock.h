/* The CPU time of any thread of this process, its waits for a CPU, and the
 * work of the process with its descendants, by /proc. */
#ifndef FD_THREAD_CLOCK_H
#define FD_THREAD_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read the CPU time in ns of the thread with this kernel id. Return false if
 * it has ended or the system has no such clock. One system call; errno is
 * unchanged. */
bool fd_thread_cpu(uint32_t system_id, uint64_t *ns);

typedef struct fd_thread_turns {
    uint64_t ran;    /* ns on a CPU */
    uint64_t queued; /* ns in which the thread could run, but had no CPU */
    uint64_t slices; /* how often it has been scheduled */
} fd_thread_turns;

/* Read how the thread has been scheduled. Return false if it has ended or the
 * system does not count this. Three system calls; errno is unchanged. */
bool fd_thread_turns_of(uint32_t system_id, fd_thread_turns *turns);

/* Read a file of /proc into `text`; empty on failure. errno may change. */
void fd_proc_file_read(const char *path, char *text, size_t size);

/* Return the bytes in RAM without mapped files and shared memory, or 0 if
 * unknown. Costs three system calls. errno is unchanged, and there is no
 * cancellation point. */
uint64_t fd_resident_bytes(void);

/* What a process and its descendants have done so far. */
typedef struct fd_process_work {
    uint64_t cpu_ms; /* of all threads except the calling one */
    uint64_t bytes;  /* read and written by system calls */
} fd_process_work;

/* Add the work of this process, without its children that have not ended. */
void fd_process_work_add(fd_process_work *work);

/* Add the work of the processes that a thread of this process has started, and
 * of those that they have started. */
void fd_process_work_add_children(fd_process_work *work, uint32_t system_id);

/* Return whether there was work: more than 2 % of a core, or 1 MB, in a
 * second between both. */
bool fd_process_worked(const fd_process_work *before,
                       const fd_process_work *after);

#endif
