/* partition(): conversion of arguments and results. */
#include "module/pipeline/partition_binding.h"

#include "base/alloc.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "pipeline/deepspeed_partition.h"

#include <stdbool.h>
#include <string.h>

static bool
find_cut(const char *name, fd_cut *cut)
{
    static const char *const names[] = {"uniform", "balanced", "bottleneck"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            *cut = (fd_cut)i;
            return true;
        }
    }
    PyErr_Format(fd_value_error(),
                 "method=%s: one of uniform, balanced, bottleneck", name);
    return false;
}

static PyObject *
cut_list(PyObject *module, fd_cut cut, PyObject *list, uint32_t stages)
{
    uint32_t layers = (uint32_t)PyList_GET_SIZE(list) - 1;
    double *sums = fd_take_numbers(list, "d", sizeof *sums);
    uint32_t *cuts = fd_calloc((size_t)stages + 1, sizeof *cuts);
    PyObject *made = NULL;
    if (sums != NULL && cuts == NULL) {
        PyErr_NoMemory();
    }
    else if (sums != NULL) {
        fd_error error = {""};
        fd_status status;
        Py_BEGIN_ALLOW_THREADS
            status = fd_partition(cut, sums, layers, stages, cuts, &error);
        Py_END_ALLOW_THREADS
        made = status == FD_OK ? fd_number_list(cuts, stages + 1)
                               : fd_raise(module, status, &error);
    }
    fd_free(sums);
    fd_free(cuts);
    return made;
}

PyObject *
fd_partition_py(PyObject *module, PyObject *args)
{
    PyObject *sums;
    long long stages;
    const char *method;
    fd_cut cut;
    if (!PyArg_ParseTuple(args, "O!Ls:partition", &PyList_Type, &sums, &stages,
                          &method)
        || !find_cut(method, &cut)) {
        return NULL;
    }
    Py_ssize_t entries = PyList_GET_SIZE(sums);
    if (entries < 1 || entries > INT32_MAX) {
        PyErr_SetString(fd_value_error(), "sums: from one entry on");
        return NULL;
    }
    if (stages < 0 || stages > FD_STAGES_MAX) {
        fd_error error = {""};
        return fd_raise(module,
                        fd_fail(&error, FD_EINVAL, "%lld stages: 1 to %d",
                                stages, FD_STAGES_MAX),
                        &error);
    }
    return cut_list(module, cut, sums, (uint32_t)stages);
}
