/* One packet of a native track as events. */
#ifndef FD_PERFETTO_EVENT_H
#define FD_PERFETTO_EVENT_H

#include "events/readers/native_event.h"

/* Whether a field of an event is a flow that it begins, continues or ends. */
bool fd_perfetto_event_is_flow(uint32_t number);

/* Read the fields of `message`; `uuid` is that of the track by default.
 * FD_EFORMAT: malformed event. */
fd_status fd_perfetto_event_read(fd_perfetto_event *event, uint64_t *uuid);

/* Add it to the batch, and the flow of a slice that begins: phase s, t or f. */
fd_status fd_perfetto_event_put(fd_perfetto_event *event);
void fd_perfetto_event_flow(fd_perfetto_event *event, char phase, uint64_t id);

#endif
