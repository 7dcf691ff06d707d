#include "et/readers/kineto_steps.h"

#include <stdlib.h>
#include <string.h>

static bool
is_call(const fd_et_node *node)
{
    return (node->flags
            & (FD_ET_THREAD | FD_ET_PROCESS | FD_ET_GPU | FD_ET_GUESSED))
            == 0
        && (node->flags & FD_ET_TIMED) != 0;
}

/* "ProfilerStep#12": 12 */
static bool
is_label(const char *name, uint32_t *number)
{
    static const char head[] = "ProfilerStep#";
    if (strncmp(name, head, sizeof head - 1) != 0) {
        return false;
    }
    *number = (uint32_t)strtoul(name + sizeof head - 1, NULL, 10);
    return true;
}

static fd_status
find_labels(const fd_et *et, fd_kineto_steps *steps)
{
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        uint32_t number;
        if (is_call(node) && is_label(fd_et_text(et, node->name), &number)) {
            status = fd_vector_push(
                steps, (fd_kineto_step){node->start_ns, fd_et_end(node),
                                        number, i + 1, 0, false});
        }
    }
    return status;
}

/* Calls that enclose calls of another step belong to no step. `none` has room
 * for all nodes. */
static void
mark_spanning(const fd_et *et, uint8_t *none)
{
    for (uint32_t i = et->nodes.count; i-- > 0;) {
        const fd_et_node *node = &et->nodes.list[i];
        if (node->parent != 0
            && (none[i] != 0
                || et->nodes.list[node->parent - 1].step != node->step)) {
            none[node->parent - 1] = 1;
        }
    }
}

static fd_status
find_recorded(const fd_et *et, const uint8_t *none, fd_kineto_steps *steps)
{
    uint64_t thread = 0;
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        thread = thread == 0 && is_call(node) ? node->thread : thread;
        if (!is_call(node) || node->step == 0 || node->thread != thread
            || none[i] != 0) {
            continue;
        }
        fd_kineto_step *last =
            steps->count > 0 ? &steps->list[steps->count - 1] : NULL;
        if (last == NULL || node->step - 1 != last->number) {
            status = fd_vector_push(
                steps, (fd_kineto_step){node->start_ns, fd_et_end(node),
                                        node->step - 1, 0, 0, false});
        }
        else if (fd_et_end(node) > last->end) {
            last->end = fd_et_end(node);
        }
    }
    return status;
}

/* The step that contains a time; NULL for none. */
static fd_kineto_step *
step_at(const fd_kineto_steps *steps, int64_t time)
{
    uint32_t low = 0;
    uint32_t high = steps->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool before = steps->list[middle].begin <= time;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low > 0 && time < steps->list[low - 1].end ? &steps->list[low - 1]
                                                      : NULL;
}

/* `inner` has room for all. */
static void
find_leaves(const fd_et *et, uint8_t *inner, const fd_kineto_steps *steps)
{
    for (uint32_t i = et->nodes.count; i-- > 0;) {
        const fd_et_node *node = &et->nodes.list[i];
        bool gpu = (node->flags & FD_ET_GPU) != 0;
        bool leaf = node->schema != 0 && inner[i] == 0 && is_call(node);
        int64_t begin = node->start_ns;
        if (node->parent != 0) {
            inner[node->parent - 1] = 1;
            begin = gpu ? et->nodes.list[node->parent - 1].start_ns : begin;
        }
        fd_kineto_step *step = gpu || leaf ? step_at(steps, begin) : NULL;
        if (step != NULL && gpu) {
            step->busy = true;
        }
        if (step != NULL && leaf
            && (step->leaf == 0
                || et->nodes.list[step->leaf - 1].dur_ns <= node->dur_ns)) {
            step->leaf = i + 1;
        }
    }
}

fd_status
fd_kineto_find_steps(const fd_et *et, fd_kineto_steps *steps)
{
    fd_status status = find_labels(et, steps);
    uint8_t *flags = fd_calloc((size_t)et->nodes.count + 1, 2);
    if (status == FD_OK && flags == NULL) {
        status = FD_ENOMEM;
    }
    if (status == FD_OK && steps->count == 0) {
        mark_spanning(et, flags);
        status = find_recorded(et, flags, steps);
    }
    if (status == FD_OK) {
        find_leaves(et, flags + et->nodes.count, steps);
    }
    fd_free(flags);
    return status;
}
