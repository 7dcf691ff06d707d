#include "capture/operators/ranges.h"

#include "capture/operators/node_calls.h"
#include "capture/operators/text_nodes.h"
#include "capture/timers/call_timers.h"

void
fd_range_start(fd_thread *thread, const char *name, const void *owner,
               bool timed)
{
    uint32_t node = fd_texts_node(thread, FD_NODE_RANGE, name);
    fd_thread_tick(thread, timed);
    if (node != 0 && fd_stack_make_room(thread->tree)) {
        fd_stack_push_range(thread->tree, node, owner);
        if (thread->session->timers.sampling) {
            fd_timers_begin(thread);
        }
        thread->generation = 0; /* make the next event settle the range */
    }
}

void
fd_range_end(fd_thread *thread, uint32_t at, bool timed)
{
    fd_tree *tree = thread->tree;
    if ((tree->stack[at].flags & FD_ENTRY_RANGE) != 0) {
        fd_stack_settle_to(tree, at);
    }
    fd_thread_end_timers(thread, at, false);
    fd_thread_tick(thread, timed);
    fd_stack_remove(tree, at);
}

void
fd_range_start_async(fd_thread *thread, const char *name, const void *owner,
                     bool timed)
{
    fd_session *session = thread->session;
    fd_callee callee = {fd_texts_node(thread, FD_NODE_RANGE, name), 0, 0};
    fd_thread_tick(thread, timed);
    if (callee.node != 0) {
        fd_asyncs_begin(
            &session->asyncs, &session->recording->file, owner,
            fd_tree_child(thread->tree, thread->tree->current, &callee));
    }
}
