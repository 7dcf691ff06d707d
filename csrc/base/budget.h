/* Bounds on what is kept in memory while a file is read or written. Every such
 * bound is a constant next to the code that keeps it, and passes through
 * fd_budget, so that tests and fuzzers can make all of them tiny: what happens
 * at a bound is then tried with a few hundred bytes. */
#ifndef FD_BUDGET_H
#define FD_BUDGET_H

#include <stddef.h>

/* `usual`, or less in a test. */
size_t fd_budget(size_t usual);

/* Tests only: no bound exceeds `most`; 0 restores the usual ones. Not while
 * anything bounded is in use. */
void fd_budget_shrink(size_t most);

#endif
