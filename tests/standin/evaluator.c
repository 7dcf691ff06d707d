/* Another user of PEP 523, like a debugger or a compiler: it installs its
 * evaluator in front of the existing one, and passes every frame on. */
#include <Python.h>

static _PyFrameEvalFunction before;
static long frames;

static PyObject *
evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame, int throwing)
{
    frames++;
    return before(state, frame, throwing);
}

void
standin_push(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate) {
        before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    }
}

/* Restores the earlier evaluator if it is in front, like Dynamo. */
void
standin_pop(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, before);
    }
}

long
standin_frames(void)
{
    return frames;
}

/* The evaluator in front; 0: CPython's own, 1: this one, 2: another. */
int
standin_top(void)
{
    _PyFrameEvalFunction top =
        _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
    return top == _PyEval_EvalFrameDefault ? 0 : top == evaluate ? 1 : 2;
}
