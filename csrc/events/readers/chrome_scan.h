/* Scanner of one object of a Chrome trace as an event. */
#ifndef FD_CHROME_SCAN_H
#define FD_CHROME_SCAN_H

#include "events/timeline_event.h"

/* Scan the object at `scan`. Spans point into the text, except `event->rest`,
 * which points into the buffer `rest`, whose content is replaced.
 * FD_SCAN_ENOMEM: the buffer could not grow. */
fd_scan_result fd_chrome_scan(fd_scan *scan, fd_timeline_event *event,
                              fd_buffer *rest);

#endif
