#include "et/et_file.h"

#include "base/budget.h"
#include "et/collectives.h"
#include "et/dtypes.h"
#include "et/et_edges.h"
#include "et/et_order.h"
#include "et/et_times.h"
#include "et/et_writers.h"
#include "et/process_group_table.h"
#include "et/readers/et_readers.h"

#include <string.h>

/* Number of bytes that is sufficient to detect the format of a file. */
enum { HEAD = 1 << 16 };

const char *
fd_et_format_name(fd_et_format format)
{
    static const char *const names[] = {"PyTorch execution trace",
                                        "Chakra execution trace",
                                        "Chakra workload graph",
                                        "Chrome trace",
                                        "Kineto trace",
                                        "GraphML",
                                        "picture",
                                        "unknown"};
    return names[format];
}

/* Return the format of the first key that only one format has, or
 * FD_ET_UNKNOWN if no such key was found yet. */
static fd_et_format
find_key(const fd_bytes_in *in)
{
    static const struct {
        const char *text;
        fd_et_format format;
    } keys[] = {{"\"nodes\"", FD_ET_PYTORCH},
                {"\"traceEvents\"", FD_ET_KINETO},
                {"\"workload_graph\"", FD_ET_WORKLOAD}};
    fd_et_format format = FD_ET_UNKNOWN;
    const char *end = in->end;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *found = memmem(in->at, (size_t)(end - in->at),
                                   keys[i].text, strlen(keys[i].text));
        format = found != NULL ? keys[i].format : format;
        end = found != NULL ? found : end;
    }
    return format;
}

/* Skip a byte-order mark and white space. */
static void
skip_mark(fd_bytes_in *in)
{
    static const char mark[] = "\xEF\xBB\xBF";
    if (in->end - in->at >= 3 && memcmp(in->at, mark, 3) == 0) {
        in->at += 3;
    }
    while (in->at < in->end && *in->at != '\0'
           && strchr(" \r\n\t", *in->at) != NULL) {
        in->at++;
    }
}

static fd_et_format
sniff(fd_bytes_in *in)
{
    size_t most = fd_budget(HEAD);
    while ((size_t)(in->end - in->at) < most && fd_bytes_in_more(in)) {
    }
    /* A length of 123 looks like "{": check the message after it. */
    if (fd_et_is_chakra(in->at, (size_t)(in->end - in->at))) {
        return FD_ET_CHAKRA;
    }
    skip_mark(in);
    if (in->at == in->end || *in->at != '{') {
        return FD_ET_UNKNOWN;
    }
    fd_et_format format = find_key(in);
    while (format == FD_ET_UNKNOWN && fd_bytes_in_more(in)) {
        format = find_key(in);
    }
    return format == FD_ET_UNKNOWN ? FD_ET_PYTORCH : format;
}

static fd_status
read_any(fd_et *et, fd_bytes_in *in, const char *path, fd_et_format *format,
         fd_error *error)
{
    *format = sniff(in);
    if (in->status != FD_OK) {
        return in->status;
    }
    switch (*format) {
    case FD_ET_CHAKRA:
        return fd_et_read_chakra(et, in);
    case FD_ET_PYTORCH:
    case FD_ET_WORKLOAD:
        return fd_et_read_pytorch(et, in, path, error);
    case FD_ET_KINETO:
        return FD_OK; /* after `in` is closed */
    case FD_ET_CHROME:
    case FD_ET_GRAPHML:
    case FD_ET_DOT:
    case FD_ET_UNKNOWN:
        break;
    }
    return fd_fail(error, FD_EFORMAT, "%s: %s", path,
                   in->at == in->end
                       ? "empty"
                       : "not an execution trace: neither PyTorch's JSON nor "
                         "Chakra's .et");
}

fd_status
fd_et_complete(fd_et *et, uint32_t kinds)
{
    fd_status status = fd_et_find_groups(et);
    if (status == FD_OK) {
        status = fd_et_find_comms(et);
    }
    if (status == FD_OK) {
        status = fd_et_check_dtypes(et);
    }
    if (status == FD_OK) {
        status = fd_et_fill_times(et);
    }
    if (status == FD_OK) {
        status = fd_et_find_edges(et, kinds);
    }
    return status == FD_OK ? fd_et_arrange(et) : status;
}

