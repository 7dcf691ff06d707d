/* Writer of the fields of a native event that other formats do not have, or
 * have as arguments, to a native trace with other ids. */
#ifndef FD_NATIVE_FIELDS_H
#define FD_NATIVE_FIELDS_H

#include "events/readers/native_event.h"
#include "events/writers/perfetto_texts.h"

/* Append the annotations, the source location and the fields without ids. */
fd_status fd_native_fields(fd_perfetto_texts *texts,
                           const fd_perfetto_event *event, fd_buffer *to);

/* Append the value of a counter. */
void fd_native_value(const fd_perfetto_event *event, fd_buffer *to);

#endif
