#include "trace/run_manifest.h"

#include "json/json_scan.h"
#include "json/json_text.h"

#include <string.h>
#include <unistd.h>

enum { LARGEST_MANIFEST = 64 << 20 };

static bool
is_json(fd_span text)
{
    fd_scan scan = {.at = text.from, .end = text.to, .forgets = true};
    fd_scan_result result = fd_scan_value(&scan);
    fd_scan_space(&scan);
    return result == FD_SCAN_OK && scan.at == scan.end;
}

static fd_status
add_file(fd_manifest *manifest, fd_span rank)
{
    fd_span file;
    fd_buffer name = {.bytes = NULL};
    uint32_t id;
    if (!fd_scan_find(rank, "file", &file) || *file.from != '"') {
        return FD_OK;
    }
    fd_json_string(fd_span_inside(file), &name);
    manifest->names_any = true;
    return fd_text_pool_take(&manifest->files, &name, &id);
}

static fd_status
add_files(fd_manifest *manifest, fd_span document)
{
    static const char *const names[] = {"format", "ranks"};
    fd_span of[2];
    fd_span rank;
    fd_scan_members(document, names, 2, of);
    fd_scan scan = {.at = of[1].from, .end = of[1].to, .forgets = true};
    if (!fd_span_is(of[0], "\"fastdispatch.run\"")
        || fd_scan_mark(&scan, '[') != FD_SCAN_OK) {
        return FD_OK;
    }
    fd_status status = FD_OK;
    for (bool first = true;
         status == FD_OK && fd_scan_element(&scan, first, &rank) == FD_SCAN_OK;
         first = false) {
        status = add_file(manifest, rank);
    }
    return status;
}

fd_status
fd_manifest_read(fd_manifest *manifest, const char *path, fd_error *error)
{
    fd_buffer text = {.bytes = NULL};
    *manifest = (fd_manifest){.names_any = false};
    if (access(path, F_OK) != 0) {
        return FD_OK;
    }
    fd_status status = fd_buffer_load(&text, path, LARGEST_MANIFEST, error);
    fd_then(status,
            is_json(fd_span_of(&text))
                ? add_files(manifest, fd_span_of(&text))
                : fd_fail(error, FD_EFORMAT, "%s: not valid JSON", path));
    fd_buffer_clear(&text);
    return status;
}

void
fd_manifest_clear(fd_manifest *manifest)
{
    fd_text_pool_clear(&manifest->files);
}

bool
fd_manifest_names(const fd_manifest *manifest, const char *name)
{
    return !manifest->names_any
        || fd_text_pool_find(&manifest->files, name, strlen(name)) != 0;
}
