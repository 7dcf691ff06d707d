#include "check.h"
#include "fixtures.h"

static fd_context *
call(fixture *f, const char *name, uint64_t ns)
{
    return fixture_call(f->main, fixture_node(f, FD_NODE_OP, name), ns);
}

/* Six steps of 20 ns after a first one of 900; then more work. */
static void
record(fixture *f)
{
    call(f, "import", 880);
    for (int i = 0; i < 7; i++) {
        call(f, "op", 20)->resumes += i > 3;
        fd_steps_end(&f->steps, f->main, FD_STEPS_EXPLICIT);
    }
    call(f, "op", 5)->resumes += 1;
    call(f, "save", 100);
}

/* Snapshots of damaged files and of weaker sources are not used. */
ABSORBS(unusable)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fixture_trace_free) fd_trace *damaged = NULL;
    CLEAN(fixture_trace_free) fd_trace *other = NULL;
    CLEAN(fixture_trace_free) fd_trace *missing = NULL;
    record(&f);
    fd_snapshot *list = f.steps.snapshots.records;
    uint64_t figures = list[5].figures;
    list[5].figures += 1; /* of 6 steps: beyond the file */
    OK(fixture_reload(&f, &missing));
    FIELDS(&missing->ranks.list[0].marks, (count, 5), (list[4].steps, 7));
    list[5].figures = figures;
    fd_file_header(&f.recording->file)->steps_source = FD_STEPS_ENGINE;
    OK(fixture_reload(&f, &other));
    FIELDS(&other->ranks.list[0], (marks.count, 0), (window.to, 0));
    fd_file_header(&f.recording->file)->steps_source = FD_STEPS_EXPLICIT;
    f.main->chunks.list[0]->magic = 0;
    OK(fixture_reload(&f, &damaged));
    EQUAL(damaged->ranks.list[0].marks.count, 0);
}
