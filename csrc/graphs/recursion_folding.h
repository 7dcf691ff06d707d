/* Which functions of a trace are drawn, and why the others are not.
 *
 * Some thousand functions are no picture. What a reader looks for is his own
 * code and, of the frameworks, the functions that it calls: optimizer.step,
 * DataLoader.__next__, Linear.forward. So of torch and of the standard
 * library those are kept that are public and the first such below other code;
 * the machinery between two calls of a reader's functions (_call_impl, DDP,
 * decorators) is folded into its callers. */
#ifndef FD_RECURSION_FOLDING_H
#define FD_RECURSION_FOLDING_H

#include "profile/profile_rows.h"
#include "trace/export_options.h"

typedef enum fd_fate {
    FD_DRAWN,
    FD_LEFT_OUT, /* a thread, an operator that nobody asked for */
    FD_FOLDED_TORCH,
    FD_FOLDED_OTHER, /* standard library, generated code */
    FD_FOLDED_INNER, /* comprehensions, wrappers of decorators */
    FD_SMALL,        /* below the threshold */
    FD_JOINED,       /* --contract */
    FD_DELETED,      /* --hide */
    FD_FATES
} fd_fate;

typedef struct fd_folding {
    uint8_t *fates;               /* owned; fd_fate by group of FD_BY_NODE */
    uint32_t functions[FD_FATES]; /* how many Python functions and ranges */
    uint32_t operators[FD_FATES];
    double min_percent; /* the threshold that was asked for */
    uint64_t small;     /* the largest total that was dropped as small; may
                           lie above the threshold, when there were too many */
} fd_folding;

/* `rows` of `groups` by node; `whole` is what the percent are of. */
fd_status fd_folding_make(fd_folding *folding, const fd_trace *trace,
                          const fd_groups *groups, const fd_rows *rows,
                          uint64_t whole, const fd_export_options *options);
void fd_folding_clear(fd_folding *folding);

#endif
