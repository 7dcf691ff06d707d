/* Which functions of a trace are drawn, and why the others are not.
 *
 * Some thousand functions are no picture. What a reader looks for is his own
 * code and, of the frameworks, the functions that it calls: optimizer.step,
 * DataLoader.__next__, Linear.forward. So of torch and of the standard
 * library those are kept that are public and the first such below other code;
 * the machinery between two calls of a reader's functions (_call_impl, DDP,
 * decorators) is folded into its callers. */
#ifndef FD_FUNCTION_SELECTION_H
#define FD_FUNCTION_SELECTION_H

#include "profile/profile_rows.h"
#include "trace/export_options.h"

typedef enum fd_visibility {
    FD_DRAWN,
    FD_LEFT_OUT, /* a thread, an operator that nobody asked for */
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
    uint32_t
        functions[FD_VISIBILITIES]; /* how many Python functions and ranges */
    uint32_t operators[FD_VISIBILITIES];
    double min_percent; /* the threshold that was asked for */
    uint64_t small;     /* the largest total that was dropped as small; may
                           lie above the threshold, when there were too many */
} fd_selection;

/* `rows` of `groups` by node; `whole` is what the percent are of. */
fd_status fd_selection_make(fd_selection *selection, const fd_trace *trace,
                            const fd_groups *groups, const fd_rows *rows,
                            uint64_t whole, const fd_export_options *options);
void fd_selection_clear(fd_selection *selection);

#endif
