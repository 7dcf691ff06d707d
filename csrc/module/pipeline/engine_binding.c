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
            list, Py_BuildValue(
                      "(sssO)", rule->engine, rule->suffix, rule->qualified,
                      fd_map_get(&pipeline->matched, i + 1) != 0 ? Py_True
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
             : Py_BuildValue(
                 "{s:s,s:I,s:s,s:N,s:N,s:N,s:N}", "engine",
                 summary->engine != NULL ? summary->engine : "user",
                 "iterations", pipeline->iterations, "class", summary->name,
                 "stages", number_of(summary->stages), "processes",
                 number_of(summary->processes), "micro_batches",
                 number_of(summary->micro_batches), "rules", rules);
}

/* The rule keeps the texts for ever: calls may use it at any time. */
PyObject *
fd_pipeline_rule(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"path_suffix", "qualname", "kind",  "engine",
                            "role",        "local",    "also",  "own_order",
                            "mb",          "stage",    "chunk", "peer",
                            "buffer",      "bytes",    "when",  "plan",
                            "eval",        "owner",    NULL};
    fd_job_rule rule = {.engine = "user"};
    const char **sources = rule.sources;
    int role = FD_ROLE_JOB;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "sss|$sipppzzzzzzzzzz:pipeline_rule", names,
            &rule.suffix, &rule.qualified, &rule.kinds, &rule.engine, &role,
            &rule.local, &rule.also, &rule.own_order,
            &sources[FD_FIELD_MICRO_BATCH], &sources[FD_FIELD_STAGE],
            &sources[FD_FIELD_CHUNK], &sources[FD_FIELD_PEER],
            &sources[FD_FIELD_BUFFER], &sources[FD_FIELD_BYTES],
            &sources[FD_FIELD_WHEN], &sources[FD_FIELD_PLAN],
            &sources[FD_FIELD_EVAL], &sources[FD_FIELD_OWNER])) {
        return NULL;
    }
    rule.role = (fd_job_role)role;
    rule.texts =
        Py_BuildValue("(OO)", args, kwargs != NULL ? kwargs : Py_None);
    if (rule.texts == NULL || !fd_pipeline_add_rule(&rule)) {
        Py_XDECREF(rule.texts);
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}
