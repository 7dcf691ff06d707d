#include "trace/dump/dump_reader.h"

#include "trace/canonical_order.h"
#include "trace/dump/dump_reading.h"

#include <ctype.h>
#include <string.h>

static fd_status
check_format(const fd_loading *l, const cJSON *document)
{
    const cJSON *format = cJSON_GetObjectItemCaseSensitive(document, "format");
    uint64_t version = 0;
    if (!cJSON_IsString(format)
        || strcmp(format->valuestring, "fastdispatch.trace") != 0) {
        return fd_loading_wrong(l, "format", "not a fastdispatch dump");
    }
    fd_status status =
        fd_loading_number(l, document, "version", UINT32_MAX, &version);
    if (status == FD_OK && version != 1) {
        status = fd_fail(l->error, FD_EVERSION,
                         "%s: version %u of the dump, this fastdispatch reads "
                         "version 1: upgrade it",
                         l->path, (unsigned)version);
    }
    return status;
}

static fd_status
load_document(fd_loading *l, const cJSON *document)
{
    fd_status status = check_format(l, document);
    fd_status (*const parts[])(fd_loading *, const cJSON *) = {
        fd_load_strings, fd_load_nodes, fd_load_modules, fd_load_contexts,
        fd_load_ranks};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == FD_OK;
         i++) {
        status = parts[i](l, document);
    }
    return status == FD_OK ? fd_trace_sort(l->trace) : status;
}

static bool
only_space(const char *text, size_t size)
{
    while (size > 0 && isspace((unsigned char)*text)) {
        text++;
        size--;
    }
    return size == 0;
}

static fd_status
parse(const char *path, cJSON **document, fd_error *error)
{
    fd_buffer text = {.bytes = NULL};
    fd_status status = fd_buffer_load(&text, path, SIZE_MAX / 2, error);
    if (status != FD_OK) {
        fd_buffer_clear(&text);
        return status;
    }
    const char *end = NULL;
    *document = text.bytes == NULL
                  ? NULL
                  : cJSON_ParseWithLengthOpts(text.bytes, text.size, &end, 0);
    size_t at = end != NULL ? (size_t)(end - text.bytes) : 0;
    if (*document == NULL || !only_space(text.bytes + at, text.size - at)) {
        cJSON_Delete(*document);
        *document = NULL;
        status = fd_fail(error, FD_EFORMAT, "%s: not valid JSON at byte %zu",
                         path, at);
    }
    fd_buffer_clear(&text);
    return status;
}

fd_status
fd_load(fd_trace **trace, const char *path, fd_error *error)
{
    cJSON *document = NULL;
    fd_status status = parse(path, &document, error);
    if (status != FD_OK) {
        return status;
    }
    fd_loading l = {.path = path, .error = error, .trace = fd_trace_new()};
    status = l.trace == NULL ? FD_ENOMEM : load_document(&l, document);
    if (status == FD_ENOMEM) {
        fd_fail(error, status, "%s: out of memory", path);
    }
    cJSON_Delete(document);
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
