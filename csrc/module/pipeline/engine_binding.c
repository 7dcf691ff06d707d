/* fastdispatch._core.pipeline_rule, Session.attach_pipeline, Session.pipeline:
 * jobs of pipeline engines. */
#include "module/pipeline/engine_binding.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "module/recording/operands_binding.h"

PyObject *
fd_pipeline_attach(PyObject *self, PyObject *on_pipeline)
{
    fd_session *session = fd_session_of(self);
    if (session->pipeline == NULL) {
        session->pipeline = fd_pipeline_new();
    }
    if (session->pipeline == NULL) {
        return PyErr_NoMemory();
    }
    Py_XSETREF(session->pipeline->on_pipeline, Py_NewRef(on_pipeline));
    Py_RETURN_NONE;
}

/* [(engine, qualified name, whether a call matched), ...] */
static PyObject *
rules_of(const fd_engine_pipeline *pipeline)
{
    PyObject *list = PyList_New(0);
    uint32_t count = fd_job_rules_count();
    for (uint32_t i = 0; i < count && list != NULL; i++) {
        const fd_job_rule *rule = fd_job_rule_at(i);
        list = fd_list_with(
            list, Py_BuildValue("(sssO)", fd_job_engine_name(rule->engine),
                                rule->suffix, rule->qualified,
                                fd_map_get(&pipeline->matched, i + 1) != 0
                                    ? Py_True
                                    : Py_False));
    }
    return list;
}

static PyObject *
number_of(int64_t number)
{
    return number < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(number);
}

PyObject *
fd_pipeline_facts(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_engine_pipeline *pipeline = fd_session_of(self)->pipeline;
    if (pipeline == NULL) {
        Py_RETURN_NONE;
    }
    const fd_pipeline_summary *summary = &pipeline->summary;
    PyObject *rules = rules_of(pipeline);
    return rules == NULL
             ? NULL
             : Py_BuildValue("{s:s,s:I,s:s,s:N,s:N,s:N,s:N}", "engine",
                             fd_job_engine_name(summary->engine), "iterations",
                             pipeline->iterations, "class", summary->name,
                             "stages", number_of(summary->stages), "processes",
                             number_of(summary->processes), "micro_batches",
                             number_of(summary->micro_batches), "rules",
                             rules);
}

PyObject *
fd_pipeline_rule(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path_suffix", "qualname", "kind", "mb",
                            "stage",       "chunk",    "peer", "buffer",
                            "bytes",       "when",     NULL};
    fd_job_rule rule = {.engine = FD_ENGINE_USER};
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "sss|$zzzzzzz:pipeline_rule", names, &rule.suffix,
            &rule.qualified, &rule.kinds, &rule.micro_batch, &rule.stage,
            &rule.chunk, &rule.peer, &rule.buffer, &rule.bytes, &rule.when)) {
        return NULL;
    }
    if (strcmp(rule.kinds, "ITER") == 0) {
        rule.role = FD_ROLE_ITERATION;
    }
    fd_error error = {""};
    fd_status status = fd_pipeline_add_rule(&rule, &error);
    return fd_none_or_raise(module, status, &error);
}
