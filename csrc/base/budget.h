/* Limits on the memory used while a file is read or written. Each limit is a
 * constant next to the code that it limits and passes through fd_budget, so
 * that tests and fuzzers can shrink all limits and reach them with a few
 * hundred bytes. */
#ifndef FD_BUDGET_H
#define FD_BUDGET_H

#include <stddef.h>

/* Return `usual`, or the smaller limit that a test has set. */
size_t fd_budget(size_t usual);

/* Tests only: cap all limits at `most`; 0 removes the cap. Do not call it
 * while a reader or writer is open. */
void fd_budget_shrink(size_t most);

#endif
