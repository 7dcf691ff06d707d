/* Minimum cost of an evaluator hook (PEP 523): it forwards every call, with or
 * without a clock. CPython then no longer inlines Python calls in its
 * evaluation loop. Compiled and called by benchmarks/peers.py with the GIL
 * held. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>

#include "ticks.h"

static PyObject *
pass_on(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing)
{
    return _PyEval_EvalFrameDefault(state, frame, throwing);
}

static PyObject *
pass_on_timed(PyThreadState *state, struct _PyInterpreterFrame *frame,
              int throwing)
{
    charge();
    PyObject *result = _PyEval_EvalFrameDefault(state, frame, throwing);
    charge();
    return result;
}

void
hook(int kind)
{
    _PyInterpreterState_SetEvalFrameFunc(
        PyInterpreterState_Get(), kind == 2   ? pass_on_timed
                                  : kind == 1 ? pass_on
                                              : _PyEval_EvalFrameDefault);
}
