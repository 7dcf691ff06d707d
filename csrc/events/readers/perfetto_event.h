/* Conversion of one packet of a native trace to events. */
#ifndef FD_PERFETTO_EVENT_H
#define FD_PERFETTO_EVENT_H

#include "events/readers/native_event.h"

/* Return whether a field of an event contains flow ids. */
bool fd_perfetto_event_is_flow(uint32_t number);

/* Read the fields of `message`. `uuid` is the default track on entry and the
 * track of the event on return. FD_EFORMAT: malformed event. */
fd_status fd_perfetto_event_read(fd_perfetto_event *event, uint64_t *uuid);

/* Add the event to the batch, and a flow event (phase s, t or f) if a slice
 * with flows begins. */
fd_status fd_perfetto_event_put(fd_perfetto_event *event);
void fd_perfetto_event_flow(fd_perfetto_event *event, char phase, uint64_t id);

#endif
