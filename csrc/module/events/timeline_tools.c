/* timeline_check() and timeline_cut(), for one file each. */
#include "module/events/timeline_binding.h"

#include "events/tools/timeline_check.h"
#include "events/tools/timeline_cut.h"
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
    static char *names[] = {"path", "progress", "privacy", NULL};
    PyObject *path = NULL;
    fd_private private = {.requested = false};
    fd_progress_call progress = {.function = Py_None};
    fd_check_request request = {.progress = fd_report_progress,
                                .context = &progress};
    fd_check check;
    fd_error error = {""};
    fd_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$OO&:timeline_check",
                                     names, PyUnicode_FSConverter, &path,
                                     &progress.function, fd_take_private,
                                     &private)) {
        return NULL;
    }
    request.privacy = fd_private_options(&private);
    Py_BEGIN_ALLOW_THREADS
        status = fd_timeline_check_file(PyBytes_AS_STRING(path), &request,
                                        &check, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    return progress.raised ? NULL
         : status == FD_OK ? check_answer(&check)
                           : fd_raise(module, status, &error);
}

static PyObject *
cut_answer(const fd_cut_result *cut)
{
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:s}",
        "events", (unsigned long long)cut->events, "kept",
        (unsigned long long)cut->kept, "rows", (unsigned long long)cut->rows,
        "flows_left", (unsigned long long)cut->flows_left, "timeless",
        (unsigned long long)cut->timeless, "lost",
        (unsigned long long)cut->lost, "lost_bytes",
        (unsigned long long)cut->lost_bytes, "repaired",
        (unsigned long long)cut->repaired, "aside",
        (unsigned long long)cut->native.aside, "crossed",
        (unsigned long long)cut->native.crossed, "alone",
        (unsigned long long)cut->native.alone, "skipped",
        (unsigned long long)cut->native.skipped, "early",
        (unsigned long long)cut->native.early, "others",
        (unsigned long long)cut->native.others, "trouble", cut->trouble);
}

/* Convert a bound of the window; None: no bound. */
static bool
take_bound(PyObject *object, int64_t none, int64_t *bound)
{
    long long number = object == Py_None ? none : PyLong_AsLongLong(object);
    *bound = number;
    return PyErr_Occurred() == NULL;
}

PyObject *
fd_timeline_cut_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path",  "output",   "begin",   "end",
                            "steps", "progress", "privacy", NULL};
    PyObject *path = NULL;
    PyObject *output = NULL;
    fd_private private = {.requested = false};
    PyObject *from;
    PyObject *to;
    int steps = 0;
    fd_progress_call progress = {.function = Py_None};
    fd_cut_request request = {.progress = fd_report_progress,
                              .context = &progress};
    fd_cut_result cut;
    fd_error error = {""};
    fd_status status;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&OO|$pOO&:timeline_cut", names,
            PyUnicode_FSConverter, &path, PyUnicode_FSConverter, &output,
            &from, &to, &steps, &progress.function, fd_take_private, &private)
        && take_bound(from, FD_CUT_FROM_START, &request.from)
        && take_bound(to, FD_CUT_TO_END, &request.to)) {
        request.path = PyBytes_AS_STRING(path);
        request.output = PyBytes_AS_STRING(output);
        request.steps = steps != 0;
        request.privacy = fd_private_options(&private);
        Py_BEGIN_ALLOW_THREADS
            status = fd_timeline_cut(&request, &cut, &error);
        Py_END_ALLOW_THREADS
        made = progress.raised ? NULL
             : status == FD_OK ? cut_answer(&cut)
                               : fd_raise(module, status, &error);
    }
    Py_XDECREF(path);
    Py_XDECREF(output);
    return made;
}
