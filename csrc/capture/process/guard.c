#include "capture/process/guard.h"

/* Call torch._C._dynamo.eval_frame.set_eval_frame(callback), a C function.
 * Return the previous callback, or NULL. */
static PyObject *
callback_exchange(PyObject *callback)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(),
                                            "torch._C._dynamo.eval_frame");
    PyObject *set =
        module == NULL || !PyModule_CheckExact(module)
            ? NULL
            : PyDict_GetItemString(PyModule_GetDict(module), "set_eval_frame");
    PyObject *before = set == NULL || !PyCFunction_Check(set)
                         ? NULL
                         : PyObject_CallOneArg(set, callback);
    PyErr_Clear();
    return before;
}

PyObject *
fd_compiler_pause(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter)
        == _PyEval_EvalFrameDefault) {
        return NULL; /* no tool has set an evaluator */
    }
    PyObject *before = callback_exchange(Py_None);
    if (before == Py_None) {
        Py_CLEAR(before);
    }
    return before;
}

void
fd_compiler_resume(PyObject *callback)
{
    if (callback != NULL) {
        Py_XDECREF(callback_exchange(callback));
        Py_DECREF(callback);
    }
}
