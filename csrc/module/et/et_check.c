/* et_check(). */
#include "module/et/et_binding.h"

#include "et/tools/et_ranks.h"
#include "module/errors.h"
#include "module/field_tables.h"

static const fd_column call_columns[] = {
    FD_COLUMN(fd_et_call, "id", U64, id),
    FD_COLUMN(fd_et_call, "name", TEXT, name),
    FD_COLUMN(fd_et_call, "bytes", I64, bytes),
};
static const fd_table call_table =
    FD_TABLE("call", call_columns, fd_et_call, false);

static const char *const mismatch_kinds[] = {
    "kind", "size", "missing", "receive", "send", "message_size", NULL};
static const fd_column mismatch_columns[] = {
    FD_COLUMN_OF_NAMES(fd_et_mismatch, "what", U32, kind, mismatch_kinds),
    FD_COLUMN(fd_et_mismatch, "group", TEXT, group),
    FD_COLUMN(fd_et_mismatch, "number", U64, number),
};
static const fd_table mismatches_table =
    FD_TABLE("mismatches", mismatch_columns, fd_et_mismatch, false);
static_assert(sizeof(fd_et_mismatch_kind) == sizeof(uint32_t), "read as U32");

static const fd_column ranks_columns[] = {
    FD_COLUMN(fd_et_ranks, "collectives", U64, collectives),
    FD_COLUMN(fd_et_ranks, "messages", U64, messages),
    FD_COLUMN(fd_et_ranks, "unknown_peers", U64, unknown),
};
static const fd_table ranks_table =
    FD_TABLE("ranks", ranks_columns, fd_et_ranks, false);

/* Return the row of a call of a rank; its values are None if `call` is 0. */
static PyObject *
call_row(const fd_et_ranks *ranks, uint32_t index, uint32_t call)
{
    const fd_et_rank *rank = &ranks->ranks.list[index];
    PyObject *row = call != 0
                      ? fd_record(&call_table, &rank->calls.list[call - 1],
                                  &ranks->texts)
                      : Py_BuildValue("{s:O,s:O,s:O}", "id", Py_None, "name",
                                      Py_None, "bytes", Py_None);
    return fd_columns_with(row, "rank", PyLong_FromLongLong(rank->rank));
}

static PyObject *
add_calls(PyObject *row, const void *mismatch, const void *ranks)
{
    const fd_et_mismatch *m = mismatch;
    row = fd_columns_with(row, "one", call_row(ranks, m->one, m->one_call));
    return fd_columns_with(row, "other",
                           call_row(ranks, m->other, m->other_call));
}

/* Read a trace and add its communication to `ranks`. */
static PyObject *
add_file(PyObject *module, fd_et_ranks *ranks, const char *path,
         long long rank)
{
    fd_et et;
    fd_et_format format;
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_load(&et, path, FD_ET_ALL_KINDS, &format, &error);
        et.rank = et.rank < 0 ? rank : et.rank;
        fd_then(status, fd_et_ranks_add(ranks, &et));
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? fd_et_summary_py(&et, format)
                                     : fd_raise(module, status, &error);
    fd_et_clear(&et);
    return made;
}

static PyObject *
add_files(PyObject *module, fd_et_ranks *ranks, PyObject *inputs)
{
    PyObject *rows = PyList_New(0);
    for (Py_ssize_t i = 0; rows != NULL && i < PyList_GET_SIZE(inputs); i++) {
        PyObject *path = NULL;
        long long rank;
        PyObject *row = NULL;
        if (PyArg_Parse(PyList_GET_ITEM(inputs, i), "(O&L)",
                        PyUnicode_FSConverter, &path, &rank)) {
            row = add_file(module, ranks, PyBytes_AS_STRING(path), rank);
        }
        Py_XDECREF(path);
        rows = fd_list_with(rows, row);
    }
    return rows;
}

PyObject *
fd_et_check_py(PyObject *module, PyObject *args)
{
    PyObject *inputs;
    fd_et_ranks ranks = {.collectives = 0};
    if (!PyArg_ParseTuple(args, "O!:et_check", &PyList_Type, &inputs)) {
        return NULL;
    }
    PyObject *made = NULL;
    PyObject *rows = add_files(module, &ranks, inputs);
    fd_status status = rows == NULL ? FD_OK : fd_et_ranks_compare(&ranks);
    if (rows != NULL && status == FD_OK) {
        made = fd_columns_with(PyDict_New(), "files", Py_NewRef(rows));
        made = fd_columns_join(made, fd_record(&ranks_table, &ranks, NULL));
        made = fd_columns_with(made, "mismatches",
                               fd_records(&mismatches_table,
                                          ranks.mismatches.list,
                                          ranks.mismatches.count, &ranks.texts,
                                          add_calls, &ranks));
    }
    else if (rows != NULL) {
        fd_raise(module, status, NULL);
    }
    Py_XDECREF(rows);
    fd_et_ranks_clear(&ranks);
    return made;
}
