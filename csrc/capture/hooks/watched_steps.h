/* The second tool of sys.monitoring (Python 3.12 and later), for steps whose
 * open calls the watch finds. It reports starts of code that the session has
 * not recorded, and ends of steps. Events of other code it disables, one by
 * one and for good: the first tool, which counts calls in recorded steps, must
 * not disable any. Requires the GIL. */
#ifndef FD_WATCHED_STEPS_H
#define FD_WATCHED_STEPS_H

#include <stdbool.h>

/* Disable the events of the first tool until the next fd_monitor_install, and
 * handle those of the second. Return false, and change nothing, if no second
 * tool id is free. */
bool fd_watched_steps_begin(void);

/* Handle no events any longer, only disable them. */
void fd_watched_steps_end(void);

void fd_watched_steps_close(void);

#endif
