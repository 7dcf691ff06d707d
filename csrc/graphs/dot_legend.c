#include "graphs/dot_styles.h"

#include "graphs/graph_text.h"

#include <math.h>
#include <stdio.h>

double
fd_dot_share(const fd_dot_picture *p, uint64_t part)
{
    double whole = (double)p->graph->whole;
    double found = whole > 0 ? (double)part / whole : 0;
    return found < 1 ? found : 1;
}

/* Append "hidden: 325 functions of torch, ...". */
static void
append_hidden(const fd_dot_picture *p, uint32_t *parts, uint32_t count,
              const char *what)
{
    if (count == 0) {
        return;
    }
    fd_buffer_text(p->to, *parts == 0 ? "<BR ALIGN=\"LEFT\"/>hidden: " : ", ");
    fd_text_count(p->to, count);
    fd_buffer_format(p->to, " %s", what);
    ++*parts;
}

/* Return the share that all small functions are below: the requested one, or a
 * larger one if there were too many functions, in tenths of a percent. */
static double
small_percent(const fd_dot_picture *p)
{
    const fd_selection *selection = &p->graph->selection;
    double largest = 100 * fd_dot_share(p, selection->small);
    return largest < selection->min_percent ? selection->min_percent
                                            : floor(largest * 10 + 1) / 10;
}

static void
write_hidden(const fd_dot_picture *p)
{
    const uint32_t *functions = p->graph->selection.functions;
    const uint32_t *operators = p->graph->selection.operators;
    uint32_t parts = 0;
    char small[64];
    snprintf(small, sizeof small, "under %g %%", small_percent(p));
    append_hidden(p, &parts, functions[FD_FOLDED_TORCH],
                  functions[FD_FOLDED_TORCH] == 1 ? "function of torch"
                                                  : "functions of torch");
    append_hidden(p, &parts, functions[FD_FOLDED_OTHER],
                  "of the standard library");
    append_hidden(p, &parts, functions[FD_FOLDED_RUNNING],
                  "of libraries that were already running");
    append_hidden(p, &parts, functions[FD_FOLDED_INNER],
                  "comprehensions and wrappers");
    append_hidden(p, &parts, p->graph->idle, "of idle threads");
    append_hidden(p, &parts, functions[FD_SMALL] + operators[FD_SMALL], small);
    append_hidden(p, &parts, functions[FD_JOINED] + operators[FD_JOINED],
                  "joined (--merge-into-caller)");
    append_hidden(p, &parts, functions[FD_DELETED] + operators[FD_DELETED],
                  "deleted (--hide)");
    fd_buffer_text(p->to, parts > 0 ? "<BR ALIGN=\"LEFT\"/>" : "");
}

static void
write_facts(const fd_dot_picture *p)
{
    const fd_trace *trace = p->trace;
    int rank = p->options->rank;
    if (rank >= 0) {
        fd_buffer_format(p->to, "rank %u", trace->ranks.list[rank].rank);
    }
    else {
        fd_buffer_format(p->to, "%u rank%s", trace->ranks.count,
                         trace->ranks.count == 1 ? "" : "s");
    }
    if (p->graph->timed) {
        fd_buffer_text(p->to, ", ");
        fd_text_time(p->to, p->graph->whole);
        fd_buffer_text(p->to, " in main threads. Colour: time in "
                              "the function and what is folded into it.");
    }
    fd_buffer_format(p->to, " Width of lines: %s.",
                     p->options->weight == FD_WEIGHT_CALLS || !p->graph->timed
                         ? "calls"
                         : "time");
}

void
fd_dot_legend(const fd_dot_picture *p)
{
    fd_buffer_text(p->to, "label=<<FONT POINT-SIZE=\"12\" COLOR=\"#444C55\">");
    write_facts(p);
    write_hidden(p);
    fd_buffer_text(p->to, "</FONT>>\n");
}

void
fd_dot_put_below(const fd_dot_picture *p, uint32_t at)
{
    uint32_t above = p->graph->boxes.list[at].above;
    if (above != 0) {
        fd_dot_begin_edge(p->dot, above, at + 1);
        fd_dot_put_word(p->dot, "style", "invis");
        fd_dot_put_number(p->dot, "weight", 0);
        fd_dot_end_statement(p->dot);
    }
}
