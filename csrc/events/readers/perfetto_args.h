/* Annotations of a native event as the members of a JSON object. */
#ifndef FD_PERFETTO_ARGS_H
#define FD_PERFETTO_ARGS_H

#include "events/readers/perfetto_tables.h"

/* Append ',' unless `first`, then "name":value. */
void fd_perfetto_arg(const fd_perfetto_tables *tables,
                     const fd_perfetto_from *from,
                     const fd_proto_field *annotation, bool first,
                     fd_buffer *to);

/* Append a double: exact, and still one when it is whole; no number is null. */
void fd_perfetto_real(uint64_t bits, fd_buffer *to);

#endif
