/* Only the main interpreter may load the module: there is one evaluator, one
 * active recording. An interpreter with extensions that are checked (3.12 and
 * later) is refused by CPython, for the slot; any other by
 * fd_interpreter_check. */
#ifndef FD_INTERPRETERS_H
#define FD_INTERPRETERS_H

#include <Python.h>

#if PY_VERSION_HEX >= 0x030C0000 /* the slot is new in 3.12 */
#define FD_ONE_INTERPRETER \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define FD_ONE_INTERPRETER
#endif

/* -1 with CPython's ImportError in any interpreter but the main one. */
static inline int
fd_interpreter_check(void)
{
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
        return 0;
    }
    PyErr_SetString(PyExc_ImportError,
                    "module fastdispatch._core does not support loading in "
                    "subinterpreters");
    return -1;
}

#endif
