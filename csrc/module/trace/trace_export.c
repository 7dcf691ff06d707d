/* Trace.export(): conversion of the options of a format. */
#include "module/errors.h"

#include "events/recorded/recording_inputs.h"
#include "export/exporters.h"
#include "module/events/timeline_binding.h"
#include "module/trace/trace_type.h"
#include "profile/totals.h"

/* Return the index of a name in a NULL-terminated list, or -1 with
 * ValueError. */
static int
choose_name(const char *what, const char *name, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    PyErr_Format(fd_value_error(), "%s=%s is unknown", what, name);
    return -1;
}

static bool
choose_all(fd_export_options *options, const char *style, const char *weight,
           const char *ops, const char *durations)
{
    static const char *const styles[] = {"default", "classic", NULL};
    static const char *const weights[] = {"time", "calls", "gpu", NULL};
    static const char *const operators[] = {"none", "top", "all", NULL};
    static const char *const places[] = {"jobs", "name", "args", NULL};
    int of_style = choose_name("style", style, styles);
    int of_weight = of_style < 0 ? -1 : choose_name("weight", weight, weights);
    int of_ops = of_weight < 0 ? -1 : choose_name("ops", ops, operators);
    int index = of_ops < 0 ? -1 : choose_name("durations", durations, places);
    if (index < 0) {
        return false;
    }
    options->style = (fd_export_style)of_style;
    options->weight = (fd_export_weight)of_weight;
    options->ops = (fd_export_ops)of_ops;
    options->durations = (fd_export_durations)index;
    return true;
}

/* Convert a tuple of str to a list that the caller frees; the texts are
 * borrowed from the tuple. */
static bool
take_globs(PyObject *tuple, fd_export_globs *globs)
{
    size_t count = (size_t)PyTuple_GET_SIZE(tuple);
    const char **list = fd_calloc(count + 1, sizeof *list);
    if (list == NULL) {
        PyErr_NoMemory();
        return false;
    }
    *globs = (fd_export_globs){.list = list, .count = count};
    for (size_t i = 0; i < count; i++) {
        list[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
        if (list[i] == NULL) {
            return false;
        }
    }
    return true;
}

static void
free_globs(fd_export_globs *globs)
{
    fd_free((void *)(uintptr_t)globs->list);
}

/* Options of the alignment of the clocks of several ranks. */
typedef struct alignment {
    fd_timeline_align align;
    bool strict;
} alignment;

static fd_status
write_aligned(const fd_trace *trace, const fd_exporter *exporter,
              fd_export_options options, alignment how, fd_buffer *to,
              fd_error *error)
{
    bool many = options.rank == FD_ALL_RANKS && trace->ranks.count > 1;
    fd_status status = FD_OK;
    fd_export_clock *clocks = NULL;
    if (many && exporter->is_timeline) {
        clocks = fd_calloc(trace->ranks.count, sizeof *clocks);
        status =
            clocks == NULL
                ? FD_ENOMEM
                : fd_timeline_align_trace(trace, how.align, how.strict, clocks,
                                          &options.clocks_base_ns, error);
        options.clocks = clocks;
    }
    fd_then(status, exporter->write(trace, &options, to, error));
    fd_free(clocks);
    return status;
}

static PyObject *
written_text(PyObject *self, const fd_exporter *exporter,
             const fd_export_options *options, alignment how)
{
    fd_buffer text = {.bytes = NULL};
    fd_error error = {""};
    fd_status status;
    PyObject *bytes = NULL;
    Py_BEGIN_ALLOW_THREADS
        status = write_aligned(fd_trace_of(self), exporter, *options, how,
                               &text, &error);
    Py_END_ALLOW_THREADS
    if (status != FD_OK) {
        fd_raise(fd_module_of(self), status, &error);
    }
    else {
        bytes = PyBytes_FromStringAndSize(text.bytes, (Py_ssize_t)text.size);
    }
    fd_buffer_clear(&text);
    return bytes;
}

PyObject *
fd_trace_export(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"format", "rank",      "style",    "weight",
                            "ops",    "hide",      "contract", "min_percent",
                            "all",    "durations", "flows",    "align",
                            "strict", "leaves",    NULL};
    const char *format;
    const char *style = "default";
    const char *weight = "time";
    const char *ops = "none";
    PyObject *hide = NULL;
    PyObject *contract = NULL;
    int all = 0;
    const char *durations = "jobs";
    int flows = 1;
    int strict = 0;
    int leaves = 0;
    alignment how = {.align = FD_ALIGN_AUTO};
    fd_export_options options = {.rank = FD_ALL_RANKS, .min_percent = -1};
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "s|$isssO!O!dpspO&pi:export", names, &format,
            &options.rank, &style, &weight, &ops, &PyTuple_Type, &hide,
            &PyTuple_Type, &contract, &options.min_percent, &all, &durations,
            &flows, fd_take_align, &how.align, &strict, &leaves)
        || !fd_trace_rank_fits(self, options.rank)
        || !choose_all(&options, style, weight, ops, durations)) {
        return NULL;
    }
    how.strict = strict != 0;
    options.all = all != 0;
    options.no_flows = flows == 0;
    options.leaves = leaves > 0 ? (uint32_t)leaves : 0;
    const fd_exporter *exporter = fd_exporter_find(format);
    if (exporter == NULL) {
        return PyErr_Format(fd_value_error(), "format=%s is unknown", format);
    }
    PyObject *made = NULL;
    if ((hide == NULL || take_globs(hide, &options.hide))
        && (contract == NULL || take_globs(contract, &options.contract))) {
        made = written_text(self, exporter, &options, how);
    }
    free_globs(&options.hide);
    free_globs(&options.contract);
    return made;
}
