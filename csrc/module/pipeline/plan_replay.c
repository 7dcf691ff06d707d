/* Plan.replay(): conversion of arguments and results. */
#include "module/pipeline/plan_type.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "pipeline/plan_simulator.h"

/* Times and posted sends of each job, borrowed during the simulation. */
typedef struct priced {
    Py_buffer times;
    Py_buffer posted; /* .obj NULL: not given */
} priced;

/* Get a buffer with one item per job. */
static bool
take_items(Py_buffer *items, PyObject *from, const fd_plan *plan, size_t size,
           const char *name)
{
    if (PyObject_GetBuffer(from, items, PyBUF_C_CONTIGUOUS) < 0) {
        return false;
    }
    if (items->itemsize == (Py_ssize_t)size
        && (size_t)items->len == plan->jobs.count * size) {
        return true;
    }
    PyErr_Format(fd_value_error(), "%s: %u items of %zu bytes", name,
                 (unsigned)plan->jobs.count, size);
    PyBuffer_Release(items);
    return false;
}

static bool
take_priced(priced *to, const fd_plan *plan, PyObject *times, PyObject *posted)
{
    if (!take_items(&to->times, times, plan, sizeof(int64_t), "times")) {
        return false;
    }
    if (Py_IsNone(posted)
        || take_items(&to->posted, posted, plan, sizeof(bool), "posted")) {
        return true;
    }
    PyBuffer_Release(&to->times);
    return false;
}

static fd_status
run_replay(fd_replay *replay, const fd_plan *plan, const priced *with,
           bool blocking, fd_error *error)
{
    return with->posted.obj == NULL
             ? fd_replay_run(replay, plan, with->times.buf, blocking, error)
             : fd_replay_run_posted(replay, plan, with->times.buf,
                                    with->posted.buf, error);
}

static PyObject *
figures_object(const fd_plan *plan, const fd_replay *replay,
               const fd_job_list *critical)
{
    size_t stride = sizeof *replay->stages / sizeof(int64_t);
    size_t count = plan->stages;
    return Py_BuildValue(
        "{s:L,s:N,s:N,s:N,s:N}", "makespan", (long long)replay->makespan,
        "busy", fd_time_list(&replay->stages->busy, count, stride), "first",
        fd_time_list(&replay->stages->first, count, stride), "last",
        fd_time_list(&replay->stages->last, count, stride), "critical",
        fd_number_list(critical->list, critical->count));
}

static PyObject *
result_of(PyObject *self, const priced *with, bool blocking, bool times)
{
    const fd_plan *plan = fd_plan_of(self);
    fd_replay replay;
    fd_job_list critical = {NULL, 0, 0};
    fd_error error = {""};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = run_replay(&replay, plan, with, blocking, &error);
        fd_then(status, fd_replay_critical(&critical, &replay));
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK
                       ? figures_object(plan, &replay, &critical)
                       : fd_raise(fd_module_of(self), status, &error);
    if (times && made != NULL) {
        size_t count = plan->jobs.count;
        made = fd_columns_with(made, "begin",
                               fd_time_list(replay.begin, count, 1));
        made = fd_columns_with(
            made, "end",
            made == NULL ? NULL : fd_time_list(replay.end, count, 1));
    }
    fd_vector_clear(&critical);
    fd_replay_clear(&replay);
    return made;
}

PyObject *
fd_plan_replay(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"times", "posted", "blocking", "jobs", NULL};
    PyObject *times;
    PyObject *posted = Py_None;
    int blocking = 0;
    int jobs = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$Opp:replay", names,
                                     &times, &posted, &blocking, &jobs)) {
        return NULL;
    }
    priced with = {.posted = {.obj = NULL}};
    if (!take_priced(&with, fd_plan_of(self), times, posted)) {
        return NULL;
    }
    PyObject *made = result_of(self, &with, blocking != 0, jobs != 0);
    PyBuffer_Release(&with.times);
    PyBuffer_Release(&with.posted);
    return made;
}
