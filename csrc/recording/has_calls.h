/* Whether anything was recorded: one call in a file is enough. */
#ifndef FD_HAS_CALLS_H
#define FD_HAS_CALLS_H

#include <stdbool.h>

/* For an open recording, which may be damaged. True if the file cannot be
 * read: then it must not be removed. */
bool fd_has_call(int fd);

#endif
