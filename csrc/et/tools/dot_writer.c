#include "et/tools/dot_writer.h"

#include <inttypes.h>

void
fd_dot_begin(fd_dot_writer *w, const char *name, const char *defaults)
{
    fd_buffer_format(w->to, "digraph %s {\n", name);
    fd_buffer_text(w->to, defaults);
}

void
fd_dot_end(fd_dot_writer *w)
{
    fd_buffer_text(w->to, "}\n");
}

void
fd_dot_begin_node(fd_dot_writer *w, uint32_t node)
{
    w->more = false;
    fd_buffer_format(w->to, "n%" PRIu32 " [", node);
}

void
fd_dot_begin_edge(fd_dot_writer *w, uint32_t from, uint32_t to)
{
    w->more = false;
    fd_buffer_format(w->to, "n%" PRIu32 " -> n%" PRIu32 " [", from, to);
}

void
fd_dot_end_statement(fd_dot_writer *w)
{
    fd_buffer_text(w->to, "]\n");
}

fd_buffer *
fd_dot_put(fd_dot_writer *w, const char *name)
{
    fd_buffer_text(w->to, w->more ? ", " : "");
    fd_buffer_text(w->to, name);
    fd_buffer_text(w->to, "=");
    w->more = true;
    return w->to;
}

void
fd_dot_put_text(fd_dot_writer *w, const char *name, const char *text)
{
    fd_buffer_format(fd_dot_put(w, name), "\"%s\"", text);
}

void
fd_dot_put_word(fd_dot_writer *w, const char *name, const char *word)
{
    fd_buffer_text(fd_dot_put(w, name), word);
}

void
fd_dot_put_number(fd_dot_writer *w, const char *name, uint64_t value)
{
    fd_buffer_u64(fd_dot_put(w, name), value);
}
