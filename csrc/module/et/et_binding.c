/* et_convert(), et_info() and et_export(). */
#include "module/et/et_binding.h"

#include "et/et_summary.h"
#include "et/readers/from_recording.h"
#include "module/errors.h"
#include "module/field_tables.h"

static const fd_column fault_columns[] = {
    FD_COLUMN(fd_et_faults, "lost", U64, lost),
    FD_COLUMN(fd_et_faults, "lost_bytes", U64, lost_bytes),
    FD_COLUMN(fd_et_faults, "trouble", CHARS, trouble),
    FD_COLUMN(fd_et_faults, "repaired", U64, repaired),
    FD_COLUMN(fd_et_faults, "invalid", U64, invalid),
    FD_COLUMN(fd_et_faults, "wrong", U64, wrong),
    FD_COLUMN(fd_et_faults, "duplicates", U64, duplicates),
    FD_COLUMN(fd_et_faults, "orphans", U64, orphans),
    FD_COLUMN(fd_et_faults, "dangling", U64, dangling),
    FD_COLUMN(fd_et_faults, "cycles", U64, cycles),
    FD_COLUMN(fd_et_faults, "cycle", CHARS, cycle),
    FD_COLUMN(fd_et_faults, "renumbered", U64, renumbered),
    FD_COLUMN(fd_et_faults, "collectives_unknown", U64, untyped),
    FD_COLUMN(fd_et_faults, "dtypes_unknown", U64, dtypes),
    FD_COLUMN(fd_et_faults, "dtype", CHARS, dtype),
};
static const fd_table faults_table =
    FD_TABLE("faults", fault_columns, fd_et_faults, false);

static const fd_column traffic_columns[] = {
    FD_COLUMN(fd_et_traffic, "count", U64, count),
    FD_COLUMN(fd_et_traffic, "bytes", U64, bytes),
    FD_COLUMN(fd_et_traffic, "ns", I64, ns),
};
static const fd_table traffic_table =
    FD_TABLE("communication", traffic_columns, fd_et_traffic, false);

static const fd_column group_columns[] = {
    FD_COLUMN(fd_et_group, "name", TEXT, name),
    FD_COLUMN(fd_et_group, "description", TEXT, about),
    FD_COLUMN(fd_et_group, "ranks", TEXT, ranks),
    FD_COLUMN(fd_et_group, "size", U32, size),
};
static const fd_table groups_table =
    FD_TABLE("groups", group_columns, fd_et_group, false);

static const fd_column summary_columns[] = {
    FD_COLUMN(fd_et_summary, "dependencies", U64, deps),
    FD_COLUMN(fd_et_summary, "cpu", U64, cpu),
    FD_COLUMN(fd_et_summary, "gpu", U64, gpu),
    FD_COLUMN(fd_et_summary, "operators", U64, operators),
    FD_COLUMN(fd_et_summary, "threads", U64, threads),
    FD_COLUMN(fd_et_summary, "streams", U64, streams),
    FD_COLUMN(fd_et_summary, "timed", U64, timed),
    FD_COLUMN(fd_et_summary, "guessed", U64, guessed),
    FD_COLUMN(fd_et_summary, "begin_ns", I64, begin_ns),
    FD_COLUMN(fd_et_summary, "end_ns", I64, end_ns),
    FD_COLUMN(fd_et_summary, "steps", U64, steps),
};
static const fd_table summary_table =
    FD_TABLE("summary", summary_columns, fd_et_summary, false);

static const fd_column head_columns[] = {
    FD_COLUMN(fd_et, "rank", I64_OR_NONE, rank),
    FD_COLUMN(fd_et, "world", U32, world),
    FD_COLUMN(fd_et, "nodes", U32, nodes.count),
    FD_COLUMN(fd_et, "schema", TEXT, schema),
    FD_COLUMN(fd_et, "finished", BOOL, finished),
};
static const fd_table head_table =
    FD_TABLE("head", head_columns, fd_et, false);

static PyObject *
fault_counts(const fd_et_faults *faults)
{
    return fd_columns_with(
        fd_record(&faults_table, faults, NULL), "cut",
        fd_named_counts(fd_et_kind_name, faults->cut, FD_ET_KINDS, true));
}

