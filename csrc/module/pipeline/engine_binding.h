/* Functions for the pipelines of known engines. */
#ifndef FD_ENGINE_BINDING_H
#define FD_ENGINE_BINDING_H

#include "capture/engines/engine_pipeline.h"

/* Session.attach_pipeline, Session.pipeline */
PyObject *fd_pipeline_attach(PyObject *self, PyObject *on_pipeline);
PyObject *fd_pipeline_facts(PyObject *self, PyObject *unused);

/* pipeline_rule */
PyObject *fd_pipeline_rule(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
