/* Calls of operators, ranges and autograd nodes: their nodes, and the shortest
 * path to a context and an entry. On any thread, without the GIL. */
#ifndef FD_NODE_CALLS_H
#define FD_NODE_CALLS_H

#include "capture/state/session_state.h"
#include "recording/open_entries.h"

/* Bit in fd_context.callee that marks the id of a node, as opposed to the id
 * of a code object. */
#define FD_CALLEE_NODE (UINT32_C(1) << 31)

static inline void
fd_thread_tick(const fd_thread *thread, bool timed)
{
    if (timed) {
        fd_tree_tick(thread->tree, fd_clock_ticks());
    }
}

/* Return the node identified by its text, of a range or an autograd node, whose
 * records have no permanent address: from the index of the thread or, for a new
 * text, from the recording under its lock. Return 0 if there is no space. */
uint32_t fd_texts_node(fd_thread *thread, uint8_t kind, const char *text);

/* Return the context of a call that is not a repetition. */
fd_context *fd_node_context(fd_tree *tree, uint32_t node, uint32_t origin);

static inline bool
fd_node_is(const fd_context *context, uint32_t node, uint32_t origin)
{
    return context->callee == (node | FD_CALLEE_NODE)
        && context->origin == origin;
}

/* Return the context of a call of `node` from the current context, and count
 * the call. */
static inline fd_context *
fd_node_enter(fd_tree *tree, uint32_t node, uint32_t origin)
{
    fd_context *latest = fd_tree_latest(tree);
    fd_context *context = fd_tree_successor(tree, latest);
    if (!fd_node_is(context, node, origin)) {
        context = fd_node_is(latest, node, origin)
                    ? latest
                    : fd_node_context(tree, node, origin);
    }
    tree->current->last_child = fd_tree_id(tree, context);
    context->calls++;
    return context;
}

static inline void
fd_node_push(fd_tree *tree, fd_context *context, const void *owner,
             uint32_t flags)
{
    if (fd_stack_make_room(tree)) {
        fd_tree_push(tree, context, fd_tree_id(tree, context), owner, flags);
    }
}

/* Store the running context under the number of the next autograd node of this
 * thread. `torch_thread` is PyTorch's number of the thread. */
void fd_node_first_number(fd_thread *thread, uint64_t number,
                          uint64_t torch_thread);

static inline void
fd_node_number(fd_thread *thread, uint64_t number, uint64_t torch_thread)
{
    if (__builtin_expect(thread->ring == NULL, false)) {
        fd_node_first_number(thread, number, torch_thread);
    }
    else {
        const fd_tree *tree = thread->tree;
        fd_ring_put(thread->ring, number, fd_tree_id(tree, tree->current),
                    tree->record->last);
    }
}

#endif
