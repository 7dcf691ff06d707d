/* Selection of the functions to draw, with a reason for each function that is
 * not drawn.
 *
 * Thousands of functions are not readable. Users look for their own code and
 * the functions of frameworks that it calls: optimizer.step,
 * DataLoader.__next__, Linear.forward. Therefore, functions of torch and of
 * the standard library are drawn only if they are public and are the first
 * such function below other code; the functions between two calls of user code
 * (_call_impl, DDP, decorators) are folded into their callers. */
#ifndef FD_FUNCTION_SELECTION_H
#define FD_FUNCTION_SELECTION_H

#include "profile/profile_rows.h"
#include "trace/export_options.h"

typedef enum fd_visibility {
    FD_DRAWN,
    FD_LEFT_OUT, /* a thread, or an operator that was not requested */
    FD_FOLDED_TORCH,
    FD_FOLDED_OTHER,   /* standard library, generated code */
    FD_FOLDED_RUNNING, /* of libraries, without a call in the recording */
    FD_FOLDED_INNER,   /* comprehensions, wrappers of decorators */
    FD_SMALL,          /* below the threshold */
    FD_JOINED,         /* contracted by --contract */
    FD_DELETED,        /* deleted by --hide */
    FD_VISIBILITIES
} fd_visibility;

typedef struct fd_selection {
    uint8_t *visibility; /* owned; fd_visibility by group of FD_BY_NODE */
    /* number of Python functions and ranges */
    uint32_t functions[FD_VISIBILITIES];
    uint32_t operators[FD_VISIBILITIES];
    double min_percent; /* the threshold */
    /* largest total that was dropped as small; it can be above the threshold
     * if there were too many functions */
    uint64_t small;
} fd_selection;

/* Select the functions. `rows` are those of `groups` by node; percentages
 * refer to `whole`. */
fd_status fd_selection_make(fd_selection *selection, const fd_trace *trace,
                            const fd_groups *groups, const fd_rows *rows,
                            uint64_t whole, const fd_export_options *options);
void fd_selection_clear(fd_selection *selection);

#endif
