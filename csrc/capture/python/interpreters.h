/* Only the main interpreter may load the module: a process has one evaluator
 * and one active recording. CPython itself refuses, because of the module slot
 * below, in interpreters that check extensions (3.12 and later); in other
 * interpreters, fd_interpreter_check refuses. */
#ifndef FD_INTERPRETERS_H
#define FD_INTERPRETERS_H

#include <Python.h>

#include <stdbool.h>

#if PY_VERSION_HEX >= 0x030C0000 /* the slot is new in 3.12 */
#define FD_ONE_INTERPRETER \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define FD_ONE_INTERPRETER
#endif

static inline bool
fd_interpreter_is_main(void)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* Return 0 in the main interpreter, else -1 with CPython's ImportError. */
static inline int
fd_interpreter_check(void)
{
    if (fd_interpreter_is_main()) {
        return 0;
    }
    PyErr_SetString(PyExc_ImportError,
                    "module fastdispatch._core does not support loading in "
                    "subinterpreters");
    return -1;
}

#endif
