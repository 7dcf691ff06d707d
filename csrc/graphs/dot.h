/* The call graph in the language of Graphviz: docs/guides/export.md. */
#ifndef FD_DOT_H
#define FD_DOT_H

#include "trace/export_options.h"

fd_status fd_export_dot(const fd_trace *trace,
                        const fd_export_options *options, fd_buffer *to,
                        fd_error *error);

#endif
