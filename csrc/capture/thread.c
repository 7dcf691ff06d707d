#include "capture/thread.h"

#include "base/alloc.h"
#include "capture/roles.h"
#include "capture/session.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Of the C stack, this much stays for what the program itself does. Half,
 * because CPython's own limits assume a whole stack for C recursion. */
enum { MIN_STACK_LEFT = 256 * 1024 };

__thread fd_thread *fd_thread_self
    __attribute__((tls_model("initial-exec"))) = NULL;

static pthread_key_t at_exit;

/* Runs when a thread ends, without the GIL. */
static void
leave(void *value)
{
    fd_thread *thread = value;
    fd_thread_self = NULL;
    const fd_session *active = fd_process_active();
    if (active != NULL && thread->serial == active->serial
        && thread->tree != NULL) {
        fd_tree_release(thread->tree);
    }
    fd_index_clear(&thread->names);
    fd_marks_free(thread->marks);
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

static const char *
lowest_stack_address(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return NULL;
    }
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    size_t left = size / 2 > MIN_STACK_LEFT ? size / 2 : MIN_STACK_LEFT;
    return (const char *)low + left;
}

fd_thread *
fd_thread_get(void)
{
    fd_thread *thread = fd_thread_self;
    if (thread != NULL) {
        return thread;
    }
    thread = fd_calloc(1, sizeof *thread);
    if (thread == NULL) {
        return NULL;
    }
    if (pthread_setspecific(at_exit, thread) != 0) {
        fd_free(thread);
        return NULL;
    }
    thread->stack_low = lowest_stack_address();
    fd_thread_self = thread;
    return thread;
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
