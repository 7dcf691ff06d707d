#include "et/et_layers.h"

#include "et/et_names.h"
#include "et/readers/from_recording.h"

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
    fd_status status = fd_et_layers_of_recording(&et, path, error);
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
    return status != FD_OK ? status : to->status;
}
