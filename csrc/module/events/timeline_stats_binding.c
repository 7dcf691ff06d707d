/* timeline_stats(): conversion of arguments and results. */
#include "module/events/timeline_binding.h"

#include "base/alloc.h"
#include "events/stats/timeline_stats.h"
#include "module/errors.h"
#include "module/events/timeline_stats_rows.h"
#include "module/field_tables.h"
#include "module/progress_binding.h"

/* Converted arguments, owned while the files are read. */
typedef struct arguments {
    PyObject *paths;          /* owned; list of bytes */
    fd_timeline_input *files; /* owned */
    uint32_t count;
    fd_timeline_align align;
    uint32_t *ranks; /* owned; NULL: all */
    size_t rank_count;
    fd_progress_call progress;
} arguments;

static PyObject *
file_rows(const arguments *a, const fd_text_pool *texts)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < a->count; i++) {
        const fd_timeline_input *file = &a->files[i];
        list = fd_list_with(
            list,
            Py_BuildValue(
                "{s:N,s:O,s:I,s:I,s:s,s:L,s:N,s:K,s:K,s:K,s:K,s:K,s:K,s:s,"
                "s:K,s:N,s:L,s:z}",
                "file", PyUnicode_DecodeFSDefault(file->path), "used",
                file->used ? Py_True : Py_False, "rank", file->rank, "world",
                file->survey.world, "align",
                fd_timeline_align_name(file->align), "offset_ns",
                (long long)file->clock.offset_ns, "uncertainty_ns",
                file->used && fd_timeline_is_calibrated(file)
                    ? PyLong_FromLongLong(file->uncertainty_ns)
                    : Py_NewRef(Py_None),
                "events", (unsigned long long)file->events, "lost",
                (unsigned long long)file->lost, "lost_bytes",
                (unsigned long long)file->lost_bytes, "repaired",
                (unsigned long long)file->repaired, "unpaired",
                (unsigned long long)file->unpaired, "timeless",
                (unsigned long long)file->timeless, "trouble", file->trouble,
                "strays", (unsigned long long)file->strays, "stray",
                file->strays > 0 ? fd_text_object(texts, file->stray_name)
                                 : Py_NewRef(Py_None),
                "stray_ns", (long long)file->stray_ns, "unread",
                file->survey.unread));
    }
    return list;
}

static PyObject *
rank_rows(const fd_stats *stats)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->ranks.count; i++) {
        const fd_stats_rank *rank = &stats->ranks.list[i];
        unsigned long long last = 0;
        for (uint32_t k = 0; k < stats->skew.ranks.count; k++) {
            const fd_skew_rank *each = &stats->skew.ranks.list[k];
            last = each->rank == rank->rank ? each->last : last;
        }
        list = fd_list_with(
            list,
            Py_BuildValue(
                "{s:I,s:s,s:K,s:K,s:K,s:I,s:K,s:I,s:N,s:O}", "rank",
                rank->rank, "basis", fd_stats_basis_name(rank->basis),
                "events", (unsigned long long)rank->events, "calls_lost",
                (unsigned long long)rank->calls_lost, "places_lost",
                (unsigned long long)rank->places_lost, "steps", rank->steps,
                "began_last", last, "open_steps", rank->open_steps, "steps_of",
                PyUnicode_DecodeUTF8(rank->steps_of_name,
                                     (Py_ssize_t)strlen(rank->steps_of_name),
                                     "replace"),
                "steps_end_there",
                rank->steps_end_there ? Py_True : Py_False));
    }
    return list;
}

static PyObject *
step_rows(const fd_stats *stats)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->steps.count; i++) {
        const fd_stats_step *step = &stats->steps.list[i];
        const fd_work_sums *work = &step->work;
        list = fd_list_with(
            list,
            Py_BuildValue(
                "{s:I,s:N,s:L,s:L,s:L,s:L,s:L,s:L,s:L}", "rank", step->rank,
                "step", fd_rows_number(step->number), "start",
                (long long)step->start, "end", (long long)step->end, "busy",
                (long long)work->busy, "compute", (long long)work->compute,
                "communication", (long long)work->communication, "exposed",
                (long long)work->exposed, "copies", (long long)work->copies));
    }
    return list;
}

static PyObject *
tally_row(const fd_stats *stats, const fd_tally_row *row)
{
    const fd_text_pool *texts = &stats->slices.texts;
    const fd_tally_key *key = &row->key;
    PyObject *made = fd_rows_figures(&row->figures);
    if (key->of == FD_TALLY_JOB) {
        made =
            fd_columns_with(made, "rank", PyLong_FromUnsignedLong(key->rank));
        made = fd_columns_with(made, "stage", fd_rows_number(key->stage));
        made = fd_columns_with(made, "step", fd_rows_number(key->step));
        return fd_columns_with(made, "type", fd_text_object(texts, key->name));
    }
    made = fd_columns_with(made, "category", fd_text_object(texts, key->cat));
    made = fd_columns_with(made, "name", fd_text_object(texts, key->name));
    return fd_columns_with(made, "kind",
                           key->work != FD_WORK_NONE ? PyUnicode_FromString(
                               fd_kernel_kind_name(key->work - 1))
                                                     : Py_NewRef(Py_None));
}

