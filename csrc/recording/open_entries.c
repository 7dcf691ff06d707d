#include "recording/open_entries.h"

#include <string.h>

enum { MAX_ENTRIES = 64 * 1024 };

bool
fd_stack_make_room(fd_tree *tree)
{
    uint32_t capacity = tree->record->capacity;
    if (fd_tree_depth(tree) < capacity) {
        return true;
    }
    if (capacity < MAX_ENTRIES && fd_tree_grow_stack(tree) == FD_OK) {
        return true;
    }
    fd_file_count(&tree->recording->file, FD_COUNT_DEEP_STACK);
    return false;
}

int64_t
fd_stack_find(const fd_tree *tree, const void *owner, uint32_t flags)
{
    int64_t at = (int64_t)fd_tree_depth(tree) - 1;
    while (at >= 0
           && (tree->stack[at].owner != (uintptr_t)owner
               || (tree->stack[at].flags & flags) == 0)) {
        at--;
    }
    return at;
}

/* After entries from `depth` up have moved, give each pending range the
 * context of the entry below it. */
static void
rebase_ranges(fd_tree *tree, uint32_t depth, uint32_t top)
{
    uint32_t below = depth == 0 ? fd_tree_id(tree, tree->root)
                                : tree->stack[depth - 1].context;
    for (uint32_t at = depth; at < top; at++) {
        fd_entry *entry = &tree->stack[at];
        if ((entry->flags & FD_ENTRY_PENDING) != 0) {
            entry->context = below;
        }
        below = entry->context;
    }
    fd_tree_truncate(tree, top);
}

void
fd_stack_close(fd_tree *tree, uint32_t depth)
{
    uint32_t top = fd_tree_depth(tree);
    uint32_t kept = depth;
    if (depth >= top) {
        return; /* the entries have already ended */
    }
    for (uint32_t at = top; at-- > depth;) {
        if ((tree->stack[at].flags & FD_ENTRY_RANGE) == 0) {
            fd_tree_ended(tree, at);
        }
    }
    for (uint32_t at = depth; at < top; at++) {
        if ((tree->stack[at].flags & FD_ENTRY_RANGE) != 0) {
            tree->stack[kept++] = tree->stack[at];
        }
    }
    rebase_ranges(tree, depth, kept);
}

void
fd_stack_remove(fd_tree *tree, uint32_t at)
{
    uint32_t top = fd_tree_depth(tree);
    fd_tree_ended(tree, at);
    memmove(&tree->stack[at], &tree->stack[at + 1],
            (top - at - 1) * sizeof *tree->stack);
    rebase_ranges(tree, at, top - 1);
}

void
fd_stack_push_range(fd_tree *tree, uint32_t node, const void *owner)
{
    fd_tree_push(tree, tree->current, fd_tree_id(tree, tree->current), owner,
                 FD_ENTRY_RANGE | FD_ENTRY_PENDING
                     | node << FD_ENTRY_NODE_SHIFT);
    tree->pending++;
}

/* Give a pending range its context below `below`, and count the call. */
static void
settle_entry(fd_tree *tree, fd_entry *entry, fd_context *below)
{
    fd_callee callee = {entry->flags >> FD_ENTRY_NODE_SHIFT, 0, 0};
    fd_context *context = fd_tree_child(tree, below, &callee);
    context->calls++;
    entry->context = fd_tree_id(tree, context);
    entry->flags = FD_ENTRY_RANGE;
    tree->pending--;
}

static void
settle_range(fd_tree *tree, uint32_t from, uint32_t to, bool all)
{
    for (uint32_t at = from; at < to && tree->pending > 0; at++) {
        fd_entry *entry = &tree->stack[at];
        const fd_entry *below = at > 0 ? entry - 1 : NULL;
        bool entering = below != NULL && (below->flags & FD_ENTRY_ENTERS) != 0;
        if ((entry->flags & FD_ENTRY_PENDING) != 0 && (all || !entering)) {
            settle_entry(tree, entry,
                         below != NULL ? fd_tree_context(tree, below->context)
                                       : tree->root);
        }
    }
    rebase_ranges(tree, from, fd_tree_depth(tree));
}

void
fd_stack_settle(fd_tree *tree)
{
    if (tree->pending > 0) {
        settle_range(tree, 0, fd_tree_depth(tree), false);
    }
}

void
fd_stack_settle_to(fd_tree *tree, uint32_t at)
{
    if (tree->pending > 0) {
        settle_range(tree, 0, at + 1, true);
    }
}
