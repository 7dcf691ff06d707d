/* fastdispatch._core.ClockServer, ClockClient: pings between ranks. */
#include "clocks/ping.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/state.h"

typedef struct server_object {
    PyObject_HEAD fd_ping_server *server; /* owned; NULL: closed */
    uint16_t port;
} server_object;

typedef struct client_object {
    PyObject_HEAD fd_ping_client *client; /* owned; NULL: closed */
} client_object;

/* Return the bytes of a token, borrowed, or NULL with an exception. */
static const uint8_t *
token_of(PyObject *bytes)
{
    if (PyBytes_GET_SIZE(bytes) != FD_PING_TOKEN) {
        PyErr_SetString(fd_value_error(), "a token has 16 bytes");
        return NULL;
    }
    return (const uint8_t *)PyBytes_AS_STRING(bytes);
}

static PyObject *
server_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "token", NULL};
    const char *address;
    PyObject *bytes;
    const uint8_t *token;
    fd_error error = {""};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sS:ClockServer", names,
                                     &address, &bytes)
        || (token = token_of(bytes)) == NULL) {
        return NULL;
    }
    server_object *self = (server_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    fd_status status = fd_ping_server_open(&self->server, address, token,
                                           &self->port, &error);
    return fd_new_or_raise(type, self, status, &error);
}

static PyObject *
server_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    server_object *object = (server_object *)self;
    fd_ping_server *server = object->server;
    object->server = NULL;
    Py_BEGIN_ALLOW_THREADS
        fd_ping_server_close(server);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static void
server_dealloc(PyObject *self)
{
    fd_ping_server_close(((server_object *)self)->server);
    fd_object_free(self);
}

static PyObject *
server_port(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((server_object *)self)->port);
}

static PyObject *
client_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "port", "token", NULL};
    const char *address;
    unsigned short port;
    PyObject *bytes;
    const uint8_t *token;
    fd_error error = {""};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sHS:ClockClient", names,
                                     &address, &port, &bytes)
        || (token = token_of(bytes)) == NULL) {
        return NULL;
    }
    client_object *self = (client_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    fd_status status =
        fd_ping_client_open(&self->client, address, port, token, &error);
    return fd_new_or_raise(type, self, status, &error);
}

static PyObject *
pings_of(const fd_ping *pings, size_t count)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < count; i++) {
        list =
            fd_list_with(list, Py_BuildValue("(LLL)", (long long)pings[i].sent,
                                             (long long)pings[i].replied,
                                             (long long)pings[i].received));
    }
    return list;
}

static PyObject *
client_finish(PyObject *self, PyObject *unused)
{
    (void)unused;
    client_object *object = (client_object *)self;
    fd_ping_client *client = object->client;
    const fd_ping *pings = NULL;
    const char *trouble = "finished";
    size_t count = 0;
    if (client == NULL) {
        return Py_BuildValue("([]s)", trouble);
    }
    object->client = NULL;
    Py_BEGIN_ALLOW_THREADS
        pings = fd_ping_client_finish(client, &count, &trouble);
    Py_END_ALLOW_THREADS
    PyObject *list = pings_of(pings, count);
    fd_ping_client_close(client);
    return list == NULL ? NULL : Py_BuildValue("(Ns)", list, trouble);
}

static void
client_dealloc(PyObject *self)
{
    fd_ping_client_close(((client_object *)self)->client);
    fd_object_free(self);
}

static PyMethodDef server_methods[] = {
    {"close", server_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\nStop the thread.")},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef server_properties[] = {
    {"port", server_port, NULL, PyDoc_STR("The UDP port."), NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef client_methods[] = {
    {"finish", client_finish, METH_NOARGS,
     PyDoc_STR("finish($self, /)\n--\n\n"
               "Send a last burst and stop the thread. Return the pings, and\n"
               "the reason if no reply arrived.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot server_slots[] = {
    {Py_tp_doc, "ClockServer(address, token)\n--\n\n"
                "A thread that replies with the clock of this machine to\n"
                "requests with the right token, on one address."},
    {Py_tp_new, server_new},
    {Py_tp_dealloc, server_dealloc},
    {Py_tp_methods, server_methods},
    {Py_tp_getset, server_properties},
    {0, NULL},
};

static PyType_Slot client_slots[] = {
    {Py_tp_doc, "ClockClient(address, port, token)\n--\n\n"
                "A thread that periodically measures the clock of another\n"
                "machine."},
    {Py_tp_new, client_new},
    {Py_tp_dealloc, client_dealloc},
    {Py_tp_methods, client_methods},
    {0, NULL},
};

PyType_Spec fd_clock_server_spec =
    FD_TYPE("ClockServer", server_object, server_slots);

PyType_Spec fd_clock_client_spec =
    FD_TYPE("ClockClient", client_object, client_slots);
