/* Progress of work without the GIL, reported to a Python function. */
#ifndef FD_PROGRESS_BINDING_H
#define FD_PROGRESS_BINDING_H

#include "module/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_progress_call {
    PyObject *function; /* borrowed; called with (done, total); None: not
                            reported */
    bool raised;        /* true: an exception of it or of a signal handler is
                           set */
} fd_progress_call;

/* Called without the GIL. False: stop, also after a signal such as Ctrl-C. */
bool fd_report_progress(void *context, uint64_t done, uint64_t total);

#endif
