#include "et/readers/recording_head.h"

#include "et/process_group_table.h"

#include <string.h>
#include <time.h>

/* Return the last fact of this name. */
static const fd_string *
last_fact(const fd_chunks *file, const char *key)
{
    const fd_string *value = NULL;
    for (uint32_t i = 0; i < file->list.count; i++) {
        const fd_chunk_view *view = &file->list.list[i];
        const fd_meta *meta = view->records;
        for (uint32_t j = 0;
             view->header.kind == FD_CHUNK_META && j < view->used; j++) {
            const fd_string *name = fd_chunks_string(file, meta[j].key);
            if (name != NULL && name->size == strlen(key)
                && memcmp(name->bytes, key, name->size) == 0) {
                value = fd_chunks_string(file, meta[j].value);
            }
        }
    }
    return value;
}

void
fd_et_put_recording_head(fd_et *et, const fd_chunks *file)
{
    const fd_header *header = fd_chunks_header(file);
    char text[32] = "";
    struct tm local;
    time_t seconds = (time_t)(header->start.realtime_ns / 1000000000);
    size_t size = localtime_r(&seconds, &local) == NULL
                    ? 0
                    : strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    et->pid = header->pid;
    et->rank = header->rank;
    et->world = header->world;
    et->start_ts = (int64_t)(header->start.monotonic_ns / 1000000);
    et->finish_ts = (int64_t)(header->stop.monotonic_ns / 1000000);
    et->finished = header->state == FD_STATE_STOPPED;
    const fd_string *groups = last_fact(file, "process_groups");
    const fd_string *host = last_fact(file, "host");
    et->time = fd_et_add_text(et, (fd_span){text, text + size});
    if (host != NULL) {
        et->host =
            fd_et_add_json_text(et, fd_span_inside(fd_string_span(host)));
    }
    if (groups != NULL) {
        fd_et_add_groups(et, fd_string_span(groups));
    }
}
