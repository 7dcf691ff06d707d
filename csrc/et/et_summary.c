#include "et/et_summary.h"

#include "base/rows.h"
#include "et/et_edges.h"
#include "et/et_names.h"
#include "et/readers/from_recording.h"

#include <string.h>

const char *
fd_et_traffic_name(int traffic)
{
    return traffic < FD_ET_COLLS         ? fd_et_coll_name(traffic)
         : traffic == FD_ET_TRAFFIC_SEND ? "SEND"
         : traffic == FD_ET_TRAFFIC_RECV ? "RECV"
                                         : "OTHER";
}

static void
count_traffic(const fd_et *et, const fd_et_node *node, fd_et_summary *s)
{
    const fd_et_comm *comm = fd_et_comm_of(et, node);
    if (node->type < FD_ET_SEND) {
        return;
    }
    bool known = comm != NULL && comm->type >= 0 && comm->type < FD_ET_COLLS;
    fd_et_traffic *traffic =
        &s->traffic[node->type == FD_ET_SEND   ? FD_ET_TRAFFIC_SEND
                    : node->type == FD_ET_RECV ? FD_ET_TRAFFIC_RECV
                    : known                    ? comm->type
                                               : FD_ET_TRAFFIC_OTHER];
    traffic->count++;
    traffic->bytes +=
        comm != NULL && comm->bytes > 0 ? (uint64_t)comm->bytes : 0;
    traffic->ns += node->dur_ns;
}

static void
count_times(const fd_et_node *node, fd_et_summary *s)
{
    if ((node->flags & FD_ET_TIMED) == 0) {
        return;
    }
    bool first = s->timed == 0 && s->guessed == 0;
    int64_t end = fd_et_end(node);
    s->begin_ns =
        first || node->start_ns < s->begin_ns ? node->start_ns : s->begin_ns;
    s->end_ns = first || end > s->end_ns ? end : s->end_ns;
    s->guessed += (node->flags & FD_ET_GUESSED) != 0;
    s->timed += (node->flags & FD_ET_GUESSED) == 0;
}

static fd_status
count_rows(const fd_et_node *node, fd_map *rows, fd_et_summary *s)
{
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    uint64_t queue = (uint64_t)fd_et_queue(node->device, node->stream);
    uint64_t row = gpu               ? queue << 2 | 1
                 : node->thread != 0 ? node->thread << 2 | 2
                                     : (uint64_t)node->tid << 2 | 3;
    fd_status status = FD_OK;
    bool counts = (node->flags & FD_ET_PROCESS) == 0
               && fd_map_is_new(rows, row, &status);
    s->streams += counts && gpu;
    s->threads += counts && !gpu;
    return status;
}

/* Return whether a name is `namespace::operator`, as `aten::mm`; names of the
 * autograd engine have more "::". */
static bool
is_operator_name(const char *name)
{
    const char *colons = strstr(name, "::");
    return colons != NULL && colons > name && strstr(colons + 2, "::") == NULL
        && strpbrk(name, " ()/<") == NULL;
}

/* Return whether a node is an operator; nodes of Kineto traces have no
 * schema. */
static bool
is_operator(const fd_et *et, const fd_et_node *node)
{
    return (node->flags & FD_ET_GPU) == 0
        && (node->schema != 0 || is_operator_name(fd_et_text(et, node->name)));
}

fd_status
fd_et_summarize(const fd_et *et, fd_et_summary *s)
{
    fd_map rows = {.entries = NULL};
    fd_status status = FD_OK;
    *s = (fd_et_summary){.deps = et->edges.count};
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        bool gpu = (node->flags & FD_ET_GPU) != 0;
        s->types[node->type < FD_ET_TYPES ? node->type : 0]++;
        s->cpu += !gpu;
        s->gpu += gpu;
        s->operators += is_operator(et, node);
        s->steps +=
            strncmp(fd_et_text(et, node->name), "ProfilerStep#", 13) == 0
            && !gpu;
        count_traffic(et, node, s);
        count_times(node, s);
        status = count_rows(node, &rows, s);
    }
    fd_et_count_edges(et, s->edges);
    fd_map_clear(&rows);
    return status;
}

static void
put_facts(fd_json_writer *w, const fd_et *et, uint32_t text)
{
    fd_json_put_raw(w, NULL, fd_et_text(et, text),
                    fd_text_pool_size(&et->texts, text));
}

static void
put_call(fd_json_writer *w, const fd_et *et, const fd_et_node *node)
{
    bool timed = (node->flags & FD_ET_TIMED) != 0;
    fd_json_line(w);
    fd_json_begin_array(w, NULL);
    fd_json_put_u64(w, NULL, node->id);
    fd_json_put_u64(w, NULL, node->parent_id);
    fd_et_put_text(w, NULL, et, node->name);
    fd_et_put_text(w, NULL, et, node->schema);
    fd_json_put_u64(w, NULL, node->scope);
    fd_json_put_u64(w, NULL, node->rf_id);
    fd_json_put_i64(w, NULL, node->seq);
    fd_json_put_u64(w, NULL, node->tid);
    fd_json_put_u64(w, NULL, node->fw_tid);
    fd_json_put_i64(w, NULL, timed ? node->dur_ns : -1);
    put_facts(w, et, node->in.values);
    put_facts(w, et, node->out.values);
    fd_json_end_array(w);
}

fd_status
fd_et_layer_calls(fd_buffer *to, const char *path, fd_error *error)
{
    fd_et et;
    fd_json_writer w = {.to = to};
    fd_status status = fd_et_from_recording(&et, path, true, error);
    fd_json_begin_array(&w, NULL);
    for (uint32_t i = 0; i < et.nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et.nodes.list[i];
        if (fd_et_root(fd_et_text(&et, node->name)) == 0) {
            put_call(&w, &et, node);
        }
        status = to->status;
    }
    fd_json_end_array(&w);
    fd_buffer_text(to, "\n");
    fd_et_clear(&et);
    return fd_then(status, to->status);
}
