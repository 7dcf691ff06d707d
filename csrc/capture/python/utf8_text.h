/* Names as UTF-8. Names in a program may contain lone surrogates, which UTF-8
 * cannot encode: they are recorded as '?'. */
#ifndef FD_UTF8_TEXT_H
#define FD_UTF8_TEXT_H

#include "capture/python/pyframe.h"

/* Return a new reference to `text`, or to a copy with '?' for each lone
 * surrogate, for PyUnicode_AsUTF8. Return NULL with an exception if there is
 * no memory. */
PyObject *fd_utf8_text(PyObject *text);

/* fd_utf8_text for a value that may be NULL or of another type: returns NULL
 * then and if there is no memory. Sets no exception. */
PyObject *fd_utf8_text_of(PyObject *value);

/* Return the UTF-8 of a result of these functions, or `otherwise` for NULL. */
static inline const char *
fd_utf8(PyObject *text, const char *otherwise)
{
    return text != NULL ? PyUnicode_AsUTF8(text) : otherwise;
}

#endif
