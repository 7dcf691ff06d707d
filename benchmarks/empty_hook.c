/* Minimum cost of an evaluator hook (PEP 523): it forwards every call.
 * CPython then no longer inlines Python calls in its evaluation loop.
 * Compiled and called by benchmarks/peers.py with the GIL held. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <internal/pycore_frame.h>

static PyObject *
pass_on(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing)
{
    return _PyEval_EvalFrameDefault(state, frame, throwing);
}

void
hook(int on)
{
    _PyInterpreterState_SetEvalFrameFunc(
        PyInterpreterState_Get(), on ? pass_on : _PyEval_EvalFrameDefault);
}
