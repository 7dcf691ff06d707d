/* The members of Chrome JSON before the events: the real time of time 0, the
 * ranks, all facts about the recordings. */
#ifndef FD_CHROME_HEAD_H
#define FD_CHROME_HEAD_H

#include "events/event_batch.h"
#include "trace/export_options.h"
#include "trace/trace.h"

/* Append the members with the opening brace, without the closing one. There
 * must be at least one rank. */
void fd_chrome_head(const fd_trace *trace, const fd_export_options *options,
                    fd_buffer *to);

/* Add the members to a batch. */
void fd_chrome_members(const fd_trace *trace, const fd_export_options *options,
                       fd_event_batch *batch);

#endif
