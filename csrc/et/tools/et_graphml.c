#include "et/et_writers.h"

#include "base/utf8.h"
#include "et/et_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The declared attributes of nodes and edges. */
static const struct {
    const char *id;
    const char *target;
    const char *name;
    const char *type;
} keys[] = {
    {"name", "node", "name", "string"},
    {"type", "node", "type", "string"},
    {"parent", "node", "parent", "string"},
    {"cpu", "node", "is_cpu_op", "boolean"},
    {"tid", "node", "tid", "long"},
    {"stream", "node", "stream", "int"},
    {"start", "node", "start_ns", "long"},
    {"dur", "node", "dur_ns", "long"},
    {"comm", "node", "collective", "string"},
    {"bytes", "node", "bytes", "long"},
    {"group", "node", "group", "string"},
    {"kinds", "edge", "kinds", "string"},
};

static void
put_head(fd_buffer *to)
{
    fd_buffer_text(to,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
                   "\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        fd_buffer_format(to,
                         "<key id=\"%s\" for=\"%s\" attr.name=\"%s\""
                         " attr.type=\"%s\"/>\n",
                         keys[i].id, keys[i].target, keys[i].name,
                         keys[i].type);
    }
    fd_buffer_text(to, "<graph edgedefault=\"directed\">\n");
}

/* Return whether XML allows this character of `length` bytes (0: invalid
 * UTF-8). XML has no control characters, U+FFFE or U+FFFF. */
static bool
is_xml(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    bool control = first < 0x20 || first == 0x7F;
    bool not_a_character = length == 3 && first == 0xEF
                        && (unsigned char)text[1] == 0xBF
                        && (unsigned char)text[2] >= 0xBE;
    return length > 0 && !control && !not_a_character;
}

/* Return what stands for a character, or NULL. */
static const char *
xml_escape(char one)
{
    return one == '"'  ? "&quot;"
         : one == '\n' ? " "
         : one == '&'  ? "&amp;"
         : one == '<'  ? "&lt;"
         : one == '>'  ? "&gt;"
                       : NULL;
}

/* Append a text; invalid characters of XML become U+FFFD. */
static void
put_escaped(fd_buffer *to, const char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        const char *instead = xml_escape(text[at]);
        size_t length = fd_utf8_length(text + at, size - at);
        if (instead != NULL) {
            fd_buffer_text(to, instead);
        }
        else if (is_xml(text + at, length)) {
            fd_buffer_bytes(to, text + at, length);
        }
        else {
            fd_buffer_text(to, "\xEF\xBF\xBD");
        }
        at += length > 0 ? length : 1;
    }
}

static void
put_bytes(fd_buffer *to, const char *key, const char *text, size_t size)
{
    fd_buffer_format(to, "<data key=\"%s\">", key);
    put_escaped(to, text, size);
    fd_buffer_text(to, "</data>");
}

static void
put_text(fd_buffer *to, const char *key, const char *text)
{
    put_bytes(to, key, text, strlen(text));
}

static void
put_number(fd_buffer *to, const char *key, int64_t value)
{
    fd_buffer_format(to, "<data key=\"%s\">%" PRId64 "</data>", key, value);
}

static void
put_pooled(fd_buffer *to, const fd_et *et, const char *key, uint32_t text)
{
    put_bytes(to, key, fd_et_text(et, text),
              fd_text_pool_size(&et->texts, text));
}

static void
put_comm(fd_buffer *to, const fd_et *et, const fd_et_node *node)
{
    const fd_et_comm *comm = fd_et_comm_of(et, node);
    if (comm == NULL || node->type < FD_ET_SEND) {
        return;
    }
    put_text(to, "comm", fd_et_comm_name(node, comm));
    if (comm->bytes >= 0) {
        put_number(to, "bytes", comm->bytes);
    }
    if (comm->group != 0) {
        put_pooled(to, et, "group", comm->group);
    }
}

static void
put_node(fd_buffer *to, const fd_et *et, const fd_et_node *node)
{
    bool gpu = (node->flags & FD_ET_GPU) != 0;
    fd_buffer_format(to, "<node id=\"%" PRIu64 "\">", node->id);
    put_pooled(to, et, "name", node->name);
    put_text(to, "type", fd_et_type_name(node->type));
    if (node->parent != 0) {
        char id[24];
        snprintf(id, sizeof id, "%" PRIu64,
                 et->nodes.list[node->parent - 1].id);
        put_text(to, "parent", id);
    }
    put_text(to, "cpu", gpu ? "false" : "true");
    put_number(to, gpu ? "stream" : "tid",
               gpu ? node->stream : (int64_t)node->tid);
    if ((node->flags & FD_ET_TIMED) != 0) {
        put_number(to, "start", node->start_ns);
        put_number(to, "dur", node->dur_ns);
    }
    put_comm(to, et, node);
    fd_buffer_text(to, "</node>\n");
}

static void
put_edge(fd_buffer *to, const fd_et *et, const fd_et_edge *edge)
{
    char kinds[128] = "";
    size_t size = 0;
    for (int kind = 0; kind < FD_ET_KINDS; kind++) {
        if ((edge->kinds & 1U << kind) != 0) {
            size +=
                (size_t)snprintf(kinds + size, sizeof kinds - size, "%s%s",
                                 size > 0 ? "," : "", fd_et_kind_name(kind));
        }
    }
    fd_buffer_format(
        to, "<edge source=\"%" PRIu64 "\" target=\"%" PRIu64 "\">",
        et->nodes.list[edge->from].id, et->nodes.list[edge->to].id);
    put_text(to, "kinds", kinds);
    fd_buffer_text(to, "</edge>\n");
}

fd_status
fd_et_write_graphml(const fd_et *et, fd_bytes_out *out, fd_error *error)
{
    fd_buffer *to = fd_bytes_out_text(out);
    fd_status status = FD_OK;
    put_head(to);
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        put_node(to, et, &et->nodes.list[i]);
        status = fd_bytes_out_flow(out, error);
    }
    for (uint32_t i = 0; i < et->edges.count && status == FD_OK; i++) {
        put_edge(to, et, &et->edges.list[i]);
        status = fd_bytes_out_flow(out, error);
    }
    fd_buffer_text(to, "</graph>\n</graphml>\n");
    return status;
}
