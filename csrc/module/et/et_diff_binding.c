/* et_diff(). */
#include "module/et/et_binding.h"

#include "et/et_names.h"
#include "et/tools/et_diff.h"
#include "module/errors.h"
#include "module/field_tables.h"

static const fd_column name_columns[] = {
    FD_COLUMN(fd_et_diff_name, "name", TEXT, name),
};
static const fd_table names_table =
    FD_TABLE("names", name_columns, fd_et_diff_name, false);

static const fd_column signature_columns[] = {
    FD_COLUMN(fd_et_signature, "input_shapes", TEXT, shapes[0]),
    FD_COLUMN(fd_et_signature, "input_types", TEXT, types[0]),
    FD_COLUMN(fd_et_signature, "output_shapes", TEXT, shapes[1]),
    FD_COLUMN(fd_et_signature, "output_types", TEXT, types[1]),
    FD_COLUMN(fd_et_signature, "communication", TEXT, comm),
};
static const fd_table signature_table =
    FD_TABLE("signature", signature_columns, fd_et_signature, false);

static const fd_column changed_columns[] = {
    FD_COLUMN(fd_et_diff_change, "count", U64, count),
};
static const fd_table changed_table =
    FD_TABLE("changed", changed_columns, fd_et_diff_change, false);

static const char *const sides[] = {"before", "after", NULL};
static const fd_column only_columns[] = {
    FD_COLUMN_OF_NAMES(fd_et_diff_only, "in", U32, side, sides),
    FD_COLUMN(fd_et_diff_only, "name", TEXT, name),
    FD_COLUMN(fd_et_diff_only, "parent", TEXT_OR_NONE, parent),
    FD_COLUMN(fd_et_diff_only, "count", U64, count),
    FD_COLUMN(fd_et_diff_only, "nodes", U64, nodes),
    FD_COLUMN(fd_et_diff_only, "id", U64, id),
};
static const fd_table only_table =
    FD_TABLE("only", only_columns, fd_et_diff_only, false);

static const fd_column diff_columns[] = {
    FD_COLUMN(fd_et_diff, "ranks", U32, ranks),
    FD_COLUMN(fd_et_diff, "paired", U64, paired),
};
static const fd_table diff_table =
    FD_TABLE("diff", diff_columns, fd_et_diff, false);

static const fd_column rank_columns[] = {
    FD_COLUMN(fd_et_diff_ranks, "count", U32, count),
    FD_COLUMN(fd_et_diff_ranks, "first", I64, first),
};
static const fd_table ranks_table =
    FD_TABLE("ranks", rank_columns, fd_et_diff_ranks, false);

static PyObject *
ranks_of(const fd_et_diff_ranks *ranks)
{
    return ranks->count == 0 ? Py_NewRef(Py_None)
                             : fd_record(&ranks_table, ranks, NULL);
}

static PyObject *
u64_pair(const uint64_t pair[2])
{
    return Py_BuildValue("[KK]", (unsigned long long)pair[0],
                         (unsigned long long)pair[1]);
}

/* Skip names without a difference. */
static PyObject *
complete_name(PyObject *record, const void *row, const void *unused)
{
    const fd_et_diff_name *n = row;
    (void)unused;
    if (!fd_et_diff_differs(n)) {
        Py_DECREF(record);
        return Py_NewRef(Py_None);
    }
    record = fd_columns_with(record, "count", u64_pair(n->count));
    record = fd_columns_with(
        record, "ns",
        Py_BuildValue("[LL]", (long long)n->ns[0], (long long)n->ns[1]));
    record = fd_columns_with(record, "ranks_with_other_counts",
                             ranks_of(&n->counts));
    return fd_columns_with(record, "ranks_with_other_times",
                           ranks_of(&n->times));
}

static PyObject *
signature(const fd_et_diff *diff, const fd_et_diff_change *row, int at)
{
    return fd_columns_with(
        fd_record(&signature_table,
                  &diff->signatures.list[row->signatures[at] - 1],
                  &diff->texts),
        "id", PyLong_FromUnsignedLongLong(row->id[at]));
}

static PyObject *
what_list(uint32_t what)
{
    static const char *const names[] = {"shapes", "types", "communication"};
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < 3; i++) {
        if ((what & 1U << i) != 0) {
            list = fd_list_with(list, PyUnicode_FromString(names[i]));
        }
    }
    return list;
}

static PyObject *
complete_changed(PyObject *record, const void *changed, const void *context)
{
    const fd_et_diff *diff = context;
    const fd_et_diff_change *row = changed;
    uint32_t name = diff->signatures.list[row->signatures[0] - 1].name;
    record =
        fd_columns_with(record, "name", fd_text_object(&diff->texts, name));
    record = fd_columns_with(record, "what", what_list(row->what));
    record = fd_columns_with(record, "before", signature(diff, row, 0));
    record = fd_columns_with(record, "after", signature(diff, row, 1));
    return fd_columns_with(record, "ranks", ranks_of(&row->ranks));
}

