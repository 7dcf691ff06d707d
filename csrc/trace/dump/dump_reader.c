#include "trace/dump/dump_reader.h"

#include "trace/canonical_order.h"
#include "trace/dump/dump_parts.h"
#include "trace/dump/dump_reading.h"

static void
load_format(fd_loading *l, fd_span json)
{
    if (!fd_span_is(json, "\"fastdispatch.trace\"")) {
        fd_loading_wrong(l, "format", "not a fastdispatch dump");
    }
}

static void
load_version(fd_loading *l, fd_span json)
{
    uint64_t version = fd_loading_number(l, json, "version", UINT32_MAX);
    if (version != 1) {
        fd_arena_fail(&l->arena,
                      fd_fail(l->arena.error, FD_EVERSION,
                              "%s: version %u of the dump, this fastdispatch "
                              "reads version 1: upgrade it",
                              l->path, (unsigned)version));
    }
}

static void
load_part(fd_loading *l, fd_dump_parts *parts, fd_dump_part part,
          void (*load)(fd_loading *, fd_span))
{
    fd_span text;
    fd_arena_check(&l->arena, fd_dump_parts_read(parts, part, &text));
    load(l, text);
}

static fd_status
load_parts(fd_loading *l, fd_dump_parts *parts, fd_error *error)
{
    void (*const load[])(fd_loading *, fd_span) = {
        load_format,   load_version,    fd_load_strings,
        fd_load_nodes, fd_load_modules, fd_load_contexts};
    if (fd_arena_caught(&l->arena, error)) {
        return l->arena.status;
    }
    l->trace = fd_trace_new();
    fd_arena_check(&l->arena, l->trace != NULL ? FD_OK : FD_ENOMEM);
    for (int i = 0; i < FD_DUMP_RANKS; i++) {
        load_part(l, parts, parts->parts[i], load[i]);
    }
    if (!parts->has_ranks) {
        fd_loading_wrong(l, "ranks", "an array is missing");
    }
    for (uint32_t i = 0; i < parts->ranks.count; i++) {
        load_part(l, parts, parts->ranks.list[i], fd_load_rank);
    }
    fd_arena_check(&l->arena, fd_trace_sort(l->trace));
    return fd_arena_left(&l->arena);
}

fd_status
fd_load(fd_trace **trace, const char *path, fd_error *error)
{
    fd_dump_parts parts;
    fd_loading l = {.path = path};
    fd_status status = fd_dump_parts_open(&parts, path, error);
    fd_then(status, load_parts(&l, &parts, error));
    if (status == FD_ENOMEM) {
        fd_fail(error, status, "%s: out of memory", path);
    }
    fd_dump_parts_close(&parts);
    fd_buffer_clear(&l.text);
    fd_arena_clear(&l.arena);
    if (status != FD_OK) {
        fd_trace_free(l.trace);
        l.trace = NULL;
    }
    *trace = l.trace;
    return status;
}