static PyObject *
traffic_rows(const fd_et_summary *s)
{
    PyObject *dict = PyDict_New();
    for (int i = 0; dict != NULL && i < FD_ET_TRAFFICS; i++) {
        if (s->traffic[i].count > 0) {
            dict = fd_columns_with(
                dict, fd_et_traffic_name(i),
                fd_record(&traffic_table, &s->traffic[i], NULL));
        }
    }
    return dict;
}

PyObject *
fd_et_summary_py(const fd_et *et, fd_et_format format)
{
    fd_et_summary s;
    if (fd_et_summarize(et, &s) != FD_OK) {
        return PyErr_NoMemory();
    }
    PyObject *made =
        fd_columns_with(PyDict_New(), "format",
                        PyUnicode_FromString(fd_et_format_name(format)));
    made = fd_columns_join(made, fd_record(&head_table, et, &et->texts));
    made = fd_columns_join(made, fd_record(&summary_table, &s, NULL));
    made = fd_columns_with(
        made, "types",
        fd_named_counts(fd_et_type_name, s.types, FD_ET_TYPES, false));
    made = fd_columns_with(
        made, "edges",
        fd_named_counts(fd_et_kind_name, s.edges, FD_ET_KINDS, true));
    made = fd_columns_with(made, "communication", traffic_rows(&s));
    made =
        fd_columns_with(made, "groups",
                        fd_records(&groups_table, et->groups.list,
                                   et->groups.count, &et->texts, NULL, NULL));
    return fd_columns_with(made, "faults", fault_counts(&et->faults));
}

/* Read `path`, write `output` unless it is NULL, and return the summary. */
static PyObject *
convert_trace(PyObject *module, const char *path, const char *output,
              unsigned edges, long long rank)
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
            status = fd_et_save(&et, output, &error);
        }
    Py_END_ALLOW_THREADS
    made = status == FD_OK ? fd_et_summary_py(&et, format)
                           : fd_raise(module, status, &error);
    fd_et_clear(&et);
    return made;
}

PyObject *
fd_et_convert_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "output", "edges", "rank", NULL};
    PyObject *path = NULL;
    PyObject *output = NULL;
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&|$IL:et_convert", names, PyUnicode_FSConverter,
            &path, PyUnicode_FSConverter, &output, &edges, &rank)) {
        made = convert_trace(module, PyBytes_AS_STRING(path),
                             PyBytes_AS_STRING(output), edges, rank);
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
        convert_trace(module, PyBytes_AS_STRING(path), NULL, edges, rank);
    Py_DECREF(path);
    return made;
}

/* Export the calls of a recording in both formats. */
static PyObject *
export_recording(PyObject *module, const char *path, const char *pytorch,
                 const char *chakra, unsigned edges)
{
    fd_et et;
    fd_error error = {""};
    fd_status status;
    PyObject *made;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_from_recording(&et, path, false, &error);
        fd_then(status, fd_et_complete(&et, edges));
        fd_then(status, fd_et_save(&et, pytorch, &error));
        fd_then(status, fd_et_save(&et, chakra, &error));
    Py_END_ALLOW_THREADS
    made = status == FD_OK ? fd_et_summary_py(&et, FD_ET_PYTORCH)
                           : fd_raise(module, status, &error);
    fd_et_clear(&et);
    return made;
}

PyObject *
fd_et_export_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "pytorch", "chakra", "edges", NULL};
    PyObject *path = NULL;
    PyObject *pytorch = NULL;
    PyObject *chakra = NULL;
    unsigned edges = FD_ET_ALL_KINDS;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&O&|$I:et_export", names,
                                    PyUnicode_FSConverter, &path,
                                    PyUnicode_FSConverter, &pytorch,
                                    PyUnicode_FSConverter, &chakra, &edges)) {
        made = export_recording(module, PyBytes_AS_STRING(path),
                                PyBytes_AS_STRING(pytorch),
                                PyBytes_AS_STRING(chakra), edges);
    }
    Py_XDECREF(path);
    Py_XDECREF(pytorch);
    Py_XDECREF(chakra);
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
    PyObject *made = status == FD_OK ? fd_buffer_object(&text)
                                     : fd_raise(module, status, &error);
    fd_buffer_clear(&text);
    Py_DECREF(encoded);
    return made;
}
