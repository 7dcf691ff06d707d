/* Functions on execution traces. */
#ifndef FD_ET_BINDING_H
#define FD_ET_BINDING_H

#include "et/et_file.h"
#include "module/state.h"

/* et_convert(path, output, *, edges, rank) -> dict */
PyObject *fd_et_convert_py(PyObject *module, PyObject *args, PyObject *kwargs);

/* et_info(path, *, edges, rank) -> dict */
PyObject *fd_et_info_py(PyObject *module, PyObject *args, PyObject *kwargs);

/* et_tables(path, *, edges, rank) -> dict */
PyObject *fd_et_tables_py(PyObject *module, PyObject *args, PyObject *kwargs);

/* et_link(path, kineto, output, *, edges, rank) -> dict */
PyObject *fd_et_link_py(PyObject *module, PyObject *args, PyObject *kwargs);

/* et_identity(path) -> dict */
PyObject *fd_et_identity_py(PyObject *module, PyObject *path);

/* et_export(path, pytorch, chakra, *, edges) -> dict */
PyObject *fd_et_export_py(PyObject *module, PyObject *args, PyObject *kwargs);

/* et_layer_calls(path) -> str */
PyObject *fd_et_layer_calls_py(PyObject *module, PyObject *path);

/* Return the summary of a trace as a dict, or NULL with an exception. */
PyObject *fd_et_summary_py(const fd_et *et, fd_et_format format);

#endif
