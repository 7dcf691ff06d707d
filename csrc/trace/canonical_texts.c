#include "trace/canonical_order.h"

#include "trace/trace_columns.h"

#include <stdlib.h>
#include <string.h>

/* Call `see` for every reference to a text in a trace. */
static void
each_text(fd_trace *trace, fd_visit *see, void *context)
{
    fd_table_visit(&fd_nodes_table, trace->nodes.list, trace->nodes.count,
                   FD_COLUMN_TEXT, see, context);
    fd_table_visit(&fd_modules_table, trace->modules.list,
                   trace->modules.count, FD_COLUMN_TEXT, see, context);
    for (uint32_t i = 0; i < trace->ranks.count; i++) {
        fd_rank_visit(&trace->ranks.list[i], FD_COLUMN_TEXT, see, context);
    }
}

static void
mark_text(uint32_t *text, void *used)
{
    ((bool *)used)[*text] = true;
}

static int
by_bytes(const void *left, const void *right, void *context)
{
    const fd_text_pool *pool = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    size_t size_a = fd_text_pool_size(pool, a);
    size_t size_b = fd_text_pool_size(pool, b);
    int order = memcmp(fd_text_pool_get(pool, a), fd_text_pool_get(pool, b),
                       size_a < size_b ? size_a : size_b);
    return order != 0 ? order : size_a < size_b ? -1 : size_a > size_b;
}

/* List used ids in the order of their bytes; return the count. */
static uint32_t
ordered_texts(const fd_text_pool *pool, const bool *used, uint32_t *ids)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < pool->texts.count; i++) {
        if (used[i]) {
            ids[count++] = i;
        }
    }
    qsort_r(ids, count, sizeof *ids, by_bytes, (void *)(uintptr_t)pool);
    return count;
}

fd_status
fd_sort_texts(fd_trace *trace)
{
    uint32_t count = trace->texts.texts.count + 1;
    bool *used = fd_calloc(count, sizeof *used);
    uint32_t *ids = fd_malloc(count * sizeof *ids);
    uint32_t *index = fd_calloc(count, sizeof *index);
    fd_text_pool sorted = {.bytes = {.bytes = NULL}};
    fd_status status = FD_ENOMEM;
    if (used == NULL || ids == NULL || index == NULL) {
        goto done;
    }
    each_text(trace, mark_text, used);
    uint32_t left = ordered_texts(&trace->texts, used, ids);
    status = FD_OK;
    for (uint32_t i = 0; i < left && status == FD_OK; i++) {
        status = fd_text_pool_add(
            &sorted, fd_text_pool_get(&trace->texts, ids[i]),
            fd_text_pool_size(&trace->texts, ids[i]), &index[ids[i]]);
    }
    if (status == FD_OK) {
        each_text(trace, fd_visit_renumber, index);
        fd_text_pool_clear(&trace->texts);
        trace->texts = sorted;
        sorted = (fd_text_pool){.bytes = {.bytes = NULL}};
    }
done:
    fd_text_pool_clear(&sorted);
    fd_free(used);
    fd_free(ids);
    fd_free(index);
    return status;
}
