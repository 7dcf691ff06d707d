#include "graphs/dot_styles.h"

#include "graphs/graph_text.h"

#include <string.h>

/* Names may have any length; a long tooltip is not readable. */
enum { TOOLTIP_NAME = 1000 };

static void
append_name(const fd_dot_picture *p, uint32_t group)
{
    const char *key = fd_groups_label(&p->graph->groups, group);
    fd_text_tooltip(p->to, key, strlen(key), TOOLTIP_NAME);
}

void
fd_dot_calls(fd_buffer *to, uint64_t count)
{
    if (count == 0) {
        fd_buffer_text(to, "already running");
        return;
    }
    fd_text_count(to, count);
    fd_buffer_text(to, count == 1 ? " call" : " calls");
}

static void
append_duration(const fd_dot_picture *p, const char *title, uint64_t time)
{
    fd_buffer_format(p->to, "\\n%s ", title);
    fd_text_time(p->to, time);
    fd_buffer_text(p->to, " (");
    fd_text_count(p->to, time);
    fd_buffer_text(p->to, " ns, ");
    fd_text_percent(p->to, time, p->graph->whole);
    fd_buffer_text(p->to, ")");
}

static void
timed_part(const fd_dot_picture *p, const fd_box *box, const fd_row *row)
{
    append_duration(p, "total", row->total);
    append_duration(p, "self", row->self);
    append_duration(p, "self and what is folded into it", box->own);
    if (row->backward > 0) {
        append_duration(p, "backward of what it made",
                        (uint64_t)row->backward);
    }
}

static void
append_further(const fd_dot_picture *p, uint64_t count, const char *one,
               const char *many)
{
    if (count > 0) {
        fd_buffer_text(p->to, ", ");
        fd_text_count(p->to, count);
        fd_buffer_text(p->to, count == 1 ? one : many);
    }
}

void
fd_dot_box_tooltip(const fd_dot_picture *p, const fd_box *box)
{
    const fd_row *row = fd_graph_row(p->graph, box);
    fd_buffer_text(p->to, "\"");
    append_name(p, box->group);
    fd_buffer_text(p->to, "\\n");
    fd_dot_calls(p->to, row->calls);
    append_further(p, row->resumes, " resume", " resumes");
    append_further(p, row->ops, " operator below", " operators below");
    if (p->graph->timed) {
        timed_part(p, box, row);
    }
    fd_buffer_text(p->to, "\"");
}

void
fd_dot_edge_tooltip(const fd_dot_picture *p, const fd_edge *edge)
{
    fd_buffer_text(p->to, "\"");
    append_name(p, edge->caller);
    fd_buffer_text(p->to, " -&gt; ");
    append_name(p, edge->callee);
    fd_buffer_text(p->to, "\\n");
    fd_dot_calls(p->to, edge->calls);
    append_further(p, edge->resumes, " resume", " resumes");
    if (p->graph->timed) {
        append_duration(p, "total", edge->total);
    }
    fd_buffer_text(p->to, "\"");
}
