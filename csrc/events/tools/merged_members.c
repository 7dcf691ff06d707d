#include "events/tools/merged_members.h"

#include "base/budget.h"
#include "trace/export_options.h"
#include "json/json_writer.h"

#include <stdio.h>
#include <string.h>

/* Maximum size of the members, which stay in memory until the events are
 * written. */
enum { MOST_METADATA = 16 << 20 };

void
fd_merged_members_clear(fd_merged_members *m)
{
    fd_buffer_clear(&m->metadata);
    fd_buffer_clear(&m->ranks);
}

/* Keep the rows of the table of ranks of a merge; return false if the member is
 * not such a table with rows. */
static bool
keep_ranks(fd_merged_members *m, fd_timeline_input *input, fd_span key,
           fd_span value, const fd_scan *scan)
{
    fd_span row;
    fd_scan rows = {.at = value.from, .end = value.to, .forgets = true};
    size_t before = m->ranks.size;
    if (input->merged == 0 || !fd_span_is(key, "ranks")
        || fd_span_size(value) > MOST_METADATA
        || fd_scan_mark(&rows, '[') != FD_SCAN_OK
        || fd_scan_element(&rows, true, &row) != FD_SCAN_OK) {
        return false;
    }
    fd_scan_copy(scan, value, &m->ranks);
    if (m->ranks.status == FD_OK) {
        m->ranks.bytes[before] = ',';
        m->ranks.size--;
    }
    input->has_ranks = true;
    return true;
}

void
fd_merged_members_keep(fd_merged_members *m, fd_timeline_input *input,
                       bool *any, fd_span key, fd_span value,
                       const fd_scan *scan)
{
    fd_buffer *to = &m->metadata;
    if (keep_ranks(m, input, key, value, scan)) {
        return;
    }
    if (!fd_buffer_fits(to, fd_span_size(value), fd_budget(MOST_METADATA))) {
        input->lost++;
        input->lost_bytes += fd_span_size(value);
        snprintf(input->trouble, sizeof input->trouble,
                 "more than 16 MB beside the events of all inputs");
        return;
    }
    fd_buffer_text(to, *any ? ",\n" : "");
    fd_buffer_text(to, "\"");
    fd_scan_copy(scan, key, to);
    fd_buffer_text(to, "\":");
    fd_scan_copy(scan, value, to);
    input->repaired += scan->repairs.count;
    *any = true;
    if (fd_span_is(key, "displayTimeUnit") && m->unit[0] == '\0'
        && (fd_span_is(value, "\"ms\"") || fd_span_is(value, "\"ns\""))) {
        memcpy(m->unit, value.from + 1, 2);
    }
}

static void
put_rank(fd_json_writer *w, const fd_timeline_input *input)
{
    fd_json_line(w);
    fd_json_begin_object(w, NULL);
    fd_json_put_text(w, "file", input->path);
    fd_json_put_u64(w, "rank", input->rank);
    fd_json_put_text(w, "program", input->program);
    fd_json_put_u64(w, "events", input->events);
    fd_json_put_u64(w, "arrows", input->arrows);
    fd_json_put_u64(w, "filtered", input->filtered);
    fd_json_put_u64(w, "lost", input->lost);
    fd_json_put_u64(w, "lost_bytes", input->lost_bytes);
    fd_json_put_u64(w, "repaired", input->repaired);
    fd_json_put_text(w, "trouble", input->trouble);
    fd_export_write_clock(w, &input->clock);
    fd_json_end_object(w);
}

/* Append the rows of inputs that are merges. */
static void
put_kept_ranks(const fd_merged_members *m, fd_json_writer *w)
{
    const fd_buffer *ranks = &m->ranks;
    if (ranks->size > 0 && ranks->status == FD_OK) {
        size_t skipped = w->comma ? 0 : 1;
        fd_buffer_bytes(w->to, ranks->bytes + skipped, ranks->size - skipped);
        w->comma = true;
    }
    w->to->status = ranks->status != FD_OK ? ranks->status : w->to->status;
}

void
fd_merged_members_put(const fd_merged_members *m,
                      const fd_timeline_request *request,
                      const fd_timeline_input *inputs, uint32_t count,
                      fd_buffer *to)
{
    fd_json_writer w = {.to = to, .comma = true};
    fd_buffer_text(w.to, "\n]");
    fd_json_line(&w);
    fd_json_put_text(&w, "displayTimeUnit",
                     m->unit[0] != '\0' ? m->unit : "ms");
    if (request->has_base) {
        fd_json_line(&w);
        fd_json_put_i64(&w, "baseTimeNanoseconds", request->base_ns);
    }
    fd_json_line(&w);
    fd_json_begin_array(&w, "ranks");
    for (uint32_t i = 0; i < count; i++) {
        if (!inputs[i].has_ranks) {
            put_rank(&w, &inputs[i]);
        }
    }
    put_kept_ranks(m, &w);
    fd_json_line(&w);
    fd_json_end_array(&w);
    fd_json_line(&w);
    fd_json_begin_object(&w, "metadata");
    fd_buffer_bytes(w.to, m->metadata.bytes, m->metadata.size);
    fd_json_end_object(&w);
    fd_json_end_object(&w);
    fd_buffer_text(w.to, "\n");
    w.to->status =
        m->metadata.status != FD_OK ? m->metadata.status : w.to->status;
}
