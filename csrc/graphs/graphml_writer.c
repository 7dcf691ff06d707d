#include "graphs/graphml_writer.h"

#include "graphs/graph_text.h"
#include "json/json_writer.h"

#include <inttypes.h>
#include <string.h>

void
fd_graphml_begin(const fd_graphml_writer *w, const fd_graphml_key *keys,
                 size_t count)
{
    fd_buffer_text(w->to,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">"
                   "\n");
    for (size_t i = 0; i < count; i++) {
        fd_buffer_format(w->to,
                         "<key id=\"%s\" for=\"%s\" attr.name=\"%s\""
                         " attr.type=\"%s\"/>\n",
                         keys[i].id, keys[i].target, keys[i].name,
                         keys[i].type);
    }
    fd_buffer_text(w->to, "<graph edgedefault=\"directed\">\n");
}

void
fd_graphml_end(const fd_graphml_writer *w)
{
    fd_buffer_text(w->to, "</graph>\n</graphml>\n");
}

void
fd_graphml_begin_node(const fd_graphml_writer *w, uint64_t node)
{
    fd_buffer_format(w->to, "<node id=\"%s%" PRIu64 "\">", w->prefix, node);
}

void
fd_graphml_end_node(const fd_graphml_writer *w)
{
    fd_buffer_text(w->to, "</node>\n");
}

void
fd_graphml_begin_edge(const fd_graphml_writer *w, uint64_t source,
                      uint64_t target)
{
    fd_buffer_format(
        w->to, "<edge source=\"%s%" PRIu64 "\" target=\"%s%" PRIu64 "\">",
        w->prefix, source, w->prefix, target);
}

void
fd_graphml_end_edge(const fd_graphml_writer *w)
{
    fd_buffer_text(w->to, "</edge>\n");
}

void
fd_graphml_put_bytes(const fd_graphml_writer *w, const char *key,
                     const char *text, size_t size)
{
    fd_buffer_format(w->to, "<data key=\"%s\">", key);
    fd_text_xml(w->to, text, size);
    fd_buffer_text(w->to, "</data>");
}

void
fd_graphml_put_text(const fd_graphml_writer *w, const char *key,
                    const char *text)
{
    fd_graphml_put_bytes(w, key, text, strlen(text));
}

void
fd_graphml_put_i64(const fd_graphml_writer *w, const char *key, int64_t value)
{
    fd_buffer_format(w->to, "<data key=\"%s\">%" PRId64 "</data>", key, value);
}

void
fd_graphml_put_double(const fd_graphml_writer *w, const char *key,
                      double value)
{
    fd_json_writer number = {.to = w->to};
    fd_buffer_format(w->to, "<data key=\"%s\">", key);
    fd_json_put_double(&number, NULL, value);
    fd_buffer_text(w->to, "</data>");
}
