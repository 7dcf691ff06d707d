/* Names as UTF-8. Names of a program may have lone surrogates, which UTF-8
 * cannot encode: they are recorded as '?'. */
#ifndef FD_UTF8_TEXT_H
#define FD_UTF8_TEXT_H

#include "capture/python/pyframe.h"

/* New reference to `text`, or to a copy with '?' for each lone surrogate:
 * PyUnicode_AsUTF8 works on it. NULL without memory, with an exception. */
PyObject *fd_utf8_text(PyObject *text);

/* The same for a value that may be NULL or of another type; NULL for those and
 * without memory. Sets no exception. */
PyObject *fd_utf8_text_of(PyObject *value);

/* The UTF-8 of a result of these functions; `otherwise` for NULL. */
static inline const char *
fd_utf8(PyObject *text, const char *otherwise)
{
    return text != NULL ? PyUnicode_AsUTF8(text) : otherwise;
}

#endif
