/* The timeline as Chrome trace events in JSON, object form.
 * "Trace Event Format", Google, 2016. */
#ifndef FD_CHROME_H
#define FD_CHROME_H

#include "export/exporters.h"

fd_export fd_export_chrome;

#endif
