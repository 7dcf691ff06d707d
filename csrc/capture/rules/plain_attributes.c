#include "capture/rules/plain_attributes.h"

/* A descriptor of the type may run code, unless it is a slot of CPython; the
 * dict of the instance never does. */
PyObject *
fd_plain_attribute(PyObject *object, PyObject *name)
{
    const PyObject *shared = _PyType_Lookup(Py_TYPE(object), name);
    if (shared != NULL && Py_TYPE(shared)->tp_descr_get != NULL
        && !Py_IS_TYPE(shared, &PyMemberDescr_Type)) {
        return NULL;
    }
    PyObject *value = PyObject_GenericGetAttr(object, name);
    if (value == NULL) {
        PyErr_Clear();
    }
    return value;
}
