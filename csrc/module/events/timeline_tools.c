/* timeline_check(). */
#include "module/events/timeline_binding.h"

#include "events/tools/timeline_check.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

static PyObject *
position_rows(const fd_fault_position *places)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < FD_FAULT_POSITIONS; i++) {
        if (places[i].byte == 0 && places[i].event == 0) {
            break;
        }
        list = fd_list_with(
            list, Py_BuildValue("{s:K,s:K}", "byte",
                                (unsigned long long)places[i].byte, "event",
                                (unsigned long long)places[i].event));
    }
    return list;
}

static PyObject *
fault_rows(const fd_faults *faults)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < FD_FAULT_KINDS; i++) {
        const fd_fault_text *text = &fd_fault_texts[i];
        char what[FD_FAULT_TEXT];
        if (faults->count[i] == 0) {
            continue;
        }
        fd_fault_describe((fd_fault)i, faults->count[i], what);
        list = fd_list_with(
            list, Py_BuildValue("{s:s,s:O,s:K,s:s,s:s,s:N}", "kind", text->id,
                                "broken", text->broken ? Py_True : Py_False,
                                "count", (unsigned long long)faults->count[i],
                                "what", what, "remedy", text->remedy, "first",
                                position_rows(faults->first[i])));
    }
    return list;
}

static PyObject *
check_answer(const fd_check *check)
{
    return Py_BuildValue(
        "{s:O,s:K,s:K,s:K,s:I,s:s,s:N}", "whole",
        fd_faults_broken(&check->faults) == 0 ? Py_True : Py_False, "events",
        (unsigned long long)check->events, "lost_bytes",
        (unsigned long long)check->lost_bytes, "left_out",
        (unsigned long long)check->left_out, "passes", (unsigned)check->passes,
        "trouble", check->trouble, "faults", fault_rows(&check->faults));
}

PyObject *
fd_timeline_check_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "progress", NULL};
    PyObject *path = NULL;
    fd_progress_call progress = {.function = Py_None};
    fd_check_request request = {.progress = fd_report_progress,
                                .context = &progress};
    fd_check check;
    fd_error error = {""};
    fd_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$O:timeline_check",
                                     names, PyUnicode_FSConverter, &path,
                                     &progress.function)) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
        status = fd_timeline_check_file(PyBytes_AS_STRING(path), &request,
                                        &check, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return progress.raised ? NULL
         : status == FD_OK ? check_answer(&check)
                           : fd_raise(module, status, &error);
}
