#include "capture/process/thread_names.h"

#include "capture/process/guard.h"
#include "capture/python/utf8_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
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

void
fd_fold_digits(const char *from, char *to, size_t capacity)
{
    size_t size = 0;
    for (; *from != '\0' && size < capacity - 1; from++) {
        bool digit = isdigit((unsigned char)*from) != 0;
        if (!digit) {
            to[size++] = *from;
        }
        else if (size == 0 || to[size - 1] != '*') {
            to[size++] = '*';
        }
    }
    to[size] = '\0';
}

void
fd_role_of(const char *python_name, const char *system_name,
           char role[FD_ROLE_SIZE])
{
    static const char autograd[] = "pt_autograd_";
    if (python_name != NULL) {
        if (strcmp(python_name, "MainThread") == 0) {
            snprintf(role, FD_ROLE_SIZE, "main");
        }
        else if (strstr(python_name, "_pin_memory_loop") != NULL) {
            snprintf(role, FD_ROLE_SIZE, "pin-memory");
        }
        else {
            fd_fold_digits(python_name, role, FD_ROLE_SIZE);
        }
    }
    else if (strncmp(system_name, autograd, sizeof autograd - 1) == 0) {
        snprintf(role, FD_ROLE_SIZE, "autograd:%s",
                 system_name + sizeof autograd - 1);
    }
    else {
        fd_fold_digits(system_name, role, FD_ROLE_SIZE);
    }
}
