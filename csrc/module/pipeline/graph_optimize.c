/* Graph.optimize(): optimization of the pipeline of a model, with the result
 * as a dict. */
#include "module/pipeline/graph_type.h"

#include "base/alloc.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "pipeline/planner/planner.h"

#include <math.h>

static bool
take_levels(fd_costs *costs, PyObject *machines, PyObject *bandwidths)
{
    Py_ssize_t levels = PyList_GET_SIZE(machines);
    if (levels != PyList_GET_SIZE(bandwidths) || levels > FD_PLAN_LEVELS) {
        PyErr_Format(fd_value_error(),
                     "machines and bandwidths: give one of each per level, at "
                     "most %d levels",
                     FD_PLAN_LEVELS);
        return false;
    }
    costs->levels = (uint32_t)levels;
    for (Py_ssize_t i = 0; i < levels; i++) {
        unsigned long count =
            PyLong_AsUnsignedLong(PyList_GET_ITEM(machines, i));
        costs->machines[i] = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
        costs->bandwidths[i] =
            PyFloat_AsDouble(PyList_GET_ITEM(bandwidths, i));
        if (PyErr_Occurred() != NULL) {
            return false;
        }
    }
    return true;
}

/* Return the bytes that a stage passes on. */
static double
sent_bytes(const fd_pipeline *pipeline, const fd_costs *costs, fd_block block)
{
    const fd_states *states = &pipeline->states;
    return block.last + 1 == states->count
             ? 0
             : fd_cuts_of(costs, states)[block.last];
}

static PyObject *
stage_dict(const fd_pipeline *pipeline, const fd_costs *costs,
           const fd_model *model, const fd_stage *stage)
{
    fd_block_ends ends = fd_pipeline_ends(pipeline, model, stage->block);
    double time = stage->cost.compute + stage->cost.reduce;
    return Py_BuildValue(
        "{s:I,s:I,s:I,s:I,s:I,s:s,s:s,s:I,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,s:d,"
        "s:d}",
        "level", (unsigned)stage->level, "parent", (unsigned)stage->parent,
        "first",
        stage->block.first == FD_NO_STATE ? 0 : stage->block.first + 1, "last",
        (unsigned)stage->block.last + 1, "replicas", (unsigned)stage->machines,
        "first_node", ends.first, "last_node", ends.last, "layers",
        (unsigned)ends.layers, "forward_s",
        fd_state_sum(pipeline->states.forward, stage->block) / stage->machines,
        "compute_s", stage->cost.compute, "reduce_s", stage->cost.reduce,
        "in_s", stage->cost.in, "out_s", stage->cost.out, "time_s",
        fmax(time, fmax(stage->cost.in, stage->cost.out)), "memory_bytes",
        stage->memory, "parameter_bytes",
        fd_state_sum(pipeline->states.parameters, stage->block), "saved_bytes",
        fd_state_sum(pipeline->states.saved, stage->block), "sent_bytes",
        sent_bytes(pipeline, costs, stage->block));
}

static PyObject *
stage_dicts(const fd_pipeline *pipeline, const fd_costs *costs,
            const fd_model *model)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < pipeline->best.stages.count;
         i++) {
        list = fd_list_with(list, stage_dict(pipeline, costs, model,
                                             &pipeline->best.stages.list[i]));
    }
    return list;
}

static PyObject *
stage_list(const fd_pipeline *pipeline, const fd_model *model)
{
    int32_t *stages =
        fd_calloc((size_t)model->nodes.count + 1, sizeof *stages);
    PyObject *list = NULL;
    if (stages == NULL) {
        return PyErr_NoMemory();
    }
    fd_pipeline_stages(pipeline, model, stages);
    list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < model->nodes.count; i++) {
        list = fd_list_with(list, PyLong_FromLong(stages[i]));
    }
    fd_free(stages);
    return list;
}

static PyObject *
result_of(const fd_pipeline *pipeline, const fd_costs *costs,
          const fd_model *model)
{
    const fd_optimum *best = &pipeline->best;
    const fd_states *states = &pipeline->states;
    bool complete =
        states->complete && best->bound >= best->time * (1 - 1e-12);
    return Py_BuildValue(
        "{s:I,s:I,s:N,s:d,s:d,s:d,s:d,s:I,s:N,s:N}", "layers",
        (unsigned)pipeline->layers.count, "states",
        (unsigned)(states->complete ? states->found : states->count),
        "complete", PyBool_FromLong(complete), "single_machine_s",
        best->one_machine, "data_parallel_s", best->data_parallel,
        "time_per_stage_s", best->time, "bound_s", best->bound, "unused",
        (unsigned)best->unused, "stages", stage_dicts(pipeline, costs, model),
        "stage_of_node", stage_list(pipeline, model));
}

/* Get the buffer of numbers that a watching thread reads; None: no thread
 * watches. The view must be released in any case. */
static bool
take_watch(fd_pipeline_request *request, PyObject *watch, Py_buffer *view)
{
    if (watch == Py_None) {
        return true;
    }
    if (PyObject_GetBuffer(watch, view, PyBUF_WRITABLE) < 0) {
        return false;
    }
    if (view->len < (Py_ssize_t)sizeof(fd_watch)
        || (uintptr_t)view->buf % _Alignof(fd_watch) != 0) {
        PyErr_SetString(fd_value_error(), "watch: three numbers, array('d')");
        return false;
    }
    request->watch = view->buf;
    return true;
}

static PyObject *
search_plan(PyObject *self, const fd_pipeline_request *request)
{
    fd_pipeline pipeline;
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status =
            fd_pipeline_find(&pipeline, fd_model_of(self), request, &error);
    Py_END_ALLOW_THREADS
    PyObject *made =
        status == FD_OK
            ? result_of(&pipeline, &request->costs, fd_model_of(self))
            : fd_raise(fd_module_of(self), status, &error);
    fd_pipeline_clear(&pipeline);
    return made;
}

PyObject *
fd_graph_optimize(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"machines",  "bandwidths", "ratio",  "straight",
                            "fewer",     "true_cut",   "memory", "room",
                            "optimizer", "watch",      NULL};
    PyObject *watch = Py_None;
    Py_buffer view = {.buf = NULL};
    PyObject *machines;
    PyObject *bandwidths;
    PyObject *made = NULL;
    fd_pipeline_request request = {.watch = NULL};
    fd_costs *costs = &request.costs;
    int straight = 0;
    int fewer = 0;
    int true_cut = 0;
    int memory = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O!|$dpppiddO:optimize", names, &PyList_Type,
            &machines, &PyList_Type, &bandwidths, &costs->ratio, &straight,
            &fewer, &true_cut, &memory, &costs->capacity, &costs->optimizer,
            &watch)) {
        return NULL;
    }
    costs->straight = straight != 0;
    costs->fewer = fewer != 0;
    costs->true_cut = true_cut != 0;
    costs->memory = (fd_memory_model)memory;
    if (memory < FD_MEMORY_FREE || memory > FD_MEMORY_FLUSHED) {
        PyErr_Format(fd_value_error(), "memory=%d: 0 to 3", memory);
    }
    else if (take_levels(costs, machines, bandwidths)
             && take_watch(&request, watch, &view)) {
        made = search_plan(self, &request);
    }
    PyBuffer_Release(&view);
    return made;
}
