#include "et/et_layers.h"

#include "et/et_names.h"
#include "et/readers/from_recording.h"

#include <inttypes.h>

static void
put_text(fd_buffer *to, const fd_et *et, uint32_t text)
{
    fd_buffer_json(to, fd_et_text(et, text),
                   fd_text_pool_size(&et->texts, text));
}

static void
put_facts(fd_buffer *to, const fd_et *et, uint32_t text)
{
    fd_buffer_text(to, ",");
    fd_buffer_bytes(to, fd_et_text(et, text),
                    fd_text_pool_size(&et->texts, text));
}

static void
put_call(fd_buffer *to, const fd_et *et, const fd_et_node *node)
{
    fd_buffer_format(to, "[%" PRIu64 ",%" PRIu64 ",", node->id,
                     node->parent_id);
    put_text(to, et, node->name);
    fd_buffer_text(to, ",");
    put_text(to, et, node->schema);
    fd_buffer_format(
        to, ",%d,%" PRIu64 ",%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%" PRId64,
        node->scope, node->rf_id, node->seq, node->tid, node->fw_tid,
        (node->flags & FD_ET_TIMED) != 0 ? node->dur_ns : -1);
    put_facts(to, et, node->in.values);
    put_facts(to, et, node->out.values);
    fd_buffer_text(to, "]");
}

fd_status
fd_et_layer_calls(fd_buffer *to, const char *path, fd_error *error)
{
    fd_et et;
    const char *between = "\n";
    fd_status status = fd_et_layers_of_recording(&et, path, error);
    fd_buffer_text(to, "[");
    for (uint32_t i = 0; i < et.nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et.nodes.list[i];
        if (fd_et_root(fd_et_text(&et, node->name)) == 0) {
            fd_buffer_text(to, between);
            put_call(to, &et, node);
            between = ",\n";
        }
        status = to->status;
    }
    fd_buffer_text(to, "]\n");
    fd_et_clear(&et);
    return status != FD_OK ? status : to->status;
}
