/* Read-side critical sections of threads that hold no lock, in the manner of
 * RCU: entering one costs two stores, and the cost of synchronisation falls on
 * the thread that withdraws shared data, which is rare.
 *
 * The protocol:
 *  1. A thread touches shared data only between fd_section_enter and
 *     fd_section_leave, and only if it has read there, after entering, that
 *     the data is still published. Inside it waits for nothing but a short
 *     mutex, never for the GIL.
 *  2. To withdraw data, a thread first changes the pointer or generation that
 *     publishes it, then calls fd_sections_wait. When that returns true, every
 *     thread that saw the old state has left its section.
 *  3. Only then may other threads write, reuse or free the data. After false
 *     (a thread is stuck inside, for example under a debugger), the data is
 *     never changed, reused or freed.
 *
 * The store of fd_section_enter must be visible before the load that follows
 * it. membarrier(2) makes the waiting side pay for that; where the kernel
 * refuses it, and under ThreadSanitizer, the entering side does. */
#ifndef FD_SECTIONS_H
#define FD_SECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>

/* A thread's section; it is registered as long as the thread lives. */
typedef struct fd_section {
    _Atomic bool inside;
    struct fd_section *next;
} fd_section;

/* Whether the waiting side orders the memory accesses of all threads. */
extern bool fd_sections_asymmetric;

/* Call it once per process, and again in a forked child. */
void fd_sections_init(void);

void fd_sections_add(fd_section *section);
void fd_sections_remove(fd_section *section);

/* Wait until every section except `own` (which may be NULL) has been left once
 * since the call began. Return false if one was not left within a second. */
bool fd_sections_wait(const fd_section *own);

/* Call these around fork, so that the list is consistent in the child, which
 * has one thread. `own` is the section of that thread, NULL if it has none. */
void fd_sections_before_fork(void);
void fd_sections_after_fork_in_parent(void);
void fd_sections_after_fork_in_child(fd_section *own);

static inline void
fd_section_enter(fd_section *section)
{
    if (__builtin_expect(fd_sections_asymmetric, true)) {
        atomic_store_explicit(&section->inside, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
    }
    else {
        atomic_exchange_explicit(&section->inside, true, memory_order_seq_cst);
    }
}

static inline void
fd_section_leave(fd_section *section)
{
    atomic_store_explicit(&section->inside, false, memory_order_release);
}

#endif