static PyObject *
tally_rows(const fd_stats *stats, fd_tally_of of)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->tally.rows.count; i++) {
        const fd_tally_row *row = &stats->tally.rows.list[i];
        if (row->key.of == of) {
            list = fd_list_with(list, tally_row(stats, row));
        }
    }
    return list;
}

static PyObject *
skew_rows(const fd_stats *stats)
{
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < stats->skew.rows.count; i++) {
        const fd_skew_row *row = &stats->skew.rows.list[i];
        list = fd_list_with(
            list,
            Py_BuildValue(
                "{s:N,s:N,s:I,s:K,s:K,s:N,s:N,s:I}", "name",
                fd_text_object(&stats->slices.texts, row->name), "group",
                fd_text_object(&stats->slices.texts, row->group), "ranks",
                row->ranks, "matched", (unsigned long long)row->matched,
                "unmatched", (unsigned long long)row->unmatched, "begin",
                fd_rows_figures(&row->begin), "end",
                fd_rows_figures(&row->end), "worst_rank", row->worst_rank));
    }
    return list;
}

static PyObject *
stats_result(const arguments *a, const fd_stats *stats)
{
    PyObject *made = Py_BuildValue(
        "{s:d,s:L,s:K,s:K,s:K,s:K,s:K}", "error",
        fd_digest_error(stats->tally.widened), "gap_ns",
        (long long)stats->lanes.gap, "closed_ns",
        (unsigned long long)stats->lanes.closed_ns, "steps_left_out",
        (unsigned long long)stats->steps_lost, "values_left_out",
        (unsigned long long)stats->tally.left_out, "collectives_left_out",
        (unsigned long long)stats->skew.left_out, "gpu_events_left_out",
        (unsigned long long)stats->streams.left_out);
    made =
        fd_columns_with(made, "base_ns",
                        stats->has_base ? PyLong_FromLongLong(stats->base_ns)
                                        : Py_NewRef(Py_None));
    made = fd_columns_with(made, "files", file_rows(a, &stats->slices.texts));
    made = fd_columns_with(made, "ranks", rank_rows(stats));
    made = fd_columns_with(made, "steps", step_rows(stats));
    made = fd_columns_with(made, "jobs", tally_rows(stats, FD_TALLY_JOB));
    made = fd_columns_with(made, "names", tally_rows(stats, FD_TALLY_NAME));
    made = fd_columns_with(made, "collectives", skew_rows(stats));
    made = fd_columns_with(made, "gpus", fd_rows_kernels(stats));
    made = fd_columns_with(made, "streams", fd_rows_streams(stats));
    return fd_columns_with(made, "launches", fd_rows_launches(stats));
}

static PyObject *
count_inputs(PyObject *module, arguments *a)
{
    fd_stats_request request = {.align = a->align,
                                .ranks = a->ranks,
                                .rank_count = a->rank_count,
                                .progress = fd_report_progress,
                                .context = &a->progress};
    fd_stats stats;
    fd_error error = {""};
    fd_status status;
    PyObject *made = NULL;
    Py_BEGIN_ALLOW_THREADS
        status =
            fd_timeline_stats(&request, a->files, a->count, &stats, &error);
    Py_END_ALLOW_THREADS
    if (!a->progress.raised) {
        made = status == FD_OK ? stats_result(a, &stats)
                               : fd_raise(module, status, &error);
    }
    fd_stats_clear(&stats);
    return made;
}

PyObject *
fd_timeline_stats_py(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"inputs", "align", "ranks", "progress", NULL};
    arguments a = {.align = FD_ALIGN_WALL};
    PyObject *inputs;
    PyObject *ranks = Py_None;
    PyObject *progress = Py_None;
    PyObject *made = NULL;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O!|$O&OO:timeline_stats",
                                    names, &PyList_Type, &inputs,
                                    fd_take_align, &a.align, &ranks, &progress)
        && fd_take_inputs(inputs, &a.paths, &a.files, &a.count)
        && fd_take_ranks(ranks, "ranks", &a.ranks, &a.rank_count)) {
        a.progress.function = progress;
        made = count_inputs(module, &a);
    }
    Py_XDECREF(a.paths);
    fd_free(a.files);
    fd_free(a.ranks);
    return made;
}
