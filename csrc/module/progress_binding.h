/* Calls of Python functions from work without the GIL: progress. */
#ifndef FD_PROGRESS_BINDING_H
#define FD_PROGRESS_BINDING_H

#include "module/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct fd_progress_call {
    PyObject *function; /* borrowed; called with (done, total); None: do not
                           report */
    bool raised;        /* whether it or a signal handler has raised an
                           exception, which is set */
} fd_progress_call;

/* Report progress; call it without the GIL. Return false if the work must
 * stop, also after a signal such as Ctrl-C. */
bool fd_report_progress(void *context, uint64_t done, uint64_t total);

#endif
