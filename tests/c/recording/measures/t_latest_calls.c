#include "check.h"
#include "fixtures.h"

#include "recording/measures/latest_calls.h"

/* The operator that a function of torch.distributed calls is running. */
static void
enter(fixture *f, const char *function)
{
    fd_node_spec spec = {.kind = FD_NODE_PYTHON,
                         .strip = 6,
                         .file = "/venv/torch/distributed/distributed_c10d.py",
                         .name = function,
                         .qualified = function,
                         .package = "torch"};
    fixture_enter_node(f->main, fd_recording_node(f->recording, &spec, NULL));
    fixture_work(5);
    fixture_enter_node(f->main,
                       fixture_node(f, FD_NODE_OP, "c10d::allreduce_"));
}

static void
leave(fixture *f)
{
    fixture_leave(f->main);
    fd_latest_returned(f->main);
}

static const fd_measure *
begin(fixture *f, fd_latest_call call)
{
    fd_latest_begin(f->main, &call);
    const fd_latest *of = f->main->measures.latest;
    return of != NULL && of->kept > 0 ? of->list[(of->calls - 1) % of->kept]
                                      : NULL;
}

ABSORBS(the_return_of_the_function_is_the_end)
{
    FIXTURE(f, NULL, 1);
    enter(&f, "all_reduce");
    uint64_t from = check_clock_now();
    const fd_measure *made = begin(&f, (fd_latest_call){8, 9, 1, 24, false});
    ALLOCATED(made != NULL);
    EQUAL(made->flags, FD_MEASURE_OPEN);
    fixture_work(10);
    leave(&f); /* the operator */
    enter(&f, "get_rank");
    leave(&f);
    leave(&f); /* a function that it calls */
    EQUAL(made->flags, FD_MEASURE_OPEN);
    fixture_work(100);
    leave(&f);
    FIELDS(made, (kind, FD_MEASURE_LATEST), (flags, 0), (detail, 9),
           (count, 1), (sum, from), (max, from + 115), (other, 24));
    fixture_work(100);
    fd_latest_returned(f.main);
    EQUAL(made->max, from + 115);
}

/* Of asynchronous calls, of other callers, and if the return was missed. */
ABSORBS(unknown_ends)
{
    FIXTURE(f, NULL, 1);
    enter(&f, "all_reduce");
    const fd_measure *async = begin(&f, (fd_latest_call){8, 9, 1, 24, true});
    const fd_measure *missed = begin(&f, (fd_latest_call){8, 9, 2, 24, false});
    ALLOCATED(async != NULL && missed != NULL);
    EQUAL(async->flags, FD_MEASURE_ASYNC);
    EQUAL(missed->flags, FD_MEASURE_OPEN);
    fixture_leave(f.main);
    fixture_leave(f.main);
    fixture_enter_node(f.main, fixture_function(&f, "train", 0));
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "c10d::barrier"));
    const fd_measure *other = begin(&f, (fd_latest_call){8, 9, 3, 0, false});
    EQUAL(missed->flags, 0);
    EQUAL(other->flags, 0);
    leave(&f);
    leave(&f);
    EQUAL(async->max + missed->max + other->max, 0);
    EQUAL(f.main->measures.pool.count, 3);
}

ABSORBS(the_oldest_is_replaced)
{
    FIXTURE(f, NULL, 1);
    enter(&f, "all_reduce");
    for (uint64_t i = 1; i <= FD_LATEST_KEPT + 44; i++) {
        const fd_measure *made = begin(&f, (fd_latest_call){8, 9, i, 1, true});
        ALLOCATED(made != NULL);
        EQUAL(made->count, i);
    }
    fd_latest_begin(f.main, &(fd_latest_call){16, 9, 1, 1, true});
    const fd_latest *other = f.main->measures.latest;
    ALLOCATED(other->next != NULL);
    EQUAL(f.main->measures.pool.count, FD_LATEST_KEPT + 1);
    FIELDS(other, (group, 16), (kept, 1));
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < FD_LATEST_KEPT; i++) {
        uint64_t number = other->next->list[i]->count;
        least = number < least ? number : least;
    }
    EQUAL(least, 45);
    leave(&f);
    leave(&f);
}

/* The kept ones are then fewer, and still the latest. */
ABSORBS(without_room)
{
    FIXTURE(f, NULL, 1);
    f.recording->limits.max_measures = 4 * 1024;
    uint32_t capacity = (4 * 1024 - sizeof(fd_chunk)) / sizeof(fd_measure);
    enter(&f, "all_reduce");
    for (uint64_t i = 1; i <= 2 * FD_LATEST_KEPT; i++) {
        const fd_measure *made = begin(&f, (fd_latest_call){8, 9, i, 1, true});
        ALLOCATED(made != NULL);
        EQUAL(made->count, i);
    }
    EQUAL(f.main->measures.pool.count, capacity);
    const fd_header *header = fd_file_header(&f.recording->file);
    EQUAL(header->counters[FD_COUNT_MEASURES_FULL], 1);
    fd_latest_begin(f.main, &(fd_latest_call){16, 9, 1, 1, false});
    EQUAL(header->counters[FD_COUNT_MEASURES_FULL], 2);
    leave(&f);
    leave(&f);
}
