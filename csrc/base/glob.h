/* Matching of texts against patterns with stars. */
#ifndef FD_GLOB_H
#define FD_GLOB_H

#include <stdbool.h>

/* Whether all of `text` matches: '*' any run, '?' one byte, all else itself.
 * No backtracking beyond the last star: at most size * size steps. */
bool fd_glob_matches(const char *glob, const char *text);

#endif
