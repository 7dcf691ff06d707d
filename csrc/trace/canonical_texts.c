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

static void
release_pool(void *pool)
{
    fd_text_pool_clear(pool);
}

/* Return the used texts in the order of their bytes, and set their new ids. */
static fd_text_pool *
ordered_texts(fd_arena *arena, fd_text_pool *pool, const bool *used,
              uint32_t *index)
{
    uint32_t *ids = fd_arena_new(arena, pool->texts.count + 1, sizeof *ids);
    fd_text_pool *sorted = fd_arena_owned(arena, sizeof *sorted, release_pool);
    uint32_t count = 0;
    for (uint32_t i = 1; i < pool->texts.count; i++) {
        if (used[i]) {
            ids[count++] = i;
        }
    }
    qsort_r(ids, count, sizeof *ids, by_bytes, pool);
    for (uint32_t i = 0; i < count; i++) {
        fd_arena_check(arena,
                       fd_text_pool_add(sorted, fd_text_pool_get(pool, ids[i]),
                                        fd_text_pool_size(pool, ids[i]),
                                        &index[ids[i]]));
    }
    return sorted;
}

void
fd_sort_texts(fd_arena *arena, fd_trace *trace)
{
    uint32_t count = trace->texts.texts.count + 1;
    bool *used = fd_arena_new(arena, count, sizeof *used);
    uint32_t *index = fd_arena_new(arena, count, sizeof *index);
    each_text(trace, mark_text, used);
    fd_text_pool *sorted = ordered_texts(arena, &trace->texts, used, index);
    each_text(trace, fd_visit_renumber, index);
    fd_text_pool unsorted = trace->texts;
    trace->texts = *sorted;
    *sorted = unsorted; /* which the arena clears */
}
