/* optimize(): optimization of the pipeline of a model, with the result as a
 * dict. */
#include "module/pipeline/optimize_binding.h"

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
stage_list(const fd_pipeline *pipeline)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < pipeline->layers.count; i++) {
        list = fd_list_with(list,
                            PyLong_FromLong(fd_pipeline_stage(pipeline, i)));
    }
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
        "stage_of_layer", stage_list(pipeline));
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
search_plan(PyObject *module, const fd_model *model,
            const fd_pipeline_request *request)
{
    fd_pipeline pipeline;
    fd_arena arena = {.first = NULL};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_pipeline_find(&pipeline, &arena, model, request, &error);
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK
                       ? result_of(&pipeline, &request->costs, model)
                       : fd_raise(module, status, &error);
    fd_arena_clear(&arena);
    return made;
}

/* Return the number of entries of an array, or -1. An empty one may be
 * anywhere. */
static Py_ssize_t
entries_of(const Py_buffer *array, Py_ssize_t size, uintptr_t align)
{
    bool fits = array->len % size == 0 && array->len / size <= INT32_MAX
             && (array->len == 0 || (uintptr_t)array->buf % align == 0);
    return fits ? array->len / size : -1;
}

/* Make a model of the columns. `names` is an array to fill, one pointer per
 * layer. Return false with an exception if the lengths do not agree. */
static bool
take_model(fd_model *model, PyObject *ids, const char **names,
           const Py_buffer *costs, const Py_buffer *edges)
{
    Py_ssize_t count = entries_of(costs, sizeof(fd_layer), _Alignof(fd_layer));
    Py_ssize_t edge_count =
        entries_of(edges, sizeof(fd_layer_edge), _Alignof(fd_layer_edge));
    if (count != PyTuple_GET_SIZE(ids) || edge_count < 0) {
        PyErr_SetString(fd_value_error(),
                        "ids, costs and edges: five numbers per id, two "
                        "indices per edge");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        char *name = NULL;
        if (PyBytes_AsStringAndSize(PyTuple_GET_ITEM(ids, i), &name, NULL)
            < 0) {
            return false;
        }
        names[i] = name;
    }
    *model = (fd_model){.layers = costs->buf,
                        .ids = names,
                        .edges = edges->buf,
                        .count = (uint32_t)count,
                        .edge_count = (uint32_t)edge_count};
    return true;
}

/* The arguments with memory. */
typedef struct columns {
    PyObject *ids;
    Py_buffer costs;
    Py_buffer edges;
    PyObject *machines;
    PyObject *bandwidths;
    PyObject *watch;
    Py_buffer view;
} columns;

static PyObject *
plan_columns(PyObject *module, columns *given, fd_pipeline_request *request)
{
    fd_model model;
    PyObject *made = NULL;
    const char **names =
        fd_calloc((size_t)PyTuple_GET_SIZE(given->ids) + 1, sizeof *names);
    if (names == NULL) {
        PyErr_NoMemory();
    }
    else if (take_model(&model, given->ids, names, &given->costs,
                        &given->edges)
             && take_levels(&request->costs, given->machines,
                            given->bandwidths)
             && take_watch(request, given->watch, &given->view)) {
        made = search_plan(module, &model, request);
    }
    fd_free(names);
    return made;
}

PyObject *
fd_optimize_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ids",        "costs",  "edges",    "machines",
                            "bandwidths", "ratio",  "straight", "fewer",
                            "true_cut",   "memory", "room",     "optimizer",
                            "watch",      NULL};
    columns given = {.watch = Py_None};
    PyObject *made = NULL;
    fd_pipeline_request request = {.watch = NULL};
    fd_costs *costs = &request.costs;
    int straight = 0;
    int fewer = 0;
    int true_cut = 0;
    int memory = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!y*y*O!O!|$dpppiddO:optimize", names,
            &PyTuple_Type, &given.ids, &given.costs, &given.edges,
            &PyList_Type, &given.machines, &PyList_Type, &given.bandwidths,
            &costs->ratio, &straight, &fewer, &true_cut, &memory,
            &costs->capacity, &costs->optimizer, &given.watch)) {
        return NULL;
    }
    costs->straight = straight != 0;
    costs->fewer = fewer != 0;
    costs->true_cut = true_cut != 0;
    costs->memory = (fd_memory_model)memory;
    if (memory < FD_MEMORY_FREE || memory > FD_MEMORY_FLUSHED) {
        PyErr_Format(fd_value_error(), "memory=%d: 0 to 3", memory);
    }
    else {
        made = plan_columns(module, &given, &request);
    }
    PyBuffer_Release(&given.costs);
    PyBuffer_Release(&given.edges);
    PyBuffer_Release(&given.view);
    return made;
}
