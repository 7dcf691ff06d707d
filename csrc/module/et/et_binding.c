/* et_convert(), et_info() and et_export(). */
#include "module/et/et_binding.h"

#include "et/et_layers.h"
#include "et/et_summary.h"
#include "et/readers/from_recording.h"
#include "module/anonymize_binding.h"
#include "module/errors.h"

bool
fd_et_put(PyObject *dict, const char *name, PyObject *value)
{
    bool good = value != NULL && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return good;
}

PyObject *
fd_et_py_text(const fd_et *et, uint32_t id)
{
    return PyUnicode_DecodeUTF8(fd_et_text(et, id),
                                (Py_ssize_t)fd_text_pool_size(&et->texts, id),
                                "replace");
}

static PyObject *
fault_counts(const fd_et_faults *faults)
{
    PyObject *cut = PyDict_New();
    for (int i = 0; cut != NULL && i < FD_ET_KINDS; i++) {
        if (!fd_et_put(cut, fd_et_kind_name(i),
                       PyLong_FromUnsignedLongLong(faults->cut[i]))) {
            Py_CLEAR(cut);
        }
    }
    if (cut == NULL) {
        return NULL;
    }
    return Py_BuildValue(
        "{s:K,s:K,s:s,s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:N,s:K,s:K,s:K,s:s}",
        "lost", (unsigned long long)faults->lost, "lost_bytes",
        (unsigned long long)faults->lost_bytes, "trouble", faults->trouble,
        "repaired", (unsigned long long)faults->repaired, "wrong",
        (unsigned long long)faults->wrong, "duplicates",
        (unsigned long long)faults->duplicates, "orphans",
        (unsigned long long)faults->orphans, "dangling",
        (unsigned long long)faults->dangling, "cycles",
        (unsigned long long)faults->cycles, "cycle", faults->cycle, "cut", cut,
        "renumbered", (unsigned long long)faults->renumbered,
        "collectives_unknown", (unsigned long long)faults->untyped,
        "dtypes_unknown", (unsigned long long)faults->dtypes, "dtype",
        faults->dtype);
}

static PyObject *
traffic_rows(const fd_et_summary *s)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < FD_ET_TRAFFICS; i++) {
        const fd_et_traffic *row = &s->traffic[i];
        if (row->count > 0
            && !fd_et_put(dict, fd_et_traffic_name(i),
                          Py_BuildValue("{s:K,s:K,s:L}", "count",
                                        (unsigned long long)row->count,
                                        "bytes",
                                        (unsigned long long)row->bytes, "ns",
                                        (long long)row->ns))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *
edge_counts(const fd_et_summary *s)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < FD_ET_KINDS; i++) {
        if (!fd_et_put(dict, fd_et_kind_name(i),
                       PyLong_FromUnsignedLongLong(s->edges[i]))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *
type_counts(const fd_et_summary *s)
{
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict != NULL && i < FD_ET_TYPES; i++) {
        if (s->types[i] > 0
            && !fd_et_put(dict, fd_et_type_name(i),
                          PyLong_FromUnsignedLongLong(s->types[i]))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *
group_rows(const fd_et *et)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < et->groups.count; i++) {
        const fd_et_group *group = &et->groups.list[i];
        PyObject *row = Py_BuildValue(
            "{s:N,s:N,s:N,s:I}", "name", fd_et_py_text(et, group->name),
            "description", fd_et_py_text(et, group->about), "ranks",
            fd_et_py_text(et, group->ranks), "size", (unsigned)group->size);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

PyObject *
fd_et_answer(const fd_et *et, fd_et_format format)
{
    fd_et_summary s;
    if (fd_et_summarize(et, &s) != FD_OK) {
        return PyErr_NoMemory();
    }
    PyObject *made = Py_BuildValue(
        "{s:s,s:I,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:L,s:L,s:I,s:K,s:O}",
        "format", fd_et_format_name(format), "nodes",
        (unsigned)et->nodes.count, "dependencies", (unsigned long long)s.deps,
        "cpu", (unsigned long long)s.cpu, "gpu", (unsigned long long)s.gpu,
        "operators", (unsigned long long)s.operators, "threads",
        (unsigned long long)s.threads, "streams",
        (unsigned long long)s.streams, "timed", (unsigned long long)s.timed,
        "guessed", (unsigned long long)s.guessed, "begin_ns",
        (long long)s.begin_ns, "end_ns", (long long)s.end_ns, "world",
        (unsigned)et->world, "steps", (unsigned long long)s.steps, "finished",
        et->finished ? Py_True : Py_False);
    if (made != NULL
        && fd_et_put(made, "rank",
                     et->rank < 0 ? Py_NewRef(Py_None)
                                  : PyLong_FromLongLong(et->rank))
        && fd_et_put(made, "schema", fd_et_py_text(et, et->schema))
        && fd_et_put(made, "types", type_counts(&s))
        && fd_et_put(made, "edges", edge_counts(&s))
        && fd_et_put(made, "communication", traffic_rows(&s))
        && fd_et_put(made, "groups", group_rows(et))
        && fd_et_put(made, "faults", fault_counts(&et->faults))) {
        return made;
    }
    Py_XDECREF(made);
    return NULL;
}

/* Read `path`, write `output` unless it is NULL, and answer. */
static PyObject *
convert(PyObject *module, const char *path, const char *output, unsigned edges,
        long long rank, bool timeline)
{
    fd_et et;
    fd_et_format format;
    fd_error error = {""};
    fd_status status;
    PyObject *made;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_load(&et, path, edges, &format, &error);
        et.rank = et.rank < 0 ? rank : et.rank;
        if (status == FD_OK && output != NULL) {
            status = fd_et_save(&et, output, timeline, &error);
        }
    Py_END_ALLOW_THREADS
    made = status == FD_OK ? fd_et_answer(&et, format)
                           : fd_raise(module, status, &error);
    fd_et_clear(&et);
    return made;
}

PyObject *
fd_et_convert_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "output",   "edges",
                            "rank", "timeline", NULL};
    PyObject *path = NULL;
    PyObject *output = NULL;
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    int timeline = 0;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&|$ILp:et_convert", names, PyUnicode_FSConverter,
            &path, PyUnicode_FSConverter, &output, &edges, &rank, &timeline)) {
        made = convert(module, PyBytes_AS_STRING(path),
                       PyBytes_AS_STRING(output), edges, rank, timeline != 0);
    }
    Py_XDECREF(path);
    Py_XDECREF(output);
    return made;
}

PyObject *
fd_et_info_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "edges", "rank", NULL};
    PyObject *path = NULL;
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$IL:et_info", names,
                                     PyUnicode_FSConverter, &path, &edges,
                                     &rank)) {
        return NULL;
    }
    PyObject *made =
        convert(module, PyBytes_AS_STRING(path), NULL, edges, rank, false);
    Py_DECREF(path);
    return made;
}

