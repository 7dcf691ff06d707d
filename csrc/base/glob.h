/* Glob patterns. */
#ifndef FD_GLOB_H
#define FD_GLOB_H

#include <stdbool.h>

/* Return whether `text` matches completely: '*' matches any run of bytes, '?'
 * one byte, other bytes themselves. Backtracking is limited to the last star,
 * so the number of steps is at most the product of both lengths. */
bool fd_glob_matches(const char *glob, const char *text);

#endif
