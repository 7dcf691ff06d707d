/* The state of the module object. */
#ifndef FD_STATE_H
#define FD_STATE_H

#include <Python.h>

typedef struct fd_module_state {
    PyObject *error;     /* owned, as are the types; fastdispatch.Error */
    PyTypeObject *trace; /* types of objects that functions create */
    PyTypeObject *folder;
} fd_module_state;

static inline fd_module_state *
fd_module_state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* Return the module of an object of one of its types, borrowed. */
static inline PyObject *
fd_module_of(PyObject *self)
{
    return PyType_GetModule(Py_TYPE(self));
}

/* The types of the module, in the order in which it adds them. */
extern PyType_Spec fd_session_spec;
extern PyType_Spec fd_trace_spec;
extern PyType_Spec fd_dispatch_spec;
extern PyType_Spec fd_label_spec;
extern PyType_Spec fd_job_spec;
extern PyType_Spec fd_clock_server_spec;
extern PyType_Spec fd_clock_client_spec;
extern PyType_Spec fd_folder_spec;
extern PyType_Spec fd_et_spec;

/* Initialize the specification of a type, which cannot be changed. */
#define FD_TYPE(type_name, object, type_slots) \
    { \
        .name = "fastdispatch._core." type_name, .basicsize = sizeof(object), \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, \
        .slots = type_slots \
    }

/* Free the memory of an object, as the last step of its tp_dealloc. */
static inline void
fd_object_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Define a method with keyword arguments. */
#define FD_KEYWORD_METHOD(name, function, doc) \
    { \
        name, (PyCFunction)(void (*)(void))(function), \
            METH_VARARGS | METH_KEYWORDS, PyDoc_STR(doc) \
    }

#endif
