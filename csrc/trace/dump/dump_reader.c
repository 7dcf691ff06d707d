#include "trace/dump/dump_reader.h"

#include "trace/canonical_order.h"
#include "trace/dump/dump_parts.h"
#include "trace/dump/dump_reading.h"

static fd_status
load_format(fd_loading *l, fd_span json)
{
    return fd_span_is(json, "\"fastdispatch.trace\"")
             ? FD_OK
             : fd_loading_wrong(l, "format", "not a fastdispatch dump");
}

static fd_status
load_version(fd_loading *l, fd_span json)
{
    uint64_t version = 0;
    fd_status status =
        fd_loading_number(l, json, "version", UINT32_MAX, &version);
    return status == FD_OK && version != 1
             ? fd_fail(l->error, FD_EVERSION,
                       "%s: version %u of the dump, this fastdispatch reads "
                       "version 1: upgrade it",
                       l->path, (unsigned)version)
             : status;
}

static fd_status
load_part(fd_loading *l, fd_dump_parts *parts, fd_dump_part part,
          fd_status (*load)(fd_loading *, fd_span))
{
    fd_span text;
    fd_status status = fd_dump_parts_read(parts, part, &text);
    return status == FD_OK ? load(l, text) : status;
}

static fd_status
load_parts(fd_loading *l, fd_dump_parts *parts)
{
    fd_status (*const load[])(fd_loading *, fd_span) = {
        load_format,   load_version,    fd_load_strings,
        fd_load_nodes, fd_load_modules, fd_load_contexts};
    fd_status status = FD_OK;
    for (int i = 0; i < FD_DUMP_RANKS && status == FD_OK; i++) {
        status = load_part(l, parts, parts->parts[i], load[i]);
    }
    if (status == FD_OK && !parts->has_ranks) {
        status = fd_loading_wrong(l, "ranks", "an array is missing");
    }
    for (uint32_t i = 0; i < parts->ranks.count && status == FD_OK; i++) {
        status = load_part(l, parts, parts->ranks.list[i], fd_load_rank);
    }
    return status == FD_OK ? fd_trace_sort(l->trace) : status;
}

fd_status
fd_load(fd_trace **trace, const char *path, fd_error *error)
{
    fd_dump_parts parts;
    fd_loading l = {.path = path, .error = error};
    fd_status status = fd_dump_parts_open(&parts, path, error);
    if (status == FD_OK) {
        l.trace = fd_trace_new();
        status = l.trace == NULL ? FD_ENOMEM : load_parts(&l, &parts);
    }
    if (status == FD_ENOMEM) {
        fd_fail(error, status, "%s: out of memory", path);
    }
    fd_dump_parts_close(&parts);
    fd_buffer_clear(&l.text);
    fd_vector_clear(&l.texts);
    fd_vector_clear(&l.nodes);
    fd_vector_clear(&l.modules);
    fd_free(l.contexts);
    if (status != FD_OK) {
        fd_trace_free(l.trace);
        l.trace = NULL;
    }
    *trace = l.trace;
    return status;
}
