/* et_link(). */
#include "module/et/et_binding.h"

#include "et/tools/et_link.h"
#include "module/errors.h"

static PyObject *
link_counts(const fd_et_link *link, const fd_kineto *kineto)
{
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:s,s:K,s:K,s:K,s:K,s:s}",
        "linked", (unsigned long long)link->linked, "only_et",
        (unsigned long long)link->only_et, "only_kineto",
        (unsigned long long)link->only_kineto, "unnumbered",
        (unsigned long long)link->unnumbered, "renamed",
        (unsigned long long)link->renamed, "again",
        (unsigned long long)link->again, "kernels",
        (unsigned long long)link->kernels, "by_external",
        (unsigned long long)link->by_external, "alone",
        (unsigned long long)link->alone, "example", link->example, "events",
        (unsigned long long)kineto->events, "timeless",
        (unsigned long long)kineto->timeless, "lost",
        (unsigned long long)kineto->lost, "lost_bytes",
        (unsigned long long)kineto->lost_bytes, "trouble", kineto->trouble);
}

/* What the arguments own. */
typedef struct paths {
    PyObject *et;
    PyObject *kineto;
    PyObject *output;
} paths;

static PyObject *
run(PyObject *module, const paths *p, unsigned edges, long long rank)
{
    fd_et et;
    fd_kineto kineto;
    fd_et_link link = {.linked = 0};
    fd_error error = {""};
    fd_status status;
    PyObject *made;
    Py_BEGIN_ALLOW_THREADS
        status = fd_et_link_files(&et, PyBytes_AS_STRING(p->et),
                                  PyBytes_AS_STRING(p->kineto), edges, &link,
                                  &kineto, &error);
        et.rank = et.rank < 0 ? rank : et.rank;
        if (status == FD_OK) {
            status =
                fd_et_save(&et, PyBytes_AS_STRING(p->output), false, &error);
        }
    Py_END_ALLOW_THREADS
    made = status == FD_OK ? fd_et_answer(&et, FD_ET_PYTORCH)
                           : fd_raise(module, status, &error);
    if (made != NULL
        && !fd_et_put(made, "link", link_counts(&link, &kineto))) {
        Py_CLEAR(made);
    }
    fd_kineto_clear(&kineto);
    fd_et_clear(&et);
    return made;
}

PyObject *
fd_et_link_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "kineto", "output", "edges", "rank", NULL};
    paths p = {.et = NULL};
    unsigned edges = FD_ET_ALL_KINDS;
    long long rank = -1;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O&O&|$IL:et_link", names, PyUnicode_FSConverter,
            &p.et, PyUnicode_FSConverter, &p.kineto, PyUnicode_FSConverter,
            &p.output, &edges, &rank)) {
        made = run(module, &p, edges, rank);
    }
    Py_XDECREF(p.et);
    Py_XDECREF(p.kineto);
    Py_XDECREF(p.output);
    return made;
}