fd_status
fd_et_read(fd_et *et, const char *path, fd_et_format *format, fd_error *error)
{
    fd_bytes_in in;
    *et = (fd_et){.rank = -1};
    *format = FD_ET_UNKNOWN;
    fd_status status = fd_bytes_in_open(&in, path, error);
    if (status == FD_OK) {
        status = read_any(et, &in, path, format, error);
    }
    fd_bytes_in_close(&in);
    if (status != FD_OK) {
        return status;
    }
    if (*format == FD_ET_KINETO) {
        return fd_et_from_kineto(et, path, error);
    }
    return et->nodes.count == 0 && et->faults.lost > 0
             ? fd_fail(error, FD_EFORMAT, "%s: no node can be read: %s", path,
                       et->faults.trouble)
             : fd_et_finish(et);
}

fd_status
fd_et_load(fd_et *et, const char *path, uint32_t kinds, fd_et_format *format,
           fd_error *error)
{
    fd_status status = fd_et_read(et, path, format, error);
    return status == FD_OK ? fd_et_complete(et, kinds) : status;
}

static fd_et_format
format_of(const char *path, bool timeline)
{
    static const struct {
        const char *end;
        fd_et_format format;
    } ends[] = {{".et", FD_ET_CHAKRA},
                {".json", FD_ET_PYTORCH},
                {".graphml", FD_ET_GRAPHML},
                {".dot", FD_ET_DOT}};
    size_t size = strlen(path);
    if (size > 3 && strcmp(path + size - 3, ".gz") == 0) {
        size -= 3;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t end = strlen(ends[i].end);
        if (size > end && memcmp(path + size - end, ends[i].end, end) == 0) {
            return !timeline                       ? ends[i].format
                 : ends[i].format == FD_ET_PYTORCH ? FD_ET_CHROME
                                                   : FD_ET_UNKNOWN;
        }
    }
    return FD_ET_UNKNOWN;
}

static fd_et_write *const writers[] = {[FD_ET_PYTORCH] = fd_et_write_pytorch,
                                       [FD_ET_CHAKRA] = fd_et_write_chakra,
                                       [FD_ET_WORKLOAD] = fd_et_write_workload,
                                       [FD_ET_CHROME] = fd_et_write_timeline,
                                       [FD_ET_KINETO] = fd_et_write_kineto,
                                       [FD_ET_GRAPHML] = fd_et_write_graphml,
                                       [FD_ET_DOT] = fd_et_write_dot};

static fd_status
save(const fd_et *et, const char *path, fd_et_format format, fd_error *error)
{
    fd_status status;
    fd_bytes_out *out = fd_bytes_out_open(path, &status, error);
    if (status != FD_OK) {
        return status;
    }
    status = writers[format](et, out, error);
    if (status == FD_OK) {
        return fd_bytes_out_keep(out, error);
    }
    fd_bytes_out_drop(out);
    return status;
}

fd_status
fd_et_save_kineto(const fd_et *et, const char *path, fd_error *error)
{
    return save(et, path, FD_ET_KINETO, error);
}

fd_status
fd_et_save_workload(const fd_et *et, const char *path, fd_error *error)
{
    if (format_of(path, false) != FD_ET_PYTORCH) {
        return fd_fail(error, FD_EINVAL,
                       "%s: write a name that ends in .json or .json.gz",
                       path);
    }
    return save(et, path, FD_ET_WORKLOAD, error);
}

fd_status
fd_et_save(const fd_et *et, const char *path, bool timeline, fd_error *error)
{
    fd_et_format format = format_of(path, timeline);
    if (format == FD_ET_UNKNOWN) {
        return fd_fail(error, FD_EINVAL, "%s: write a name that ends in %s",
                       path,
                       timeline ? ".json or .json.gz"
                                : ".et, .json, .graphml or .dot, each with "
                                  ".gz or without");
    }
    return save(et, path, format, error);
}
