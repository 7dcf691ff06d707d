#include "module/progress_binding.h"

bool
fd_report_progress(void *context, uint64_t done, uint64_t total)
{
    fd_progress_call *progress = context;
    PyGILState_STATE state = PyGILState_Ensure();
    progress->raised = PyErr_CheckSignals() != 0;
    if (!progress->raised && progress->function != Py_None) {
        PyObject *answer = PyObject_CallFunction(progress->function, "KK",
                                                 (unsigned long long)done,
                                                 (unsigned long long)total);
        progress->raised = answer == NULL;
        Py_XDECREF(answer);
    }
    PyGILState_Release(state);
    return !progress->raised;
}
