/* Bounds on what is kept in memory while a file is read or written. Every such
 * bound is a constant next to its code and passes through fd_budget, so that
 * tests and fuzzers can make all bounds tiny and reach them with a few hundred
 * bytes. */
#ifndef FD_BUDGET_H
#define FD_BUDGET_H

#include <stddef.h>

/* `usual`, or less in a test. */
size_t fd_budget(size_t usual);

/* Tests only: no bound exceeds `most`; 0 restores the usual ones. Not while a
 * reader or writer is open. */
void fd_budget_shrink(size_t most);

#endif
