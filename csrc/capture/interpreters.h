/* The module slot that says how many interpreters may load us: one evaluator,
 * one active recording, so one. */
#ifndef FD_INTERPRETERS_H
#define FD_INTERPRETERS_H

#include <Python.h>

#if PY_VERSION_HEX >= 0x030C0000 /* the slot is new in 3.12 */
#define FD_ONE_INTERPRETER                                                    \
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define FD_ONE_INTERPRETER
#endif

#endif
