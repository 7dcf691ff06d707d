#include "check.h"
#include "fixtures.h"

#include "trace/canonical_order.h"

TEST(by_their_bytes)
{
    NEW_TRACE(trace);
    static const char *const names[] = {"zeta", "\xC3\xA9", "a", "ab", "B"};
    static const char *const sorted[] = {"B", "a", "ab", "zeta", "\xC3\xA9"};
    uint32_t ids[5];
    uint32_t unused;
    OK(fixture_text(trace, "aaa", &unused));
    for (int i = 0; i < 5; i++) {
        OK(fixture_add(trace, 0, FD_NODE_OP, names[i], 1, 1, &ids[i]));
    }
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL};
    ENTER(&arena);
    fd_sort_texts(&arena, trace);
    EQUAL(trace->texts.texts.count, 6);
    for (uint32_t i = 0; i < 5; i++) {
        SAME(fd_trace_text(trace, i + 1), sorted[i]);
        const fd_trace_node *node =
            &trace->nodes.list[trace->contexts.list[ids[i]].node];
        SAME(fd_trace_text(trace, node->name), names[i]);
    }
}

/* Every place that refers to a text: dropped nowhere, renumbered everywhere. */
TEST(all_references)
{
    NEW_TRACE(trace);
    uint32_t t[10];
    char name[2] = "j";
    for (int i = 0; i < 10; i++, name[0]--) {
        OK(fd_text_pool_add(&trace->texts, name, 1, &t[i]));
    }
    fd_trace_node node = {.kind = 1,
                          .file = t[0],
                          .class_name = t[1],
                          .name = t[2],
                          .qualified = t[3],
                          .package = t[4]};
    OK(fd_vector_push(&trace->nodes, node));
    OK(fd_vector_push(&trace->modules,
                      (fd_trace_module){.name = t[5], .class_name = t[6]}));
    fd_trace_rank *rank = fd_trace_add_rank(trace);
    ALLOCATED(rank != NULL);
    OK(fd_vector_push(&rank->threads, (fd_trace_thread){.role = t[7]}));
    OK(fd_vector_push(&rank->meta, (fd_trace_meta){t[8], t[9]}));
    OK(fd_vector_push(&rank->notes, t[0]));
    CLEAN(fd_arena_clear) fd_arena arena = {.first = NULL};
    ENTER(&arena);
    fd_sort_texts(&arena, trace);
    EQUAL(trace->texts.texts.count, 11);
    SAME(fd_trace_text(trace, trace->nodes.list[1].file), "j");
    SAME(fd_trace_text(trace, trace->nodes.list[1].class_name), "i");
    SAME(fd_trace_text(trace, trace->nodes.list[1].name), "h");
    SAME(fd_trace_text(trace, trace->nodes.list[1].qualified), "g");
    SAME(fd_trace_text(trace, trace->nodes.list[1].package), "f");
    SAME(fd_trace_text(trace, trace->modules.list[1].name), "e");
    SAME(fd_trace_text(trace, trace->modules.list[1].class_name), "d");
    SAME(fd_trace_text(trace, rank->threads.list[0].role), "c");
    SAME(fd_trace_text(trace, rank->meta.list[0].key), "b");
    SAME(fd_trace_text(trace, rank->meta.list[0].json), "a");
    SAME(fd_trace_text(trace, rank->notes.list[0]), "j");
}