static PyObject *
complete_only(PyObject *record, const void *row, const void *unused)
{
    const fd_et_diff_only *only = row;
    (void)unused;
    return fd_columns_with(record, "ranks", ranks_of(&only->ranks));
}

static PyObject *
edge_rows(const fd_et_diff *diff)
{
    PyObject *dict = PyDict_New();
    for (int kind = 0; dict != NULL && kind < FD_ET_KINDS; kind++) {
        dict = fd_columns_with(
            dict, fd_et_kind_name(kind),
            Py_BuildValue("{s:K,s:K,s:K}", "before",
                          (unsigned long long)diff->edges[kind][0], "after",
                          (unsigned long long)diff->edges[kind][1], "both",
                          (unsigned long long)diff->shared[kind]));
    }
    return dict;
}

static PyObject *
result(const fd_et_diff *d, PyObject *files)
{
    PyObject *made = fd_columns_with(PyDict_New(), "equal",
                                     PyBool_FromLong(!fd_et_diff_any(d)));
    made = fd_columns_with(made, "files", Py_NewRef(files));
    made = fd_columns_join(made, fd_record(&diff_table, d, NULL));
    made = fd_columns_with(made, "nodes", u64_pair(d->nodes));
    made = fd_columns_with(
        made, "timed",
        Py_BuildValue("[II]", (unsigned)d->timed[0], (unsigned)d->timed[1]));
    made =
        fd_columns_with(made, "names",
                        fd_records(&names_table, d->names.list, d->names.count,
                                   &d->texts, complete_name, NULL));
    made = fd_columns_with(made, "changed",
                           fd_records(&changed_table, d->changed.list,
                                      d->changed.count, &d->texts,
                                      complete_changed, d));
    made = fd_columns_with(made, "only",
                           fd_records(&only_table, d->only.list, d->only.count,
                                      &d->texts, complete_only, NULL));
    return fd_columns_with(made, "edges", edge_rows(d));
}

/* Add two files as another rank, and their summaries to `files`. */
static bool
add_files(PyObject *module, fd_et_diff *diff, PyObject *const paths[2],
          long long rank, unsigned edges, PyObject *files)
{
    fd_et traces[2] = {{.rank = -1}, {.rank = -1}};
    fd_et_format formats[2];
    fd_error error = {""};
    fd_status status = FD_OK;
    Py_BEGIN_ALLOW_THREADS
        for (int i = 0; i < 2 && status == FD_OK; i++) {
            status = fd_et_load(&traces[i], PyBytes_AS_STRING(paths[i]), edges,
                                &formats[i], &error);
            traces[i].rank = traces[i].rank < 0 ? rank : traces[i].rank;
        }
        if (status == FD_OK) {
            status = fd_et_diff_add(diff, &traces[0], &traces[1]);
        }
    Py_END_ALLOW_THREADS
    bool done = status == FD_OK || fd_raise(module, status, &error) != NULL;
    for (int i = 0; i < 2; i++) {
        PyObject *summary =
            done ? fd_et_summary_py(&traces[i], formats[i]) : NULL;
        done = summary != NULL && PyList_Append(files, summary) == 0;
        Py_XDECREF(summary);
        fd_et_clear(&traces[i]);
    }
    return done;
}

static bool
add_all(PyObject *module, fd_et_diff *diff, PyObject *pairs, unsigned edges,
        PyObject *files)
{
    bool done = true;
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(pairs); i++) {
        PyObject *paths[2] = {NULL, NULL};
        long long rank;
        done = PyArg_Parse(PyList_GET_ITEM(pairs, i), "(O&O&L)",
                           PyUnicode_FSConverter, &paths[0],
                           PyUnicode_FSConverter, &paths[1], &rank)
            && add_files(module, diff, paths, rank, edges, files);
        Py_XDECREF(paths[0]);
        Py_XDECREF(paths[1]);
    }
    return done;
}

PyObject *
fd_et_diff_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"pairs", "edges", "threshold", NULL};
    fd_et_diff diff = {.threshold = 0.1};
    PyObject *pairs;
    unsigned edges = FD_ET_ALL_KINDS;
    PyObject *made = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|$Id:et_diff", names,
                                     &PyList_Type, &pairs, &edges,
                                     &diff.threshold)) {
        return NULL;
    }
    PyObject *files = PyList_New(0);
    if (files != NULL && add_all(module, &diff, pairs, edges, files)) {
        made = result(&diff, files);
    }
    Py_XDECREF(files);
    fd_et_diff_clear(&diff);
    return made;
}
