/* Which functions of a trace are drawn, and the reason for each other one.
 *
 * Thousands of functions are not readable. Users look for their own code and
 * the functions of frameworks that it calls: optimizer.step,
 * DataLoader.__next__, Linear.forward. So only those functions of torch and of
 * the standard library are drawn that are public and the first such below
 * other code; the functions between two calls of user code (_call_impl, DDP,
 * decorators) are folded into their callers. */
#ifndef FD_FUNCTION_SELECTION_H
#define FD_FUNCTION_SELECTION_H

#include "profile/profile_rows.h"
#include "trace/export_options.h"

typedef enum fd_visibility {
    FD_DRAWN,
    FD_LEFT_OUT, /* a thread, an operator that was not requested */
    FD_FOLDED_TORCH,
    FD_FOLDED_OTHER, /* standard library, generated code */
    FD_FOLDED_INNER, /* comprehensions, wrappers of decorators */
    FD_SMALL,        /* below the threshold */
    FD_JOINED,       /* --contract */
    FD_DELETED,      /* --hide */
    FD_VISIBILITIES
} fd_visibility;

typedef struct fd_selection {
    uint8_t *visibility; /* owned; fd_visibility by group of FD_BY_NODE */
    uint32_t functions[FD_VISIBILITIES]; /* how many Python functions and
                                            ranges */
    uint32_t operators[FD_VISIBILITIES];
    double min_percent; /* the requested threshold */
    uint64_t small;     /* the largest total that was dropped as small; may
                           lie above the threshold, when there were too many */
} fd_selection;

/* `rows` of `groups` by node; percentages are of `whole`. */
fd_status fd_selection_make(fd_selection *selection, const fd_trace *trace,
                            const fd_groups *groups, const fd_rows *rows,
                            uint64_t whole, const fd_export_options *options);
void fd_selection_clear(fd_selection *selection);

#endif
