#include "check.h"
#include "fixtures.h"

#include "recording/measures/latest_calls.h"
#include "trace/reader/recording_reader.h"

/* aten::mm below the root of a thread, with 100 FLOPs and its shapes. */
static void
measure(fixture *f, fd_tree *tree)
{
    uint32_t node = fixture_node(f, FD_NODE_OP, "aten::mm");
    uint32_t id = fd_tree_id(tree, fixture_enter_node(tree, node));
    fd_measure_key key = {.context = id, .kind = FD_MEASURE_SHAPES};
    fd_measure_add(fd_measures_at(tree, key), 100, 7);
    key.kind = FD_MEASURE_COMM;
    key.detail = fd_recording_text(f->recording, "f32[2,3]");
    fd_measure_add(fd_measures_at(tree, key), 6, 24);
    key.kind = FD_MEASURE_KINDS;
    fd_measure_add(fd_measures_at(tree, key), 1, 1);
    key = (fd_measure_key){.context = 3, .kind = FD_MEASURE_SHAPES};
    fd_measure_add(fd_measures_at(tree, key), 1, 1);
    fixture_leave(tree);
}

static fd_status
read(fixture *f, fd_trace **trace)
{
    fixture_stop(f);
    return fd_reader_read_memory(trace, f->recording->file.base,
                                 f->recording->file.capacity, false, NULL);
}

/* Unknown kinds and contexts are skipped; two threads of a role add up. */
ABSORBS(sums_of_a_path)
{
    FIXTURE(f, NULL, 1);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fd_tree *other = fixture_thread(&f, "main");
    ALLOCATED(other != NULL);
    measure(&f, f.main);
    measure(&f, other);
    OK(read(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->measures.count, 2);
    const fd_trace_measure *list = rank->measures.list;
    FIELDS(&list[0], (context, fixture_find(trace, "aten::mm")),
           (kind, FD_MEASURE_SHAPES), (count, 2), (sum, 200), (max, 100),
           (other, 14));
    EQUAL(list[1].kind, FD_MEASURE_COMM);
    SAME(fd_trace_text(trace, list[1].detail), "f32[2,3]");
}

/* Two collectives of one path stay apart; one that is being written is
 * skipped. */
ABSORBS(latest_collectives)
{
    FIXTURE(f, NULL, 1);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    uint64_t origin = fd_file_header(&f.recording->file)->start.ticks;
    fd_latest_call call = {
        .group = fd_recording_text(f.recording, "0:2"),
        .detail = fd_recording_text(f.recording, "none 0:2"),
        .bytes = 24,
        .async = true,
    };
    uint64_t begins[3];
    fixture_work(1000);
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "c10d::barrier"));
    for (uint32_t i = 0; i < 3; i++) {
        call.number = (i + 1) % 3;
        fixture_work(10);
        fd_tree_tick(f.main, check_clock_now());
        begins[i] = check_clock_now() - origin;
        fd_latest_begin(f.main, &call);
    }
    ALLOCATED(f.main->measures.latest != NULL);
    f.main->measures.latest->list[0]->max = origin + 7000;
    fixture_leave(f.main);
    OK(read(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->measures.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const fd_trace_measure *at = &rank->measures.list[i];
        FIELDS(at, (kind, FD_MEASURE_LATEST), (flags, FD_MEASURE_ASYNC),
               (count, i + 1), (sum, begins[i]), (max, i == 0 ? 7000 : 0),
               (other, 24));
        SAME(fd_trace_text(trace, at->detail), "none 0:2");
    }
}

/* Only the latest failed allocation of a device is read, with the bytes held
 * then. */
ABSORBS(failed_allocations)
{
    FIXTURE(f, NULL, 1);
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    fd_tree *other = fixture_thread(&f, "main");
    ALLOCATED(other != NULL);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "aten::empty");
    uint32_t id = fd_tree_id(f.main, fixture_enter_node(f.main, node));
    fd_measure_key key = {.context = id,
                          .kind = FD_MEASURE_ALLOCATED,
                          .detail = fd_recording_text(f.recording, "cuda:0")};
    fd_measure *held = fd_measures_at(f.main, key);
    key.kind = FD_MEASURE_HELD;
    fd_measure_add(fd_measures_at(f.main, key), 9, 9);
    key.kind = FD_MEASURE_REFUSED;
    fd_measure *late = fd_measures_at(f.main, key);
    fd_measure *early = fd_measures_at(other, key);
    ALLOCATED(held != NULL && late != NULL && early != NULL);
    fd_measure_add(held, 100, 0);
    held->now = 60;
    *early = (fd_measure){.context = id,
                          .kind = FD_MEASURE_REFUSED,
                          .detail = key.detail,
                          .count = 1,
                          .sum = 5,
                          .mark = 1};
    late->link = id;
    late->count = 1;
    late->sum = 500;
    late->max = 70;
    late->mark = 2;
    late->now = 4;
    fixture_leave(f.main);
    OK(read(&f, &trace));
    const fd_trace_rank *rank = &trace->ranks.list[0];
    EQUAL(rank->measures.count, 3);
    const fd_trace_measure *list = rank->measures.list;
    FIELDS(&list[1], (kind, FD_MEASURE_REFUSED),
           (context, fixture_find(trace, "aten::empty")), (count, 2),
           (sum, 500), (max, 70));
    FIELDS(&list[2], (kind, FD_MEASURE_HELD), (sum, 60), (max, 4));
}
