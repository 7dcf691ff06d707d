/* et_check(). */
#include "module/et/et_binding.h"

#include "et/tools/et_ranks.h"
#include "module/errors.h"

static PyObject *
text(const fd_et_ranks *ranks, uint32_t id)
{
    return PyUnicode_DecodeUTF8(
        fd_text_pool_get(&ranks->texts, id),
        (Py_ssize_t)fd_text_pool_size(&ranks->texts, id), "replace");
}

/* A call of a rank, None where there is none. */
static PyObject *
call_row(const fd_et_ranks *ranks, uint32_t place, uint32_t call)
{
    const fd_et_rank *rank = &ranks->ranks.list[place];
    if (call == 0) {
        return Py_BuildValue("{s:L,s:O,s:O,s:O}", "rank",
                             (long long)rank->rank, "id", Py_None, "name",
                             Py_None, "bytes", Py_None);
    }
    const fd_et_call *made = &rank->calls.list[call - 1];
    return Py_BuildValue("{s:L,s:K,s:N,s:L}", "rank", (long long)rank->rank,
                         "id", (unsigned long long)made->id, "name",
                         text(ranks, made->name), "bytes",
                         (long long)made->bytes);
}

static PyObject *
mismatch_rows(const fd_et_ranks *ranks)
{
    static const char *const kinds[] = {"kind",    "size", "missing",
                                        "receive", "send", "message_size"};
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < ranks->mismatches.count; i++) {
        const fd_et_mismatch *m = &ranks->mismatches.list[i];
        PyObject *row = Py_BuildValue(
            "{s:s,s:N,s:K,s:N,s:N}", "what", kinds[m->kind], "group",
            text(ranks, m->group), "number", (unsigned long long)m->number,
            "one", call_row(ranks, m->one, m->one_call), "other",
            call_row(ranks, m->other, m->other_call));
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

/* Read one trace; its communication stays. */
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
        if (status == FD_OK) {
            status = fd_et_ranks_add(ranks, &et);
        }
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? fd_et_answer(&et, format)
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
        if (row == NULL || PyList_Append(rows, row) != 0) {
            Py_CLEAR(rows);
        }
        Py_XDECREF(row);
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
        made =
            Py_BuildValue("{s:O,s:K,s:K,s:K,s:N}", "files", rows,
                          "collectives", (unsigned long long)ranks.collectives,
                          "messages", (unsigned long long)ranks.messages,
                          "unknown_peers", (unsigned long long)ranks.unknown,
                          "mismatches", mismatch_rows(&ranks));
    }
    else if (rows != NULL) {
        fd_raise(module, status, NULL);
    }
    Py_XDECREF(rows);
    fd_et_ranks_clear(&ranks);
    return made;
}
