#include "capture/process/thread.h"

#include "base/alloc.h"

#include <errno.h>

/* clang-format off */
__thread fd_thread *fd_thread_self
    __attribute__((tls_model("initial-exec"))) = NULL;
/* clang-format on */

static pthread_key_t at_exit;

static void
free_timers(fd_thread_timers *timers)
{
    if (timers != NULL) {
        fd_vector_clear(&timers->open);
        fd_map_clear(&timers->chosen);
        fd_free(timers);
    }
}

/* Release the tree of a thread that ends, inside its section. While the
 * recording is paused, the tree belongs to the thread that paused it. */
static void
leave_tree(const fd_thread *thread)
{
    if (thread->synced == fd_process_generation()) {
        fd_tree_release(thread->tree);
    }
    else {
        fd_tree_leave(thread->tree);
    }
}

/* Release what a thread holds when it ends. Runs without the GIL. */
static void
leave_thread(void *value)
{
    fd_thread *thread = value;
    fd_section_enter(&thread->section);
    if (thread->tree != NULL && thread->serial == fd_process_serial()) {
        leave_tree(thread);
    }
    fd_section_leave(&thread->section);
    fd_thread_self = NULL;
    fd_sections_remove(&thread->section);
    fd_index_clear(&thread->names);
    free_timers(thread->timers);
    fd_segment_free(thread->segments);
    fd_free(thread);
}

int
fd_thread_init(void)
{
    if (pthread_key_create(&at_exit, leave_thread) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no free pthread key");
        return -1;
    }
    return 0;
}

fd_thread *
fd_thread_get(void)
{
    fd_thread *thread = fd_thread_self;
    if (thread != NULL) {
        return thread;
    }
    int error = errno;
    thread = fd_calloc(1, sizeof *thread);
    if (thread != NULL && pthread_setspecific(at_exit, thread) != 0) {
        fd_free(thread);
        thread = NULL;
    }
    if (thread != NULL) {
        fd_stack_measure(&thread->stack);
        fd_sections_add(&thread->section);
        fd_thread_self = thread;
    }
    errno = error;
    return thread;
}

void
fd_thread_forked(void)
{
    fd_thread *thread = fd_thread_self;
    fd_sections_after_fork_in_child(thread != NULL ? &thread->section : NULL);
}
