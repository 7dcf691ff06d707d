#include "capture/python/utf8_text.h"

PyObject *
fd_utf8_text(PyObject *text)
{
    if (PyUnicode_AsUTF8(text) != NULL) {
        return Py_NewRef(text);
    }
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        return NULL;
    }
    PyErr_Clear();
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    PyObject *copy = bytes == NULL
                       ? NULL
                       : PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes),
                                              PyBytes_GET_SIZE(bytes), NULL);
    Py_XDECREF(bytes);
    if (copy != NULL && PyUnicode_AsUTF8(copy) == NULL) {
        Py_CLEAR(copy);
    }
    return copy;
}

PyObject *
fd_utf8_text_of(PyObject *value)
{
    PyObject *text =
        value != NULL && PyUnicode_Check(value) ? fd_utf8_text(value) : NULL;
    if (text == NULL) {
        PyErr_Clear();
    }
    return text;
}
