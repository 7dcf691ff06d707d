/* The formats of exports. A new format is a pair of files that writes a trace
 * into a buffer, and a row in exporters.c.
 *
 * Exporters read a finished, sorted trace and never open a file.
 * Thread-compatible, no Python. */
#ifndef FD_EXPORTERS_H
#define FD_EXPORTERS_H

#include "trace/export_options.h"

typedef struct fd_exporter {
    const char *name;
    fd_export *write;
    bool is_timeline;
} fd_exporter;

/* Return the exporter of a format, or NULL if the format is unknown. */
const fd_exporter *fd_exporter_find(const char *name);

#endif
