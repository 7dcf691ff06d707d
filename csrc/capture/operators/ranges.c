#include "capture/operators/ranges.h"

#include "capture/operators/node_calls.h"
#include "capture/operators/text_nodes.h"
#include "capture/timers/call_timers.h"

#include <string.h>

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

/* Return whether an entry is a range of torch.profiler for a step:
 * "ProfilerStep#7". */
static bool
is_profiler_step(const fd_tree *tree, const fd_entry *entry)
{
    static const char prefix[] = "ProfilerStep#";
    const fd_file *file = &tree->recording->file;
    const fd_context *context = fd_tree_context(tree, entry->context);
    const fd_node *node = fd_file_record(file, context->node);
    return strncmp(fd_strings_text(file, node->name), prefix,
                   sizeof prefix - 1)
        == 0;
}

void
fd_range_end(fd_thread *thread, uint32_t at, bool timed)
{
    fd_tree *tree = thread->tree;
    bool ends_step = false;
    if ((tree->stack[at].flags & FD_ENTRY_RANGE) != 0) {
        fd_stack_settle_to(tree, at);
        ends_step = is_profiler_step(tree, &tree->stack[at]);
    }
    fd_thread_end_timers(thread, at, false);
    fd_thread_tick(thread, timed);
    fd_stack_remove(tree, at);
    if (ends_step) {
        thread->session->end_step(thread->session, thread, FD_STEPS_PROFILER);
    }
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
