#include "module/progress_binding.h"

bool
fd_tell(void *context, uint64_t done, uint64_t total)
{
    fd_telling *telling = context;
    PyGILState_STATE state = PyGILState_Ensure();
    telling->raised = PyErr_CheckSignals() != 0;
    if (!telling->raised && telling->progress != Py_None) {
        PyObject *answer = PyObject_CallFunction(telling->progress, "KK",
                                                 (unsigned long long)done,
                                                 (unsigned long long)total);
        telling->raised = answer == NULL;
        Py_XDECREF(answer);
    }
    PyGILState_Release(state);
    return !telling->raised;
}
