/* replay(): conversion of arguments and results. */
#include "module/pipeline/replay_binding.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "pipeline/plan_simulator.h"

/* A plan with times and posted sends of each job, borrowed during the
 * simulation. */
typedef struct priced {
    fd_plan plan;
    Py_buffer rows;
    Py_buffer first;
    Py_buffer times;
    Py_buffer posted; /* .obj NULL: not given */
} priced;

static void
release_priced(priced *with)
{
    Py_buffer *all[] = {&with->rows, &with->first, &with->times,
                        &with->posted};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        PyBuffer_Release(all[i]); /* no effect if it was not acquired */
    }
}

/* Get a buffer of `count` structs of `size` bytes. */
static bool
take_items(Py_buffer *items, PyObject *from, size_t count, size_t item,
           size_t size, const char *name)
{
    if (PyObject_GetBuffer(from, items, PyBUF_C_CONTIGUOUS) < 0) {
        return false;
    }
    if (items->itemsize == (Py_ssize_t)item
        && (size_t)items->len == count * size) {
        return true;
    }
    PyErr_Format(fd_value_error(), "%s: %zu items of %zu bytes", name, count,
                 size);
    return false;
}

/* Get the table of the plan. */
static bool
take_plan(priced *to, PyObject *rows, PyObject *first)
{
    fd_plan *plan = &to->plan;
    if (PyObject_GetBuffer(rows, &to->rows, PyBUF_C_CONTIGUOUS) < 0
        || PyObject_GetBuffer(first, &to->first, PyBUF_C_CONTIGUOUS) < 0) {
        return false;
    }
    size_t size = (size_t)to->rows.len;
    size_t stages = (size_t)to->first.len / sizeof *plan->first;
    plan->count = (uint32_t)(size / sizeof *plan->jobs);
    plan->stages = stages > 0 ? (uint32_t)stages - 1 : 0;
    plan->jobs = to->rows.buf;
    plan->first = to->first.buf;
    if (to->rows.itemsize == sizeof(int32_t)
        && to->first.itemsize == sizeof(uint32_t)
        && size == (size_t)plan->count * sizeof *plan->jobs
        && stages <= UINT32_MAX && fd_plan_fits(plan)) {
        return true;
    }
    PyErr_SetString(fd_value_error(), "rows, first: not a plan");
    return false;
}

static bool
take_priced(priced *to, PyObject *times, PyObject *posted)
{
    size_t count = to->plan.count;
    return take_items(&to->times, times, count, sizeof(int64_t),
                      sizeof(int64_t), "times")
        && (Py_IsNone(posted)
            || take_items(&to->posted, posted, count, sizeof(bool),
                          sizeof(bool), "posted"));
}

static PyObject *
times_of(const int64_t *times, size_t stride, uint32_t count)
{
    return fd_value_list(FD_COLUMN_I64, times, stride, count);
}

static PyObject *
figures_object(const fd_plan *plan, const fd_replay *replay)
{
    size_t stride = sizeof *replay->stages;
    uint32_t count = plan->stages;
    return Py_BuildValue(
        "{s:L,s:N,s:N,s:N,s:N}", "makespan", (long long)replay->makespan,
        "busy", times_of(&replay->stages->busy, stride, count), "first",
        times_of(&replay->stages->first, stride, count), "last",
        times_of(&replay->stages->last, stride, count), "critical",
        fd_number_list(replay->critical.list, replay->critical.count));
}

static PyObject *
result_of(PyObject *module, const priced *with, bool blocking, bool times)
{
    const fd_plan *plan = &with->plan;
    fd_prices prices = {.times = with->times.buf,
                        .posted = with->posted.buf,
                        .blocking = blocking};
    fd_replay replay;
    fd_arena arena = {.first = NULL};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_replay_run(&replay, &arena, plan, &prices, &error);
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? figures_object(plan, &replay)
                                     : fd_raise(module, status, &error);
    if (times && made != NULL) {
        size_t stride = sizeof *replay.begin;
        made = fd_columns_with(made, "begin",
                               times_of(replay.begin, stride, plan->count));
        made = fd_columns_with(made, "end",
                               times_of(replay.end, stride, plan->count));
    }
    fd_arena_clear(&arena);
    return made;
}

PyObject *
fd_replay_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"schedule", "rows",          "first",   "times",
                            "globals",  "micro_batches", "waiting", "posted",
                            "blocking", "jobs",          NULL};
    priced with = {.plan = {.schedule = ""}};
    fd_plan *plan = &with.plan;
    PyObject *rows;
    PyObject *first;
    PyObject *times;
    PyObject *posted = Py_None;
    unsigned waiting = FD_WAIT_NEVER;
    int blocking = 0;
    int jobs = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "sOOO|$IIIOpp:replay", names, &plan->schedule, &rows,
            &first, &times, &plan->globals, &plan->micro_batches, &waiting,
            &posted, &blocking, &jobs)) {
        return NULL;
    }
    plan->waiting = waiting > FD_WAIT_NEVER ? FD_WAIT_NEVER : waiting;
    PyObject *made =
        take_plan(&with, rows, first) && take_priced(&with, times, posted)
            ? result_of(module, &with, blocking != 0, jobs != 0)
            : NULL;
    release_priced(&with);
    return made;
}
