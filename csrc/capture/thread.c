#include "capture/thread.h"

#include "base/alloc.h"
#include "capture/guard.h"
#include "capture/roles.h"
#include "capture/session.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* clang-format off */
__thread fd_thread *fd_thread_self
    __attribute__((tls_model("initial-exec"))) = NULL;
/* clang-format on */

static pthread_key_t at_exit;

/* Runs when a thread ends, without the GIL. */
static void
leave(void *value)
{
    fd_thread *thread = value;
    fd_section_enter(&thread->section);
    const fd_session *active = fd_process_active();
    if (active != NULL && thread->serial == active->serial
        && thread->tree != NULL) {
        fd_tree_release(thread->tree);
    }
    fd_section_leave(&thread->section);
    fd_thread_self = NULL;
    fd_sections_remove(&thread->section);
    fd_index_clear(&thread->names);
    fd_marks_free(thread->marks);
    fd_segment_free(thread->segments);
    fd_free(thread);
}

int
fd_thread_init(void)
{
    if (pthread_key_create(&at_exit, leave) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no free pthread key");
        return -1;
    }
    return 0;
}

/* Half of the stack stays for what the program itself does there. */
static void
measure_stack(fd_thread *thread)
{
    pthread_attr_t attributes;
    void *base = NULL;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &base, &thread->stack_bytes);
        pthread_attr_destroy(&attributes);
        thread->stack_low = (const char *)base + thread->stack_bytes / 2;
    }
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
        measure_stack(thread);
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

/* greenlet copies pieces of what it takes for one stack: with further
 * segments that would be no piece. */
static bool
has_greenlets(fd_thread *thread)
{
    fd_guard guard = fd_guard_enter(thread);
    bool has =
        PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet") != NULL;
    fd_guard_leave(&guard);
    return has;
}

fd_stack_place
fd_thread_deepen(fd_thread *thread)
{
    fd_stack_place before = {thread->segment, thread->stack_low};
    fd_segment **next =
        before.segment == NULL ? &thread->segments : &before.segment->next;
    if (*next == NULL && !has_greenlets(thread)) {
        *next = fd_segment_make(thread->stack_bytes);
    }
    if (*next != NULL) {
        thread->segment = *next;
        thread->stack_low = (*next)->low;
    }
    return before;
}

/* One segment is kept for the next time. */
void
fd_thread_surface(fd_thread *thread, fd_stack_place before)
{
    fd_segment_free(thread->segment->next);
    thread->segment->next = NULL;
    thread->segment = before.segment;
    thread->stack_low = before.low;
}

bool
fd_thread_attach(fd_thread *thread, fd_session *session,
                 const char *python_name)
{
    if (thread->serial == session->serial) {
        return thread->tree != NULL;
    }
    char system_name[16] = "";
    char role[FD_ROLE_SIZE];
    uint32_t id = (uint32_t)syscall(SYS_gettid);
    pthread_getname_np(pthread_self(), system_name, sizeof system_name);
    fd_role_of(id == (uint32_t)getpid() ? "MainThread" : python_name,
               system_name, role);
    thread->session = session;
    thread->serial = session->serial;
    thread->ring = NULL;
    thread->ring_refused = false;
    fd_index_clear(&thread->names);
    thread->tree = fd_tree_attach(session->recording, role, id);
    return thread->tree != NULL;
}
