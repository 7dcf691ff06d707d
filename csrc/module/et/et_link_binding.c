/* et_link() and et_identity(). */
#include "module/et/et_binding.h"

#include "et/tools/link_files.h"
#include "module/errors.h"
#include "module/field_tables.h"

static const fd_column link_columns[] = {
    FD_COLUMN(fd_et_link, "linked", U64, linked),
    FD_COLUMN(fd_et_link, "only_et", U64, only_et),
    FD_COLUMN(fd_et_link, "only_kineto", U64, only_kineto),
    FD_COLUMN(fd_et_link, "by_order", U64, by_order),
    FD_COLUMN(fd_et_link, "unnumbered", U64, unnumbered),
    FD_COLUMN(fd_et_link, "renamed", U64, renamed),
    FD_COLUMN(fd_et_link, "again", U64, again),
    FD_COLUMN(fd_et_link, "kernels", U64, kernels),
    FD_COLUMN(fd_et_link, "by_external", U64, by_external),
    FD_COLUMN(fd_et_link, "alone", U64, alone),
    FD_COLUMN(fd_et_link, "compared", BOOL, compared),
    FD_COLUMN(fd_et_link, "example", CHARS, example),
};
static const fd_table link_table =
    FD_TABLE("link", link_columns, fd_et_link, false);

static const fd_column kineto_columns[] = {
    FD_COLUMN(fd_kineto, "events", U64, events),
    FD_COLUMN(fd_kineto, "timeless", U64, timeless),
    FD_COLUMN(fd_kineto, "lost", U64, lost),
    FD_COLUMN(fd_kineto, "lost_bytes", U64, lost_bytes),
    FD_COLUMN(fd_kineto, "trouble", CHARS, trouble),
};
static const fd_table kineto_table =
    FD_TABLE("kineto", kineto_columns, fd_kineto, false);

static const fd_column identity_columns[] = {
    FD_COLUMN(fd_et_identity, "pid", U64, pid),
    FD_COLUMN(fd_et_identity, "rank", I64_OR_NONE, rank),
};
static const fd_table identity_table =
    FD_TABLE("identity", identity_columns, fd_et_identity, false);

/* Converted paths. */
typedef struct paths {
    PyObject *et;
    PyObject *kineto;
    PyObject *output;
} paths;

static PyObject *
run_link(PyObject *module, const paths *p, fd_et_link_options options,
         long long rank)
{
    fd_et et;
    fd_kineto kineto;
    fd_et_link link = {.linked = 0};
    fd_error error = {""};
    fd_status status;
    PyObject *made;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_link_files(&et, PyBytes_AS_STRING(p->et),
                                  PyBytes_AS_STRING(p->kineto), options, &link,
                                  &kineto, &error);
        et.rank = et.rank < 0 ? rank : et.rank;
        fd_then(status, fd_et_save(&et, PyBytes_AS_STRING(p->output), &error));
    Py_END_ALLOW_THREADS
    made = status == FD_OK ? fd_et_summary_py(&et, FD_ET_PYTORCH)
                           : fd_raise(module, status, &error);
    if (made != NULL) {
        made = fd_columns_with(
            made, "link",
            fd_columns_join(fd_record(&link_table, &link, NULL),
                            fd_record(&kineto_table, &kineto, NULL)));
    }
    fd_et_clear(&et);
    return made;
}

PyObject *
fd_et_link_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "kineto", "output", "edges",
                            "rank", "force",  NULL};
    paths p = {.et = NULL};
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    int force = 0;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&O&|$ILp:et_link", names, PyUnicode_FSConverter,
            &p.et, PyUnicode_FSConverter, &p.kineto, PyUnicode_FSConverter,
            &p.output, &edges, &rank, &force)) {
        made = run_link(module, &p, (fd_et_link_options){edges, force != 0},
                        rank);
    }
    Py_XDECREF(p.et);
    Py_XDECREF(p.kineto);
    Py_XDECREF(p.output);
    return made;
}

PyObject *
fd_et_identity_py(PyObject *module, PyObject *path)
{
    fd_et et;
    fd_et_identity identity = {.rank = -1};
    fd_error error = {""};
    PyObject *encoded;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return NULL;
    }
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_read_identity(&et, PyBytes_AS_STRING(encoded),
                                     &identity, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(encoded);
    PyObject *made = status == FD_OK
                       ? fd_record(&identity_table, &identity, NULL)
                       : fd_raise(module, status, &error);
    made = fd_columns_with(
        made, "members",
        fd_number_list(identity.members.list, identity.members.count));
    fd_et_clear(&et);
    return made;
}
