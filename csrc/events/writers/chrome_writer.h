/* Writer of events as Chrome JSON. */
#ifndef FD_CHROME_WRITER_H
#define FD_CHROME_WRITER_H

#include "clocks/clock_map.h"
#include "events/merged_ids.h"

/* Append an event with its original ids and times. */
void fd_chrome_print(const fd_timeline_event *event, fd_buffer *to);

/* Append ",\n" and an event with the ids and the clock of a merge. A row with
 * the name or sort index of a process is stored in `ids` and not appended:
 * merges write these rows at the end. FD_EFORMAT: its time cannot be shifted.
 * FD_EFULL: too many processes or threads. Both leave `to` unchanged. */
fd_status fd_chrome_write(const fd_timeline_event *event,
                          const fd_clock_map *clock, fd_timeline_ids *ids,
                          fd_buffer *to);

#endif
