#include "capture/state/parameters.h"

#include "base/map.h"
#include "capture/rules/program_objects.h"

enum {
    MAX_DEPTH = 64,
    MAX_VISITS = 100000 /* maximum modules and parameters visited */
};

/* Objects of PyTorch; owned, NULL if missing. */
typedef struct accessors {
    PyObject *parameter; /* type torch.nn.Parameter */
    PyObject *tensor;
    PyObject *distributed; /* DTensor; NULL if not imported */
    PyObject *elements;    /* methods of all tensors */
    PyObject *element_bytes;
    PyObject *own;     /* names of attributes: "_parameters", */
    PyObject *modules; /* "_modules" */
} accessors;

typedef struct counting {
    accessors torch;
    fd_map seen; /* addresses of parameters: shared ones count once */
    int visits;
    fd_parameters sum;
} counting;

/* Return whether a function of torch._C returns `expected`. Used to check that
 * methods of tensors run no code of the program. */
static bool
function_returns(const char *function, PyObject *expected)
{
    PyObject *callable = fd_imported_attribute("torch._C", function);
    PyObject *result = callable == NULL ? NULL : PyObject_CallNoArgs(callable);
    bool as_expected = result == expected;
    Py_XDECREF(callable);
    Py_XDECREF(result);
    PyErr_Clear();
    return as_expected;
}

static bool
load_accessors(accessors *torch)
{
    PyObject *base = fd_imported_attribute("torch._C", "TensorBase");
    if (base != NULL) {
        torch->elements = PyObject_GetAttrString(base, "numel");
        torch->element_bytes = PyObject_GetAttrString(base, "element_size");
    }
    torch->parameter =
        fd_imported_attribute("torch.nn.parameter", "Parameter");
    torch->tensor = fd_imported_attribute("torch", "Tensor");
    torch->distributed =
        fd_imported_attribute("torch.distributed.tensor", "DTensor");
    torch->own = PyUnicode_InternFromString("_parameters");
    torch->modules = PyUnicode_InternFromString("_modules");
    Py_XDECREF(base);
    PyErr_Clear();
    return torch->own != NULL && torch->modules != NULL
        && torch->elements != NULL && torch->element_bytes != NULL
        && torch->parameter != NULL && torch->tensor != NULL;
}

static void
forget_accessors(accessors *torch)
{
    Py_CLEAR(torch->own);
    Py_CLEAR(torch->modules);
    Py_CLEAR(torch->elements);
    Py_CLEAR(torch->element_bytes);
    Py_CLEAR(torch->parameter);
    Py_CLEAR(torch->tensor);
    Py_CLEAR(torch->distributed);
}

static uint64_t
number_of(PyObject *method, PyObject *tensor)
{
    PyObject *result = PyObject_CallOneArg(method, tensor);
    unsigned long long number = result != NULL && PyLong_CheckExact(result)
                                  ? PyLong_AsUnsignedLongLong(result)
                                  : 0;
    bool failed = PyErr_Occurred() != NULL;
    Py_XDECREF(result);
    PyErr_Clear();
    return failed ? 0 : number;
}

static void
add_tensor(counting *c, PyObject *tensor)
{
    uint64_t elements = number_of(c->torch.elements, tensor);
    c->sum.elements += elements;
    c->sum.bytes += elements * number_of(c->torch.element_bytes, tensor);
}

static void
add_parameter(counting *c, PyObject *value)
{
    PyObject *type = (PyObject *)Py_TYPE(value);
    uint64_t address = (uintptr_t)value;
    if (value == Py_None || fd_map_get(&c->seen, address) != 0
        || fd_map_put(&c->seen, address, 1) != FD_OK) {
        return;
    }
    if (type == c->torch.parameter || type == c->torch.tensor
        || type == c->torch.distributed) {
        add_tensor(c, value);
    }
}

static void
add_module(counting *c, PyObject *module, int depth)
{
    Py_ssize_t at = 0;
    PyObject *key;
    PyObject *value;
    PyObject *own = fd_plain_dict(module, c->torch.own);
    while (own != NULL && c->visits++ < MAX_VISITS
           && PyDict_Next(own, &at, &key, &value)) {
        add_parameter(c, value);
    }
    PyObject *below = fd_plain_dict(module, c->torch.modules);
    at = 0;
    while (below != NULL && depth < MAX_DEPTH && c->visits++ < MAX_VISITS
           && PyDict_Next(below, &at, &key, &value)) {
        if (value != Py_None) {
            add_module(c, value, depth + 1);
        }
    }
}

fd_parameters
fd_parameters_of(PyObject *module)
{
    counting c = {.visits = 0};
    if (function_returns("_is_torch_function_mode_enabled", Py_False)
        && function_returns("_get_tracing_state", Py_None)
        && load_accessors(&c.torch)) {
        add_module(&c, module, 0);
    }
    if (c.visits >= MAX_VISITS) {
        c.sum = (fd_parameters){0, 0};
    }
    forget_accessors(&c.torch);
    fd_map_clear(&c.seen);
    return c.sum;
}
