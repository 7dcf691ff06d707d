/* How names are to be hidden, as an argument of functions. */
#ifndef FD_ANONYMIZE_BINDING_H
#define FD_ANONYMIZE_BINDING_H

#include "module/state.h"
#include "trace/anonymize.h"

typedef struct fd_private {
    fd_privacy wish; /* its texts are those of the argument */
    bool asked;
} fd_private;

/* A converter: from None, or a salt (or None) and a prefix. */
int fd_take_private(PyObject *value, void *to);

/* NULL: names stay. */
static inline const fd_privacy *
fd_private_wish(const fd_private *private)
{
    return private->asked ? &private->wish : NULL;
}

#endif
