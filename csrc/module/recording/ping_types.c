/* fastdispatch._core.ClockAnswerer and ClockAsker: pings between ranks. */
#include "clocks/ping.h"
#include "module/errors.h"
#include "module/state.h"

#include <stdbool.h>

typedef struct answerer_object {
    PyObject_HEAD fd_ping_server *answerer; /* owned; NULL: closed */
    uint16_t port;
} answerer_object;

typedef struct asker_object {
    PyObject_HEAD fd_ping_client *asker; /* owned; NULL: closed */
} asker_object;

/* The bytes of a token, borrowed; NULL with an exception. */
static const uint8_t *
token_of(PyObject *bytes)
{
    if (PyBytes_GET_SIZE(bytes) != FD_PING_TOKEN) {
        PyErr_SetString(PyExc_ValueError, "a token has 16 bytes");
        return NULL;
    }
    return (const uint8_t *)PyBytes_AS_STRING(bytes);
}

static PyObject *
answerer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "token", NULL};
    const char *address;
    PyObject *bytes;
    const uint8_t *token;
    fd_error error = {""};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sS:ClockAnswerer", names,
                                     &address, &bytes)
        || (token = token_of(bytes)) == NULL) {
        return NULL;
    }
    answerer_object *self = (answerer_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    fd_status status = fd_ping_server_open(&self->answerer, address, token,
                                           &self->port, &error);
    if (status != FD_OK) {
        Py_DECREF(self);
        return fd_raise(PyType_GetModule(type), status, &error);
    }
    return (PyObject *)self;
}

static PyObject *
answerer_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    answerer_object *object = (answerer_object *)self;
    fd_ping_server *answerer = object->answerer;
    object->answerer = NULL;
    Py_BEGIN_ALLOW_THREADS
        fd_ping_server_close(answerer);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static void
answerer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    fd_ping_server_close(((answerer_object *)self)->answerer);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
answerer_port(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((answerer_object *)self)->port);
}

static PyObject *
asker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "port", "token", NULL};
    const char *address;
    unsigned short port;
    PyObject *bytes;
    const uint8_t *token;
    fd_error error = {""};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sHS:ClockAsker", names,
                                     &address, &port, &bytes)
        || (token = token_of(bytes)) == NULL) {
        return NULL;
    }
    asker_object *self = (asker_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    fd_status status =
        fd_ping_client_open(&self->asker, address, port, token, &error);
    if (status != FD_OK) {
        Py_DECREF(self);
        return fd_raise(PyType_GetModule(type), status, &error);
    }
    return (PyObject *)self;
}

static PyObject *
pings_of(const fd_ping *pings, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *one = Py_BuildValue("(LLL)", (long long)pings[i].sent,
                                      (long long)pings[i].answered,
                                      (long long)pings[i].received);
        if (one == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, one);
    }
    return list;
}

static PyObject *
asker_finish(PyObject *self, PyObject *unused)
{
    (void)unused;
    asker_object *object = (asker_object *)self;
    fd_ping_client *asker = object->asker;
    const fd_ping *pings = NULL;
    const char *trouble = "finished";
    size_t count = 0;
    if (asker == NULL) {
        return Py_BuildValue("([]s)", trouble);
    }
    object->asker = NULL;
    Py_BEGIN_ALLOW_THREADS
        pings = fd_ping_client_finish(asker, &count, &trouble);
    Py_END_ALLOW_THREADS
    PyObject *list = pings_of(pings, count);
    fd_ping_client_close(asker);
    return list == NULL ? NULL : Py_BuildValue("(Ns)", list, trouble);
}

static void
asker_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    fd_ping_client_close(((asker_object *)self)->asker);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef answerer_methods[] = {
    {"close", answerer_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\nAnswer no more.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef answerer_properties[] = {
    {"port", answerer_port, NULL, PyDoc_STR("The UDP port."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef asker_methods[] = {
    {"finish", asker_finish, METH_NOARGS,
     PyDoc_STR("finish($self, /)\n--\n\n"
               "Ping once more and end; returns the pings, and why there are\n"
               "none.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot answerer_slots[] = {
    {Py_tp_doc, "ClockAnswerer(address, token)\n--\n\n"
                "A thread that replies to pings with the right token with\n"
                "this machine's clock, on one address."},
    {Py_tp_new, answerer_new},
    {Py_tp_dealloc, answerer_dealloc},
    {Py_tp_methods, answerer_methods},
    {Py_tp_getset, answerer_properties},
    {0, NULL},
};

static PyType_Slot asker_slots[] = {
    {Py_tp_doc, "ClockAsker(address, port, token)\n--\n\n"
                "A thread that asks for another machine's clock now and\n"
                "then."},
    {Py_tp_new, asker_new},
    {Py_tp_dealloc, asker_dealloc},
    {Py_tp_methods, asker_methods},
    {0, NULL},
};

static PyType_Spec answerer_spec = {
    .name = "fastdispatch._core.ClockAnswerer",
    .basicsize = sizeof(answerer_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = answerer_slots,
};

static PyType_Spec asker_spec = {
    .name = "fastdispatch._core.ClockAsker",
    .basicsize = sizeof(asker_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = asker_slots,
};

static int
add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int result =
        type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    Py_XDECREF(type);
    return result;
}

int
fd_ping_types_init(PyObject *module)
{
    return add_type(module, &answerer_spec) < 0
                || add_type(module, &asker_spec) < 0
             ? -1
             : 0;
}
