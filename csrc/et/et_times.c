#include "et/et_steps.h"

static bool
is_timed(const fd_et_node *node)
{
    return (node->flags & FD_ET_TIMED) != 0;
}

/* Give parents without times the time range of their children. The walk is
 * processed backwards, so that a parent is complete before its own parent. */
static void
extend_parents(fd_et *et, const uint32_t *order)
{
    for (uint32_t i = et->nodes.count; i-- > 0;) {
        const fd_et_node *node = &et->nodes.list[order[i]];
        if (node->parent == 0 || !is_timed(node)) {
            continue;
        }
        fd_et_node *parent = &et->nodes.list[node->parent - 1];
        int64_t end = fd_et_end(node);
        if (is_timed(parent) && (parent->flags & FD_ET_GUESSED) == 0) {
            continue;
        }
        if (!is_timed(parent)) {
            parent->flags |= FD_ET_TIMED | FD_ET_GUESSED;
            parent->start_ns = node->start_ns;
            parent->dur_ns = node->dur_ns;
            continue;
        }
        int64_t last = fd_et_end(parent);
        parent->start_ns = node->start_ns < parent->start_ns
                             ? node->start_ns
                             : parent->start_ns;
        parent->dur_ns = fd_minus(end > last ? end : last, parent->start_ns);
    }
}

/* Give a node without times and children the start of the previous node. */
static void
follow_order(fd_et *et, const uint32_t *order)
{
    int64_t before = 0;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[order[i]];
        if (is_timed(node)) {
            before = node->start_ns;
        }
        else if (before != 0) {
            node->flags |= FD_ET_TIMED | FD_ET_GUESSED;
            node->start_ns = before;
        }
    }
}

void
fd_et_find_self(fd_et *et)
{
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[i];
        bool guessed = (node->flags & FD_ET_GUESSED) != 0;
        node->self_ns = guessed ? 0 : node->dur_ns;
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        if (node->parent == 0 || (node->flags & FD_ET_GPU) != 0) {
            continue;
        }
        fd_et_node *parent = &et->nodes.list[node->parent - 1];
        /* Exclude work that a call started on another thread. */
        if (parent->thread == node->thread) {
            parent->self_ns = fd_minus(parent->self_ns, node->dur_ns);
        }
    }
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        fd_et_node *node = &et->nodes.list[i];
        node->self_ns = node->self_ns < 0 ? 0 : node->self_ns;
    }
}

void
fd_et_fill_times(fd_et *et)
{
    bool any = false;
    bool all = true;
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        /* The format .et requires start and duration. */
        any = any || is_timed(&et->nodes.list[i]);
        all = all
           && (et->nodes.list[i].flags & (FD_ET_TIMED | FD_ET_WRITTEN)) != 0;
    }
    if (!any || all) {
        return;
    }
    uint32_t *order = fd_arena_new(&et->arena, et->nodes.count, sizeof *order);
    fd_et_walk(et, order);
    extend_parents(et, order);
    follow_order(et, order);
    fd_arena_drop(order);
}