/* Files of one recording. */
typedef struct exported {
    PyObject *path;
    PyObject *pytorch;
    PyObject *chakra;
    PyObject *kineto;
    fd_private private;
} exported;

static fd_status
save_all(const fd_et *et, const exported *e, fd_error *error)
{
    fd_status status =
        fd_et_save(et, PyBytes_AS_STRING(e->pytorch), false, error);
    if (status == FD_OK) {
        status = fd_et_save(et, PyBytes_AS_STRING(e->chakra), false, error);
    }
    return status != FD_OK
             ? status
             : fd_et_save_kineto(et, PyBytes_AS_STRING(e->kineto), error);
}

/* The calls of a recording, in all forms. */
static PyObject *export(PyObject *module, const exported *e, unsigned edges)
{
    fd_et et;
    fd_error error = {""};
    fd_status status;
    PyObject *made;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_from_recording(&et, PyBytes_AS_STRING(e->path),
                                      fd_private_wish(&e->private), &error);
        if (status == FD_OK) {
            status = fd_et_complete(&et, edges);
        }
        if (status == FD_OK) {
            status = save_all(&et, e, &error);
        }
    Py_END_ALLOW_THREADS
    made = status == FD_OK ? fd_et_answer(&et, FD_ET_PYTORCH)
                           : fd_raise(module, status, &error);
    fd_et_clear(&et);
    return made;
}

PyObject *
fd_et_export_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path",  "pytorch", "chakra", "kineto",
                            "edges", "privacy", NULL};
    exported e = {.path = NULL};
    unsigned edges = FD_ET_ALL_KINDS;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&O&O&|$IO&:et_export", names,
            PyUnicode_FSConverter, &e.path, PyUnicode_FSConverter, &e.pytorch,
            PyUnicode_FSConverter, &e.chakra, PyUnicode_FSConverter, &e.kineto,
            &edges, fd_take_private, &e.private)) {
        made = export(module, &e, edges);
    }
    Py_XDECREF(e.path);
    Py_XDECREF(e.pytorch);
    Py_XDECREF(e.chakra);
    Py_XDECREF(e.kineto);
    return made;
}

PyObject *
fd_et_layer_calls_py(PyObject *module, PyObject *path)
{
    fd_buffer text = {.bytes = NULL};
    fd_error error = {""};
    PyObject *encoded;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return NULL;
    }
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_layer_calls(&text, PyBytes_AS_STRING(encoded), &error);
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? PyUnicode_DecodeUTF8(
                         text.bytes, (Py_ssize_t)text.size, "replace")
                                     : fd_raise(module, status, &error);
    fd_buffer_clear(&text);
    Py_DECREF(encoded);
    return made;
}
