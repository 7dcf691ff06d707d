/* What Chrome's text of a timeline says before its events: when its 0 was, whose
 * it is, and all facts about the recordings. */
#ifndef FD_CHROME_HEAD_H
#define FD_CHROME_HEAD_H

#include "trace/export_options.h"
#include "trace/trace.h"

/* Append it up to the begin of the events. There is at least one rank. */
void fd_chrome_head(const fd_trace *trace, const fd_export_options *options,
                    fd_buffer *to);

#endif
