/* Plan.replay(): conversion of arguments and results. */
#include "module/pipeline/plan_type.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "pipeline/plan_simulator.h"

/* Converted times, owned during the simulation. */
typedef struct priced {
    int64_t *stages[FD_JOB_KINDS]; /* owned; one per global stage */
    fd_replay_prices prices;
    int64_t *times; /* owned; one per job */
} priced;

static void
clear_prices(priced *to)
{
    for (int kind = 0; kind < FD_JOB_KINDS; kind++) {
        fd_free(to->stages[kind]);
    }
    fd_free(to->times);
}

static bool
take_kind(priced *to, const fd_plan *plan, int kind, PyObject *list)
{
    uint32_t count = fd_plan_globals(plan);
    if (!PyList_Check(list) || PyList_GET_SIZE(list) != (Py_ssize_t)count) {
        PyErr_Format(fd_value_error(), "%s: a list of %u integers",
                     fd_job_kind_name((fd_job_kind)kind), (unsigned)count);
        return false;
    }
    to->stages[kind] = fd_take_numbers(list, "L", sizeof **to->stages);
    to->prices.of_kind[kind] = to->stages[kind];
    return to->stages[kind] != NULL;
}

static bool
take_prices(priced *to, const fd_plan *plan, PyObject *prices)
{
    Py_ssize_t known = 0;
    for (int kind = 0; kind < FD_JOB_KINDS; kind++) {
        PyObject *list =
            PyDict_GetItemString(prices, fd_job_kind_name((fd_job_kind)kind));
        if (list != NULL) {
            known++;
            if (!take_kind(to, plan, kind, list)) {
                return false;
            }
        }
    }
    if (known != PyDict_GET_SIZE(prices)) {
        PyErr_SetString(fd_value_error(), "prices of an unknown kind");
        return false;
    }
    to->times = fd_calloc(plan->jobs.count, sizeof *to->times);
    if (to->times == NULL) {
        PyErr_NoMemory();
        return false;
    }
    fd_replay_price(to->times, plan, &to->prices);
    return true;
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
        status = fd_replay_run(&replay, plan, with->times, blocking, &error);
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
    static char *names[] = {"prices", "blocking", "times", NULL};
    PyObject *prices;
    int blocking = 0;
    int times = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|$pp:replay", names,
                                     &PyDict_Type, &prices, &blocking,
                                     &times)) {
        return NULL;
    }
    priced with = {.times = NULL};
    PyObject *made = take_prices(&with, fd_plan_of(self), prices)
                       ? result_of(self, &with, blocking != 0, times != 0)
                       : NULL;
    clear_prices(&with);
    return made;
}
