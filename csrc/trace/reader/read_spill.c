#include "trace/reader/recording_reading.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Open the side file. A missing file is not an error: most recordings have no
 * side file. */
static fd_status
open_at(fd_reading *r, const char *path)
{
    if (access(path, F_OK) != 0) {
        return FD_OK;
    }
    return fd_chunks_open_spill(&r->spill, path, &r->trouble);
}

fd_status
fd_spill_open(fd_reading *r, const char *path, const void *base, size_t size)
{
    char side[PATH_MAX];
    fd_status status = FD_OK;
    r->spill = (fd_chunks){.fd = -1};
    if (path == NULL && size > 0) {
        status = fd_chunks_view_spill(&r->spill, base, size, &r->trouble);
    }
    else if (path != NULL
             && snprintf(side, sizeof side, "%s%s", path, FD_SPILL_SUFFIX)
                    < (int)sizeof side) {
        status = open_at(r, side);
    }
    return status == FD_ENOMEM ? FD_ENOMEM : FD_OK;
}

static bool
is_ours(const fd_reading *r)
{
    const fd_header *header = fd_chunks_header(&r->file);
    return r->spill.base != NULL
        && memcmp(fd_chunks_header(&r->spill)->id, header->id,
                  sizeof header->id)
               == 0;
}

/* Read the name of the side file in the recording: a JSON string without
 * escapes and without a folder. Return false if there is no such name. */
static bool
noted_name(const fd_reading *r, char name[NAME_MAX + 1])
{
    const fd_string *value = NULL;
    FOR_EACH_CHUNK(r, FD_CHUNK_META, view)
    {
        const fd_meta *list = view->records;
        for (uint32_t i = 0; i < view->used; i++) {
            const fd_string *key = fd_chunks_string(&r->file, list[i].key);
            if (key != NULL && strcmp(key->bytes, FD_SPILL_KEY) == 0) {
                value = fd_chunks_string(&r->file, list[i].value);
            }
        }
    }
    if (value == NULL) {
        return false;
    }
    name[0] = '\0';
    if (value->size > 2 && value->size - 2 <= NAME_MAX
        && memchr(value->bytes, '/', value->size) == NULL
        && memchr(value->bytes, '\\', value->size) == NULL) {
        memcpy(name, value->bytes + 1, value->size - 2);
        name[value->size - 2] = '\0';
    }
    return true;
}

/* Open the side file by the name in the recording, which helps if only the
 * recording was renamed. */
static fd_status
open_noted(fd_reading *r, const char *path, const char *name)
{
    char side[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash - path) + 1 : 0;
    fd_reading other = {.spill = {.fd = -1}, .file = r->file};
    fd_status status = FD_OK;
    if (name[0] != '\0'
        && snprintf(side, sizeof side, "%.*s%s", folder, path, name)
               < (int)sizeof side) {
        status = open_at(&other, side);
    }
    if (is_ours(&other)) {
        r->spill = other.spill;
    }
    else {
        fd_chunks_close(&other.spill);
    }
    return status == FD_ENOMEM ? FD_ENOMEM : FD_OK;
}

static void
tell_missing(fd_reading *r, const char *path)
{
    const char *name = path != NULL ? path : "this recording";
    if (r->spill.truncated) {
        fd_fail(&r->trouble, FD_EFORMAT, "%s%s is cut short", name,
                FD_SPILL_SUFFIX);
    }
    else if (r->spill.damaged > 0) {
        fd_fail(&r->trouble, FD_EFORMAT, "%s%s has %u damaged pages", name,
                FD_SPILL_SUFFIX, r->spill.damaged);
    }
    else if (r->spill.base == NULL && r->trouble.text[0] == '\0') {
        fd_fail(&r->trouble, FD_EIO, "%s%s is not there", name,
                FD_SPILL_SUFFIX);
    }
}

fd_status
fd_spill_settle(fd_reading *r, const char *path)
{
    char name[NAME_MAX + 1];
    bool expected = noted_name(r, name);
    bool opened = r->spill.base != NULL;
    fd_status status = FD_OK;
    if (!is_ours(r)) {
        fd_chunks_close(&r->spill);
        if (opened) {
            fd_fail(&r->trouble, FD_EFORMAT, "%s%s is of another recording",
                    path != NULL ? path : "this recording", FD_SPILL_SUFFIX);
        }
        if (expected && path != NULL) {
            status = open_noted(r, path, name);
        }
    }
    if (r->spill.base != NULL || !expected) {
        r->trouble.text[0] = '\0';
    }
    if (expected) {
        tell_missing(r, path);
    }
    return status;
}

uint64_t
fd_spill_missing(fd_reading *r, uint64_t written, const fd_run_list *runs)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < runs->count; i++) {
        seen += runs->list[i].view->used;
    }
    uint64_t missing =
        r->trouble.text[0] != '\0' && written > seen ? written - seen : 0;
    r->missing += missing;
    return missing;
}
