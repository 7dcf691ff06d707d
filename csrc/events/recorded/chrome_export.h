/* The timeline as Chrome trace events in JSON, object form.
 * "Trace Event Format", Google, 2016. */
#ifndef FD_CHROME_EXPORT_H
#define FD_CHROME_EXPORT_H

#include "trace/export_options.h"

fd_export fd_export_chrome;

#endif
