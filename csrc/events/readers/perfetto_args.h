/* The arguments of a native event as a JSON object. */
#ifndef FD_PERFETTO_ARGS_H
#define FD_PERFETTO_ARGS_H

#include "events/readers/native_event.h"

/* Its annotations, or the value of a counter; absent: it has none. */
fd_span fd_perfetto_args(const fd_perfetto_event *event);

/* Split the name of a counter: "GPU busy" is the series "busy" of "GPU", which
 * viewers join again. A name of one word is of the series "value". */
fd_span fd_perfetto_counter_name(const fd_perfetto_event *event,
                                 fd_span *series);

#endif
