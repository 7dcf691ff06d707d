/* Replace the names of the user in a trace by hashes:
 *
 *     train.py:[GPT]:loss        f_5b1f..:[f_90c2..]:f_7e4d..
 *     torch/..:[Linear]:forward  unchanged
 *     blocks.3.attn              f_c07a...3.f_1d55..
 *
 * Equal names with equal salts have equal hashes, so that anonymous recordings
 * can be compared. */
#ifndef FD_ANONYMIZE_H
#define FD_ANONYMIZE_H

#include "trace/trace.h"

/* Hide the names of the project's files, classes and functions, of module
 * instances, ranges, threads and hosts, and of operators other than PyTorch's;
 * remove facts about the run that may contain names. The trace is sorted
 * again. After a failure it cannot be used. */
fd_status fd_trace_anonymize(fd_trace *trace, const char *salt, size_t size);

/* Remove `prefix` from the files of functions, facts and notes. */
fd_status fd_trace_strip_prefix(fd_trace *trace, const char *prefix,
                                size_t size);

#endif
