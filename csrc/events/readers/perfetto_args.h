/* The arguments of a native event as a JSON object. */
#ifndef FD_PERFETTO_ARGS_H
#define FD_PERFETTO_ARGS_H

#include "events/readers/native_event.h"

/* Return the debug annotations or the counter value of an event as an object;
 * absent if it has neither. */
fd_span fd_perfetto_args(const fd_perfetto_event *event);

/* Split the name of a counter: "GPU busy" is the series "busy" of the counter
 * "GPU"; viewers join both again. The series of a name without a space is
 * "value". */
fd_span fd_perfetto_counter_name(const fd_perfetto_event *event,
                                 fd_span *series);

#endif
