/* fastdispatch._core.ClockServer, ClockClient: pings between ranks. */
#include "clocks/ping.h"
#include "module/errors.h"
#include "module/field_tables.h"
#include "module/state.h"

typedef struct server_object {
    PyObject_HEAD bool open; /* whether the thread must be ended */
    fd_ping_server server;
} server_object;

typedef struct client_object {
    PyObject_HEAD bool open;
    fd_ping_client client;
} client_object;

/* Get the arguments: a descriptor, which belongs to the thread, and a token.
 * Return the new object with the token at `offset`, or NULL. */
static void *
object_of(PyTypeObject *type, PyObject *args, PyObject *kwargs, size_t offset,
          int *socket)
{
    static char *names[] = {"socket", "token", NULL};
    PyObject *bytes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iS", names, socket,
                                     &bytes)) {
        return NULL;
    }
    if (PyBytes_GET_SIZE(bytes) != FD_PING_TOKEN) {
        PyErr_SetString(fd_value_error(), "a token has 16 bytes");
        return NULL;
    }
    char *self = (char *)type->tp_alloc(type, 0);
    if (self != NULL) {
        memcpy(self + offset, PyBytes_AS_STRING(bytes), FD_PING_TOKEN);
    }
    return self;
}

static PyObject *
server_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int socket;
    fd_error error = {""};
    server_object *self = object_of(
        type, args, kwargs, offsetof(server_object, server.token), &socket);
    if (self == NULL) {
        return NULL;
    }
    fd_status status = fd_ping_server_start(&self->server, socket, &error);
    self->open = status == FD_OK;
    return fd_new_or_raise(type, self, status, &error);
}

static PyObject *
server_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    server_object *object = (server_object *)self;
    bool open = object->open;
    object->open = false;
    if (open) {
        Py_BEGIN_ALLOW_THREADS
            fd_ping_thread_end(&object->server.thread);
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

static void
server_dealloc(PyObject *self)
{
    server_object *object = (server_object *)self;
    if (object->open) {
        fd_ping_thread_end(&object->server.thread);
    }
    fd_object_free(self);
}

static PyObject *
client_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    int socket;
    fd_error error = {""};
    client_object *self = object_of(
        type, args, kwargs, offsetof(client_object, client.token), &socket);
    if (self == NULL) {
        return NULL;
    }
    fd_status status = fd_ping_client_start(&self->client, socket, &error);
    self->open = status == FD_OK;
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
    bool open = object->open;
    object->open = false;
    if (!open) {
        return PyList_New(0);
    }
    Py_BEGIN_ALLOW_THREADS
        fd_ping_thread_end(&object->client.thread);
    Py_END_ALLOW_THREADS
    return pings_of(object->client.pings, object->client.kept);
}

static void
client_dealloc(PyObject *self)
{
    client_object *object = (client_object *)self;
    if (object->open) {
        fd_ping_thread_end(&object->client.thread);
    }
    fd_object_free(self);
}

static PyMethodDef server_methods[] = {
    {"close", server_close, METH_NOARGS,
     PyDoc_STR("close($self, /)\n--\n\nStop the thread.")},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef client_methods[] = {
    {"finish", client_finish, METH_NOARGS,
     PyDoc_STR("finish($self, /)\n--\n\n"
               "Send a last burst and stop the thread. Return the pings.")},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot server_slots[] = {
    {Py_tp_doc, "ClockServer(socket, token)\n--\n\n"
                "A thread that replies with the clock of this machine to\n"
                "requests with the right token."},
    {Py_tp_new, server_new},
    {Py_tp_dealloc, server_dealloc},
    {Py_tp_methods, server_methods},
    {0, NULL},
};

static PyType_Slot client_slots[] = {
    {Py_tp_doc, "ClockClient(socket, token)\n--\n\n"
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
