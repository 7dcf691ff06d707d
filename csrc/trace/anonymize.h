/* Taking out of a trace what it says about its user, before anybody sees it:
 *
 *     train.py:[GPT]:loss        f_5b1f..:[f_90c2..]:f_7e4d..
 *     torch/..:[Linear]:forward  as it is
 *     blocks.3.attn              f_c07a...3.f_1d55..
 *
 * Equal names become equal names where the salt is equal, so that anonymous
 * recordings can be compared. */
#ifndef FD_ANONYMIZE_H
#define FD_ANONYMIZE_H

#include "trace/trace.h"

/* Hide the names of the project's files, classes and functions, of module
 * instances, ranges, threads and hosts, and of operators that are not
 * PyTorch's; drop facts about the run that may hold any. The trace is sorted
 * anew, and damaged when this fails. */
fd_status fd_trace_anonymize(fd_trace *trace, const char *salt, size_t size);

/* Cut `prefix` off the files of functions, and out of facts and notes. */
fd_status fd_trace_strip_prefix(fd_trace *trace, const char *prefix,
                                size_t size);

/* What is asked for of what is read; both are borrowed. */
typedef struct fd_privacy {
    const char *salt;   /* NULL: names stay */
    const char *prefix; /* NULL: nothing is cut */
} fd_privacy;

fd_status fd_privacy_apply(const fd_privacy *privacy, fd_trace *trace);

#endif
