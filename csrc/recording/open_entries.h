/* The open stack of a tree, beyond push and return: entries that do not end in
 * the order they began.
 *
 * A range (record_function, label) is opened inside the frames and operators
 * of its own __enter__ and outlives them:
 *
 *     pretrain │ __enter__ │ op enter │ range?      the range begins
 *     pretrain │ __enter__ │ range?                 the operator has ended
 *     pretrain │ __enter__ │ range? │ helper        not its child
 *     pretrain │ range?                             __enter__ has returned
 *     pretrain │ range     │ forward                its first child
 *
 * Until then ("pending") its parent is unknown: it has no context,
 * and time goes to the entry below. So it is counted once, under the function
 * that uses it.
 */
#ifndef FD_OPEN_ENTRIES_H
#define FD_OPEN_ENTRIES_H

#include "recording/context_tree.h"

/* Room for one more entry, by growing if need be. False (counted) when the
 * stack is as large as it may become. */
bool fd_stack_make_room(fd_tree *tree);

/* The topmost entry of `owner` that has one of `flags`; -1 without. */
int64_t fd_stack_find(const fd_tree *tree, const void *owner, uint32_t flags);

/* Close the entries from `depth` up, except open ranges, which move down. Does
 * nothing if the stack is not that deep. */
void fd_stack_close(fd_tree *tree, uint32_t depth);

/* Close one entry, wherever it is; the ones above move down. */
void fd_stack_remove(fd_tree *tree, uint32_t at);

/* Open a range of `node`. The stack must have room. */
void fd_stack_push_range(fd_tree *tree, uint32_t node, const void *owner);

/* Give pending ranges their context before a call inside them, except for
 * those right above an __enter__. */
void fd_stack_settle(fd_tree *tree);

/* End the range at `at`: pending ranges up to it get their context. */
void fd_stack_settle_to(fd_tree *tree, uint32_t at);

#endif
