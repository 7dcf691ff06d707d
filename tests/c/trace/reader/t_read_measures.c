#include "check.h"
#include "fixtures.h"

#include "recording/measures/measure_table.h"
#include "trace/anonymize.h"
#include "trace/reader/recording_reader.h"

/* aten::mm below the root of a thread, with 100 FLOPs and its shapes. */
static void
measure(fixture *f, fd_tree *tree)
{
    uint32_t node = fixture_node(f, FD_NODE_OP, "aten::mm");
    uint32_t id = fd_tree_id(tree, fixture_enter_node(tree, node));
    fd_measure_key key = {.context = id, .kind = FD_MEASURE_FLOPS};
    fd_measure_add(fd_measures_at(tree, key), 100, 7);
    key.kind = FD_MEASURE_SHAPES;
    key.detail = fd_recording_text(f->recording, "f32[2,3]");
    fd_measure_add(fd_measures_at(tree, key), 6, 24);
    key.kind = FD_MEASURE_KINDS;
    fd_measure_add(fd_measures_at(tree, key), 1, 1);
    key = (fd_measure_key){.context = 3, .kind = FD_MEASURE_FLOPS};
    fd_measure_add(fd_measures_at(tree, key), 1, 1);
    fixture_leave(tree);
}

static fd_status
read(fixture *f, fd_trace **trace)
{
    fixture_stop(f);
    return fd_reader_read_memory(trace, f->recording->file.base,
                                 f->recording->file.room, false, NULL);
}

/* Unknown kinds and contexts are skipped; two threads of a role add up. */
static void
sums_of_a_path(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    OK(fixture_open(&f, NULL, 1));
    fd_tree *other = fixture_thread(&f, "main");
    OK(other != NULL ? FD_OK : FD_ENOMEM);
    measure(&f, f.main);
    measure(&f, other);
    OK(read(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->measures.count, 2);
    const fd_trace_measure *list = rank->measures.list;
    EQUAL(list[0].context, fixture_find(trace, "aten::mm"));
    EQUAL(list[0].kind, FD_MEASURE_FLOPS);
    EQUAL(list[0].count, 2);
    EQUAL(list[0].sum, 200);
    EQUAL(list[0].max, 100);
    EQUAL(list[0].other, 14);
    EQUAL(list[1].kind, FD_MEASURE_SHAPES);
    SAME(fd_trace_text(trace, list[1].detail), "f32[2,3]");
}

/* They survive a dump and hidden names; shapes stay. */
static void
in_a_dump(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    CLEAN(fixture_trace_free) fd_trace *loaded = NULL;
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_error error = {""};
    bool same = false;
    OK(fixture_open(&f, NULL, 1));
    measure(&f, f.main);
    OK(read(&f, &trace));
    OK(fixture_dump(trace, &text));
    OK(fixture_load(&loaded, text.bytes, text.size, &error));
    OK(fixture_same(trace, loaded, &same));
    CHECK(same);
    EQUAL(loaded->ranks.list[0].measures.count, 2);
    OK(fd_trace_anonymize(loaded, "salt", 4));
    const fd_trace_measure *list = loaded->ranks.list[0].measures.list;
    SAME(fd_trace_text(loaded, list[1].detail), "f32[2,3]");
    EQUAL(list[0].sum, 100);
}

RUN(ABSORBS(sums_of_a_path), TEST(in_a_dump))
