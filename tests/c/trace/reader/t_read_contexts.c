#include "check.h"
#include "fixtures.h"

#include <math.h>

static fd_context *
child(fixture *f, fd_tree *tree, const char *name, uint32_t origin)
{
    fd_callee callee = {fixture_node(f, FD_NODE_OP, name), 0, origin};
    fd_context *context = fd_tree_child(tree, tree->root, &callee);
    context->calls++;
    return context;
}

/* Contexts that never ran are skipped, unless one below them did. */
ABSORBS(idle_contexts)
{
    FIXTURE_AND_TRACE(f, trace);
    fd_context *above = child(&f, f.main, "above", 0);
    fd_callee callee = {fixture_node(&f, FD_NODE_OP, "below"), 0, 0};
    fd_tree_child(f.main, above, &callee)->resumes++;
    child(&f, f.main, "never", 0)->calls = 0;
    above->calls = 0;
    OK(fixture_reload(&f, &trace));
    CHECK(fixture_find(trace, "above") != 0);
    EQUAL(fixture_figure(trace, 0, fixture_find(trace, "above")).context, 0);
    EQUAL(fixture_figure(trace, 0, fixture_find(trace, "below")).resumes, 1);
    EQUAL(fixture_find(trace, "never"), 0);
}

ABSORBS(origins_and_flags)
{
    FIXTURE_AND_TRACE(f, trace);
    fd_context *forward = child(&f, f.main, "forward", 0);
    child(&f, f.main, "backward", fd_tree_id(f.main, forward))->flags |=
        FD_CONTEXT_HIDDEN;
    child(&f, f.main, "stray", 3);
    OK(fixture_reload(&f, &trace));
    uint32_t backward = fixture_find(trace, "backward");
    EQUAL(trace->contexts.list[backward].origin,
          fixture_find(trace, "forward"));
    CHECK((trace->contexts.list[backward].flags & FD_CONTEXT_HIDDEN) != 0);
    EQUAL(trace->contexts.list[fixture_find(trace, "stray")].origin, 0);
    EQUAL(fixture_find(trace, "<lost>"), 0);
}

ABSORBS(damaged_spreads)
{
    FIXTURE_AND_TRACE(f, trace);
    const fd_context *one = child(&f, f.main, "one", 0);
    fd_context *two = child(&f, f.main, "two", 0);
    fd_spread *spread = fd_file_record(&f.recording->file, one->spread);
    *spread = (fd_spread){.steps = 3,
                          .self_min = -1,
                          .self_max = (float)NAN,
                          .total_min = (float)INFINITY,
                          .total_max = 3e38F,
                          .self_squares = (double)NAN,
                          .total_squares = (double)INFINITY};
    two->spread = 12345;
    OK(fixture_reload(&f, &trace));
    fd_figure figure = fixture_figure(trace, 0, fixture_find(trace, "one"));
    EQUAL(figure.steps, 0); /* the whole figure is skipped */
    CHECK(figure.total_min == 0 && figure.total_max == 0);
    CHECK(fabs(figure.self_squares) + fabs(figure.total_squares) < 1e-9);
    EQUAL(fixture_figure(trace, 0, fixture_find(trace, "two")).steps, 0);
}
