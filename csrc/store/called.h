/* Whether anything was recorded: one call in a file is enough. */
#ifndef FD_CALLED_H
#define FD_CALLED_H

#include <stdbool.h>

/* Of the recording that is open, which may be damaged. A file that cannot be
 * looked at has one: nothing is removed for that reason. */
bool fd_has_call(int fd);

#endif
