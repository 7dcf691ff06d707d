#include "recording/measures/latest_calls.h"

#include "base/alloc.h"

#include <string.h>

static fd_latest *
latest_of(fd_tree *tree, uint32_t group)
{
    for (fd_latest *at = tree->measures.latest; at != NULL; at = at->next) {
        if (at->group == group) {
            return at;
        }
    }
    fd_latest *made = fd_calloc(1, sizeof *made);
    if (made != NULL) {
        made->group = group;
        made->next = tree->measures.latest;
        tree->measures.latest = made;
    }
    else {
        fd_file_count(&tree->recording->file, FD_COUNT_MEASURES_FULL);
    }
    return made;
}

/* Return the record for the next call. If there is no space for another
 * record, the oldest is reused earlier. */
static fd_measure *
next_of(fd_tree *tree, fd_latest *of, fd_measure_key key)
{
    if (of->kept < FD_LATEST_KEPT && of->calls == of->kept) {
        fd_measure *made = fd_measures_append(tree, key);
        if (made != NULL) {
            of->list[of->kept++] = made;
        }
    }
    return of->kept == 0 ? NULL : of->list[of->calls++ % of->kept];
}

/* Return whether the running operator was called by a function of
 * torch.distributed whose return is hooked. */
static bool
is_waiting(const fd_tree *tree)
{
    static const char module[] = "torch/distributed/distributed_c10d.py";
    const fd_file *file = &tree->recording->file;
    uint32_t depth = fd_tree_depth(tree);
    const fd_entry *caller = depth >= 2 ? &tree->stack[depth - 2] : NULL;
    if (caller == NULL || caller->flags != FD_ENTRY_FRAME
        || caller->context != tree->current->parent) {
        return false;
    }
    const fd_context *context = fd_tree_context(tree, caller->context);
    const fd_node *node = fd_file_record(file, context->node);
    const char *path = fd_strings_text(file, node->file);
    return node->kind == FD_NODE_PYTHON
        && strcmp(path + node->strip, module) == 0;
}

static void
close_open(fd_tree *tree, uint64_t end)
{
    fd_measure *open = tree->measures.open;
    if (open != NULL) {
        open->max = end;
        open->flags &= (uint16_t)~FD_MEASURE_OPEN;
    }
    tree->measures.open = NULL;
}

void
fd_latest_returned(fd_tree *tree)
{
    if (tree->measures.open != NULL
        && fd_tree_depth(tree) <= tree->measures.open_depth) {
        close_open(tree, tree->record->last);
    }
}

void
fd_latest_begin(fd_tree *tree, const fd_latest_call *call)
{
    close_open(tree, 0);
    fd_measure_key key = {.context = fd_tree_id(tree, tree->current),
                          .kind = FD_MEASURE_LATEST,
                          .flags = call->async ? FD_MEASURE_ASYNC : 0,
                          .detail = call->detail};
    fd_latest *of = latest_of(tree, call->group);
    fd_measure *to = of != NULL ? next_of(tree, of, key) : NULL;
    if (to == NULL) {
        return;
    }
    /* Set the number to 0 during the update: readers skip such a record. */
    atomic_store_explicit((_Atomic uint64_t *)&to->count, 0,
                          memory_order_release);
    atomic_thread_fence(memory_order_release);
    to->context = key.context;
    to->detail = key.detail;
    to->flags = key.flags;
    to->sum = tree->record->last;
    to->max = 0;
    to->other = call->bytes;
    if (!call->async && to->sum != 0 && is_waiting(tree)) {
        to->flags |= FD_MEASURE_OPEN;
        tree->measures.open = to;
        tree->measures.open_depth = fd_tree_depth(tree) - 2;
    }
    atomic_store_explicit((_Atomic uint64_t *)&to->count, call->number,
                          memory_order_release);
}
