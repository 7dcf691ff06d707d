/* et_diff(). */
#include "module/et/et_binding.h"

#include "et/et_names.h"
#include "et/tools/et_diff.h"
#include "module/errors.h"

static PyObject *
text(const fd_et_diff *diff, uint32_t id)
{
    return PyUnicode_DecodeUTF8(
        fd_text_pool_get(&diff->texts, id),
        (Py_ssize_t)fd_text_pool_size(&diff->texts, id), "replace");
}

static PyObject *
ranks_of(const fd_et_diff_ranks *ranks)
{
    return ranks->count == 0
             ? Py_NewRef(Py_None)
             : Py_BuildValue("{s:I,s:L}", "count", (unsigned)ranks->count,
                             "first", (long long)ranks->first);
}

/* Append a row and let go of it; false with an exception. */
static bool
append(PyObject *list, PyObject *row)
{
    bool done = row != NULL && PyList_Append(list, row) == 0;
    Py_XDECREF(row);
    return done;
}

static PyObject *
name_rows(const fd_et_diff *diff)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < diff->names.count; i++) {
        const fd_et_diff_name *n = &diff->names.list[i];
        if (fd_et_diff_says(n)
            && !append(list,
                       Py_BuildValue(
                           "{s:N,s:[KK],s:[LL],s:N,s:N}", "name",
                           text(diff, n->name), "count",
                           (unsigned long long)n->count[0],
                           (unsigned long long)n->count[1], "ns",
                           (long long)n->ns[0], (long long)n->ns[1],
                           "ranks_with_other_counts", ranks_of(&n->counts),
                           "ranks_with_other_times", ranks_of(&n->times)))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
form(const fd_et_diff *diff, const fd_et_diff_form *row, int at)
{
    const fd_et_form *f = &diff->forms.list[row->forms[at] - 1];
    return Py_BuildValue(
        "{s:K,s:N,s:N,s:N,s:N,s:N}", "id", (unsigned long long)row->id[at],
        "input_shapes", text(diff, f->shapes[0]), "input_types",
        text(diff, f->types[0]), "output_shapes", text(diff, f->shapes[1]),
        "output_types", text(diff, f->types[1]), "communication",
        text(diff, f->comm));
}

static PyObject *
what_list(uint32_t what)
{
    static const char *const names[] = {"shapes", "types", "communication"};
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < 3; i++) {
        if ((what & 1U << i) != 0
            && !append(list, PyUnicode_FromString(names[i]))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
changed_rows(const fd_et_diff *diff)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < diff->changed.count; i++) {
        const fd_et_diff_form *row = &diff->changed.list[i];
        if (!append(list,
                    Py_BuildValue(
                        "{s:N,s:N,s:K,s:N,s:N,s:N}", "name",
                        text(diff, diff->forms.list[row->forms[0] - 1].name),
                        "what", what_list(row->what), "count",
                        (unsigned long long)row->count, "before",
                        form(diff, row, 0), "after", form(diff, row, 1),
                        "ranks", ranks_of(&row->ranks)))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
only_rows(const fd_et_diff *diff)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < diff->only.count; i++) {
        const fd_et_diff_only *row = &diff->only.list[i];
        if (!append(list,
                    Py_BuildValue("{s:s,s:N,s:N,s:K,s:K,s:K,s:N}", "in",
                                  row->side == 0 ? "before" : "after", "name",
                                  text(diff, row->name), "parent",
                                  row->parent == 0 ? Py_NewRef(Py_None)
                                                   : text(diff, row->parent),
                                  "count", (unsigned long long)row->count,
                                  "nodes", (unsigned long long)row->nodes,
                                  "id", (unsigned long long)row->id, "ranks",
                                  ranks_of(&row->ranks)))) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyObject *
edge_rows(const fd_et_diff *diff)
{
    PyObject *dict = PyDict_New();
    for (int kind = 0; dict != NULL && kind < FD_ET_KINDS; kind++) {
        if (!fd_et_put(dict, fd_et_kind_name(kind),
                       Py_BuildValue(
                           "{s:K,s:K,s:K}", "before",
                           (unsigned long long)diff->edges[kind][0], "after",
                           (unsigned long long)diff->edges[kind][1], "both",
                           (unsigned long long)diff->shared[kind]))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *
answer(const fd_et_diff *diff, PyObject *files)
{
    return Py_BuildValue(
        "{s:O,s:O,s:I,s:[KK],s:K,s:[II],s:N,s:N,s:N,s:N}", "equal",
        fd_et_diff_any(diff) ? Py_False : Py_True, "files", files, "ranks",
        (unsigned)diff->ranks, "nodes", (unsigned long long)diff->nodes[0],
        (unsigned long long)diff->nodes[1], "paired",
        (unsigned long long)diff->paired, "timed", (unsigned)diff->timed[0],
        (unsigned)diff->timed[1], "names", name_rows(diff), "changed",
        changed_rows(diff), "only", only_rows(diff), "edges", edge_rows(diff));
}

/* Two files as one rank more; what is known of each goes to `files`. */
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
        done = done && append(files, fd_et_answer(&traces[i], formats[i]));
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
        made = answer(&diff, files);
    }
    Py_XDECREF(files);
    fd_et_diff_clear(&diff);
    return made;
}
