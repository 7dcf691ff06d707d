#include "capture/frames/thread_names.h"

#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"

#include <sys/syscall.h>
#include <unistd.h>

PyObject *
fd_thread_name(fd_thread *thread, fd_frame *caller, fd_frame *frame)
{
    fd_frame *outermost = frame; /* not linked yet: `previous` is invalid */
    for (fd_frame *at = caller; at != NULL;
         at = fd_frame_python(at->previous)) {
        outermost = at;
    }
    const PyCodeObject *code =
        outermost != NULL ? fd_frame_code(outermost) : NULL;
    if (code == NULL
        || PyUnicode_CompareWithASCIIString(code->co_name, "_bootstrap") != 0
        || fd_frame_local(outermost, 0) == NULL) {
        return NULL;
    }
    fd_guard guard = fd_guard_enter(thread);
    PyObject *self = fd_unboxed(fd_frame_local(outermost, 0));
    PyObject *attributes =
        self != NULL ? PyObject_GenericGetDict(self, NULL) : NULL;
    PyObject *name =
        fd_utf8_text_of(attributes != NULL && PyDict_Check(attributes)
                            ? PyDict_GetItemString(attributes, "_name")
                            : NULL);
    PyErr_Clear();
    Py_XDECREF(attributes); /* the thread object keeps a reference */
    fd_guard_leave(&guard);
    return name;
}

bool
fd_thread_is_main(void)
{
    return syscall(SYS_gettid) == getpid();
}
