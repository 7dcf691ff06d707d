/* Operations on the open stack of a tree besides push and return: entries that
 * do not end in the reverse order of their starts.
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

/* Make space for one more entry, by growing the stack if needed. Return false
 * and count it if the stack has reached its maximum size. */
bool fd_stack_make_room(fd_tree *tree);

/* Return the index of the topmost entry of `owner` that has one of `flags`, or
 * -1. */
int64_t fd_stack_find(const fd_tree *tree, const void *owner, uint32_t flags);

/* Close the entries from `depth` up, except open ranges, which move down. Do
 * nothing if the stack is not that deep. */
void fd_stack_close(fd_tree *tree, uint32_t depth);

/* Close the entry at index `at`; the entries above it move down. */
void fd_stack_remove(fd_tree *tree, uint32_t at);

/* Open a range of `node`. The stack must have space for it. */
void fd_stack_push_range(fd_tree *tree, uint32_t node, const void *owner);

/* Give pending ranges their context before a call inside them, except ranges
 * directly above an __enter__. */
void fd_stack_settle(fd_tree *tree);

/* Give all pending ranges up to index `at` their context, before the range at
 * `at` ends. */
void fd_stack_settle_to(fd_tree *tree, uint32_t at);

#endif
