/* Trace.export(): conversion of the options of a format. */
#include "module/errors.h"

#include "events/recorded/timeline_exports.h"
#include "module/events/clock_binding.h"
#include "module/events/timeline_binding.h"
#include "module/trace/trace_type.h"
#include "profile/totals.h"

static PyObject *
written_text(PyObject *self, fd_export *write,
             const fd_export_options *options)
{
    fd_buffer text = {.bytes = NULL};
    fd_error error = {""};
    fd_status status;
    PyObject *bytes = NULL;
    Py_BEGIN_ALLOW_THREADS
        status = write(fd_trace_of(self), options, &text, &error);
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

/* Convert a list with a table of each rank; None: no flows of a pipeline. The
 * caller frees the result. */
static bool
take_all_transfers(PyObject *list, uint32_t count, fd_transfers **transfers)
{
    if (list == Py_None) {
        return true;
    }
    if (!PyList_Check(list) || PyList_GET_SIZE(list) != (Py_ssize_t)count) {
        PyErr_SetString(fd_value_error(), "transfers: one per rank");
        return false;
    }
    *transfers = fd_calloc((size_t)count + 1, sizeof **transfers);
    if (*transfers == NULL) {
        PyErr_NoMemory();
    }
    for (uint32_t i = 0; *transfers != NULL && i < count; i++) {
        PyObject *bytes = PyList_GET_ITEM(list, (Py_ssize_t)i);
        (*transfers)[i] =
            fd_take_transfers(PyBytes_Check(bytes) ? bytes : NULL);
    }
    return *transfers != NULL;
}

PyObject *
fd_trace_export(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"format", "rank",      "durations", "flows",
                            "clocks", "transfers", NULL};
    static const char *const formats[] = {"chrome", "perfetto", NULL};
    static fd_export *const writers[] = {fd_export_chrome, fd_export_perfetto};
    static const char *const places[] = {"jobs", "name", "args", NULL};
    const char *format;
    const char *durations = "jobs";
    int flows = 1;
    PyObject *answer = Py_None;
    PyObject *ends = Py_None;
    fd_rank_clock *clocks = NULL;
    fd_transfers *transfers = NULL;
    fd_export_options options = {.rank = FD_ALL_RANKS};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|$ispOO:export", names,
                                     &format, &options.rank, &durations,
                                     &flows, &answer, &ends)
        || !fd_trace_rank_fits(self, options.rank)) {
        return NULL;
    }
    int place = fd_choose_name("durations", durations, places);
    int which = place < 0 ? -1 : fd_choose_name("format", format, formats);
    if (which < 0) {
        return NULL;
    }
    options.durations = (fd_export_durations)place;
    options.no_flows = flows == 0;
    const fd_trace *trace = fd_trace_of(self);
    if (!take_all_transfers(ends, trace->ranks.count, &transfers)) {
        return NULL;
    }
    options.transfers = transfers;
    if (answer != Py_None) {
        clocks = fd_take_clocks(answer, trace->ranks.count,
                                &options.clocks_base_ns);
        options.clocks = clocks;
    }
    PyObject *text = answer != Py_None && clocks == NULL
                       ? NULL
                       : written_text(self, writers[which], &options);
    fd_free(clocks);
    fd_free(transfers);
    return text;
}
