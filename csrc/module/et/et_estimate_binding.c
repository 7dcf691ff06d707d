/* et_estimate(). */
#include "module/et/et_binding.h"

#include "base/alloc.h"
#include "et/tools/et_estimate.h"
#include "module/errors.h"

/* What the arguments own. */
typedef struct arguments {
    PyObject *inputs; /* borrowed; list of (path, rank) */
    PyObject *held;   /* names of scales, as they were given */
    fd_et *traces;
    uint32_t count;
    fd_et_scale *scales;
    fd_et_changes changes;
} arguments;

static bool
take_scales(arguments *a, PyObject *list)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    a->held = Py_NewRef(list);
    a->scales = fd_calloc((size_t)count + 1, sizeof *a->scales);
    if (a->scales == NULL) {
        return PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!PyArg_Parse(PyList_GET_ITEM(list, i), "(sd)", &a->scales[i].name,
                         &a->scales[i].factor)) {
            return false;
        }
    }
    a->changes.scales = a->scales;
    a->changes.scale_count = (size_t)count;
    return true;
}

static fd_status
load_one(fd_et *et, const char *path, long long rank, fd_et_ranks *ranks,
         fd_error *error)
{
    fd_et_format format;
    fd_status status = fd_et_load(et, path, FD_ET_ALL_KINDS, &format, error);
    et->rank = et->rank < 0 ? rank : et->rank;
    return status == FD_OK ? fd_et_ranks_add(ranks, et) : status;
}

/* False with an exception. */
static bool
load_all(PyObject *module, arguments *a, fd_et_ranks *ranks)
{
    Py_ssize_t count = PyList_GET_SIZE(a->inputs);
    a->traces = fd_calloc((size_t)count + 1, sizeof *a->traces);
    if (a->traces == NULL) {
        return PyErr_NoMemory() != NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *path = NULL;
        long long rank;
        fd_error error = {""};
        fd_status status;
        if (!PyArg_Parse(PyList_GET_ITEM(a->inputs, i), "(O&L)",
                         PyUnicode_FSConverter, &path, &rank)) {
            return false;
        }
        fd_et *et = &a->traces[a->count++];
        Py_BEGIN_ALLOW_THREADS
            status =
                load_one(et, PyBytes_AS_STRING(path), rank, ranks, &error);
        Py_END_ALLOW_THREADS
        Py_DECREF(path);
        if (status != FD_OK) {
            return fd_raise(module, status, &error) != NULL;
        }
    }
    return true;
}

static PyObject *
text_of(const fd_et_estimate *e, uint32_t text)
{
    return PyUnicode_DecodeUTF8(fd_text_pool_get(&e->texts, text),
                                (Py_ssize_t)fd_text_pool_size(&e->texts, text),
                                "replace");
}

static PyObject *
step_rows(const fd_et_estimate *e)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < e->steps.count; i++) {
        const fd_et_step *s = &e->steps.list[i];
        long long ns[FD_ET_VERSIONS];
        for (int t = 0; t < FD_ET_VERSIONS; t++) {
            ns[t] = (long long)(s->end[t] - s->begin[t]);
        }
        PyObject *row = Py_BuildValue(
            "{s:N,s:L,s:L,s:L}", "name", text_of(e, s->name), "measured_ns",
            ns[FD_ET_MEASURED], "replayed_ns", ns[FD_ET_REPLAYED],
            "predicted_ns", ns[FD_ET_PREDICTED]);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *
path_rows(const fd_et_estimate *e, const fd_et_ranks *ranks)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < e->path.count; i++) {
        const fd_et_path_entry *s = &e->path.list[i];
        PyObject *row = Py_BuildValue(
            "{s:N,s:L,s:K,s:L}", "name",
            s->name == 0 ? Py_NewRef(Py_None) : text_of(e, s->name), "rank",
            (long long)ranks->ranks.list[s->rank].rank, "count",
            (unsigned long long)s->count, "ns", (long long)s->ns);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *
estimate(PyObject *module, arguments *a, fd_et_ranks *ranks)
{
    fd_et_estimate e;
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        e = (fd_et_estimate){.matched = 0};
        status = fd_et_ranks_compare(ranks);
        if (status == FD_OK) {
            status = fd_et_estimate_make(a->traces, a->count, ranks,
                                         &a->changes, &e, &error);
        }
    Py_END_ALLOW_THREADS
    PyObject *made = status != FD_OK
                       ? fd_raise(module, status, &error)
                       : Py_BuildValue(
                           "{s:I,s:N,s:L,s:L,s:L,s:K,s:I,s:K,s:K,s:N}",
                           "ranks", (unsigned)a->count, "steps", step_rows(&e),
                           "measured_ns", (long long)e.measured_ns,
                           "replayed_ns", (long long)e.replayed_ns,
                           "predicted_ns", (long long)e.predicted_ns,
                           "matched", (unsigned long long)e.matched,
                           "mismatches", (unsigned)ranks->mismatches.count,
                           "broken", (unsigned long long)e.broken, "untimed",
                           (unsigned long long)e.untimed, "critical_path",
                           path_rows(&e, ranks));
    fd_et_estimate_clear(&e);
    return made;
}

PyObject *
fd_et_estimate_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", "scales", "bandwidth", "latency_ns",
                            NULL};
    arguments a = {.changes = {.bandwidth = 1}};
    fd_et_ranks ranks = {.collectives = 0};
    PyObject *scales;
    long long latency = 0;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|$dL:et_estimate",
                                    names, &PyList_Type, &a.inputs,
                                    &PyList_Type, &scales,
                                    &a.changes.bandwidth, &latency)) {
        a.changes.latency_ns = latency;
        if (take_scales(&a, scales) && load_all(module, &a, &ranks)) {
            made = estimate(module, &a, &ranks);
        }
    }
    for (uint32_t i = 0; i < a.count; i++) {
        fd_et_clear(&a.traces[i]);
    }
    fd_free(a.traces);
    fd_free(a.scales);
    Py_XDECREF(a.held);
    fd_et_ranks_clear(&ranks);
    return made;
}
