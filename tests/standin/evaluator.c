/* Another user of PEP 523, as a debugger or a compiler is one: it puts its
 * evaluator in front of whatever is there, and hands every frame on. */
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

/* Restores what it found if it is in front, as Dynamo does. */
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

/* 0: CPython's own evaluator is in front, 1: this one, 2: another. */
int
standin_top(void)
{
    _PyFrameEvalFunction top =
        _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
    return top == _PyEval_EvalFrameDefault ? 0 : top == evaluate ? 1 : 2;
}
