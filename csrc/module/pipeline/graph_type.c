/* fastdispatch._core.Graph: a model as a graph of layers. */
#define PY_SSIZE_T_CLEAN
#include "module/pipeline/graph_type.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "module/state.h"
#include "pipeline/planner/layer_graph_json.h"
#include "pipeline/planner/layer_graph_text.h"

typedef struct graph_object {
    PyObject_HEAD fd_model model; /* owned; never changes */
} graph_object;

const fd_model *
fd_model_of(PyObject *self)
{
    return &((graph_object *)self)->model;
}

static bool
is_json(const char *text, Py_ssize_t size)
{
    Py_ssize_t at = 0;
    while (at < size && Py_ISSPACE(text[at])) {
        at++;
    }
    return at < size && text[at] == '{';
}

static PyObject *
graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"text", "where", NULL};
    const char *text;
    Py_ssize_t size;
    const char *where = "graph";
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y#|s:Graph", names, &text,
                                     &size, &where)) {
        return NULL;
    }
    graph_object *self = (graph_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    fd_error error = {""};
    fd_status status =
        (is_json(text, size) ? fd_model_read_json : fd_model_read_text)(
            &self->model, text, (size_t)size, where, &error);
    return fd_new_or_raise(type, self, status, &error);
}

static void
graph_dealloc(PyObject *self)
{
    fd_model_clear(&((graph_object *)self)->model);
    fd_object_free(self);
}

static PyObject *
graph_text(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_buffer text = {.bytes = NULL};
    fd_model_write_text(fd_model_of(self), &text);
    return fd_buffer_object(&text);
}

static PyObject *
graph_json(PyObject *self, PyObject *unused)
{
    (void)unused;
    fd_buffer text = {.bytes = NULL};
    fd_model_write_json(fd_model_of(self), &text);
    return fd_buffer_object(&text);
}

static PyObject *
graph_order(PyObject *self, PyObject *unused)
{
    (void)unused;
    const fd_model *model = fd_model_of(self);
    return fd_number_list(model->order, model->nodes.count);
}

static PyMethodDef methods[] = {
    {"order", graph_order, METH_NOARGS,
     PyDoc_STR("order($self, /)\n--\n\nEach node after its inputs.")},
    {"text", graph_text, METH_NOARGS,
     PyDoc_STR(
         "text($self, /)\n--\n\nThe graph in the text format of planners.")},
    {"json", graph_json, METH_NOARGS,
     PyDoc_STR("json($self, /)\n--\n\nThe document.")},
    FD_KEYWORD_METHOD("optimize", fd_graph_optimize,
                      "optimize($self, machines, bandwidths, *, ratio=0,\n"
                      "         straight=False, fewer=False, true_cut=False,\n"
                      "         memory=0, room=0, optimizer=0,\n"
                      "         watch=None)\n--\n\n"
                      "Find the fastest pipeline."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Graph(text, where='graph')\n--\n\n"
                "A model as a graph of layers, from its text or JSON."},
    {Py_tp_new, graph_new},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fd_graph_spec = FD_TYPE("Graph", graph_object, slots);
