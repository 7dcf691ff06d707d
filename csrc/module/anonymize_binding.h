/* Privacy options as an argument of functions, and hashes of single names. */
#ifndef FD_ANONYMIZE_BINDING_H
#define FD_ANONYMIZE_BINDING_H

#include "module/state.h"
#include "trace/anonymize.h"

typedef struct fd_private {
    fd_privacy privacy; /* borrows the strings of the argument */
    bool requested;
} fd_private;

/* Convert an argument: None, or a salt (or None) and a prefix. */
int fd_take_private(PyObject *value, void *to);

/* Return the options, or NULL if names are not hidden. */
static inline const fd_privacy *
fd_private_options(const fd_private *private)
{
    return private->requested ? &private->privacy : NULL;
}

/* anonymous_name(salt, name) -> str */
PyObject *fd_anonymous_name_py(PyObject *module, PyObject *args);

#endif
