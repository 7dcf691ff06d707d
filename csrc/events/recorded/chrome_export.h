/* The timeline as Chrome trace events in JSON, object form.
 * "Trace Event Format", Google, 2016. */
#ifndef FD_CHROME_EXPORT_H
#define FD_CHROME_EXPORT_H

#include "trace/export_options.h"

fd_export fd_export_chrome;

/* The same text piece by piece, of a trace that stays and may do without a
 * timeline. The first piece says who the ranks are and ends before their first
 * event: none has to be there yet. */
typedef struct fd_chrome fd_chrome;

/* NULL with `*status` when memory is out. */
fd_chrome *fd_chrome_open(const fd_trace *trace,
                          const fd_export_options *options, fd_status *status);
void fd_chrome_close(fd_chrome *chrome); /* or NULL */

/* Append some 100 kB; nothing appended is the end. */
fd_status fd_chrome_next(fd_chrome *chrome, fd_buffer *to);

#endif
