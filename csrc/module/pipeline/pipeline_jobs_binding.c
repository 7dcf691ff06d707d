/* pipeline_jobs(): conversion of arguments and results. */
#include "module/pipeline/pipeline_jobs_binding.h"

#include "module/errors.h"
#include "module/field_tables.h"
#include "module/trace/trace_type.h"
#include "pipeline/recorded/pipeline_match.h"
#include "pipeline/recorded/recorded_jobs.h"

/* Return one entry per rank of the trace, which the caller frees. */
static fd_pipe_known *
take_known(const fd_trace *trace, PyObject *list)
{
    Py_ssize_t count = (Py_ssize_t)trace->ranks.count;
    if (PyList_GET_SIZE(list) != count) {
        PyErr_SetString(fd_value_error(), "known: one per rank");
        return NULL;
    }
    fd_pipe_known *known = fd_calloc((size_t)count + 1, sizeof *known);
    if (known == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        fd_pipe_known *one = &known[i];
        long long clock[4];
        if (!PyArg_Parse(PyList_GET_ITEM(list, i), "(iiiLLLL)", &one->position,
                         &one->data, &one->model, &clock[0], &clock[1],
                         &clock[2], &clock[3])) {
            fd_free(known);
            return NULL;
        }
        one->position = one->position > INT16_MAX ? -1 : one->position;
        one->clock = (fd_clock_map){clock[0], clock[1], clock[2]};
        one->unsure = clock[3];
    }
    return known;
}

static PyObject *
rank_arrays(const fd_pipe *p)
{
    static const fd_column columns[] = {
        FD_COLUMN(fd_pipe_rank, "rank", U32, rank),
        FD_COLUMN(fd_pipe_rank, "stage", I32, position),
        FD_COLUMN(fd_pipe_rank, "line", U32, line),
        FD_COLUMN(fd_pipe_rank, "data", I32, data),
        FD_COLUMN(fd_pipe_rank, "model", I32, model),
        FD_COLUMN(fd_pipe_rank, "open", U32, open),
        FD_COLUMN(fd_pipe_rank, "killed", BOOL, killed),
        FD_COLUMN(fd_pipe_rank, "moved_ns", I64, moved),
        FD_COLUMN(fd_pipe_rank, "unsure_ns", I64, unsure),
        FD_COLUMN(fd_pipe_rank, "first", U32, first),
        FD_COLUMN(fd_pipe_rank, "end", U32, end)};
    static const fd_table table =
        FD_TABLE("ranks", columns, fd_pipe_rank, false);
    return fd_arrays(&table, p->ranks.list, p->ranks.count);
}

static PyObject *
job_arrays(const fd_pipe *p)
{
    static const fd_column columns[] = {
        FD_COLUMN(fd_pipe_job, "at", U32, at),
        FD_COLUMN(fd_pipe_job, "row", U32, row),
        FD_COLUMN(fd_pipe_job, "iteration", I32, iteration),
        FD_COLUMN(fd_pipe_job, "kind", U8, kind),
        FD_COLUMN(fd_pipe_job, "flags", U8, flags),
        FD_COLUMN(fd_pipe_job, "stage", I32, stage),
        FD_COLUMN(fd_pipe_job, "peer", I32, peer),
        FD_COLUMN(fd_pipe_job, "micro_batch", I32, micro_batch),
        FD_COLUMN(fd_pipe_job, "buffer", I32, buffer),
        FD_COLUMN(fd_pipe_job, "bytes", U64, bytes),
        FD_COLUMN(fd_pipe_job, "start", I64, start),
        FD_COLUMN(fd_pipe_job, "end", I64, end),
        FD_COLUMN(fd_pipe_job, "other", I32, other)}; /* -1: none */
    static const fd_table table =
        FD_TABLE("jobs", columns, fd_pipe_job, false);
    return fd_arrays(&table, p->jobs.list, p->jobs.count);
}

static PyObject *
jobs_object(const fd_pipe *p, const fd_pipe_matches *found)
{
    PyObject *made = Py_BuildValue(
        "{s:I,s:I,s:I,s:I,s:O,s:I,s:I,s:I,s:I,s:I}", "stages",
        (unsigned)p->stages, "chunks", (unsigned)p->chunks, "globals",
        (unsigned)p->globals, "lines", (unsigned)p->lines, "guessed",
        p->guessed ? Py_True : Py_False, "evals", (unsigned)p->evals,
        "unknown", (unsigned)p->unknown, "undirected", (unsigned)p->undirected,
        "matched", (unsigned)found->matched, "local", (unsigned)found->local);
    made = fd_columns_with(made, "ranks", rank_arrays(p));
    made = fd_columns_with(made, "jobs", job_arrays(p));
    return fd_columns_with(
        made, "alone", fd_number_list(found->alone.list, found->alone.count));
}

PyObject *
fd_pipeline_jobs_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"trace", "known", NULL};
    PyObject *trace;
    PyObject *list;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:pipeline_jobs", names,
                                     fd_module_state_of(module)->trace, &trace,
                                     &PyList_Type, &list)) {
        return NULL;
    }
    fd_pipe_known *known = take_known(fd_trace_of(trace), list);
    if (known == NULL) {
        return NULL;
    }
    fd_pipe p = {.lines = 0};
    fd_pipe_matches found = {.matched = 0};
    fd_status status;
    Py_BEGIN_ALLOW_THREADS
        status = fd_pipe_read(&p, fd_trace_of(trace), known);
        fd_then(status, fd_pipeline_match(&found, &p));
    Py_END_ALLOW_THREADS
    PyObject *made = status == FD_OK ? jobs_object(&p, &found)
                                     : fd_raise(module, status, NULL);
    fd_free(known);
    fd_pipe_clear(&p);
    fd_pipe_matches_clear(&found);
    return made;
}
