#include "check.h"
#include "fixtures.h"
#include "recording/followed_call.h"

/* Enter a call for this code and class, and leave it. */
static void
call_for(fixture *f, uint32_t node, uint32_t code, uint32_t class_id)
{
    fd_context *context = fixture_enter_node(f->main, node);
    context->callee = code;
    context->receiver = class_id;
    fixture_work(1);
}

static void
follow(fixture *f, uint32_t code, uint32_t class_id)
{
    fd_tree *tree = f->main;
    tree->stack[tree->record->depth++] = (fd_entry){
        .start = FD_FOLLOWED(code, check_clock_now()),
        .context = fd_tree_id(tree, tree->root),
        .flags = FD_ENTRY_FRAME | FD_ENTRY_CONTRACTED | FD_ENTRY_FOLLOWED
               | class_id << FD_ENTRY_CLASS_SHIFT,
    };
    fixture_work(1 << (FD_FOLLOWED_UNIT_SHIFT + 1));
}

/* Two classes call their own function through the same code. */
static void
make_paths(fixture *f)
{
    for (uint32_t class_id = 1; class_id <= 2; class_id++) {
        call_for(f, fixture_function(f, class_id == 1 ? "A" : "B", 0), 7,
                 class_id);
        call_for(f, fixture_function(f, class_id == 1 ? "a" : "b", 0),
                 10 + class_id, 0);
        fixture_leave(f->main);
        fixture_leave(f->main);
    }
}

ABSORBS(paths_of_calls)
{
    FIXTURE_AND_TRACE(f, trace);
    make_paths(&f);
    follow(&f, 7, FD_ENTRY_ANY_CLASS);
    follow(&f, 99, 0); /* not recorded */
    follow(&f, 12, 0);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 2);
    const fd_open_call *calls = trace->ranks.list[0].open.list;
    EQUAL(calls[0].context, fixture_find(trace, "B"));
    EQUAL(calls[1].context, fixture_find(trace, "b"));
    CHECK(calls[0].age > calls[1].age && calls[1].age == 0);
}

ABSORBS(classes_decide)
{
    FIXTURE_AND_TRACE(f, trace);
    make_paths(&f);
    follow(&f, 7, 2);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 1);
    EQUAL(trace->ranks.list[0].open.list[0].context, fixture_find(trace, "B"));
}

/* A class whose number differs only in the bits that entries do not have has
 * taken the place of one that is dead. */
ABSORBS(the_latest_of_classes)
{
    FIXTURE_AND_TRACE(f, trace);
    uint32_t later = 1 + FD_ENTRY_ANY_CLASS + 1;
    make_paths(&f);
    call_for(&f, fixture_function(&f, "C", 0), 7, later);
    fixture_leave(f.main);
    follow(&f, 7, 1);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 1);
    EQUAL(trace->ranks.list[0].open.list[0].context, fixture_find(trace, "C"));
}

ABSORBS(no_path)
{
    FIXTURE_AND_TRACE(f, trace);
    make_paths(&f);
    follow(&f, 7, 3);
    follow(&f, 11, 0);
    OK(fixture_reload(&f, &trace));
    EQUAL(trace->ranks.list[0].open.count, 0);
}

ABSORBS(an_unknown_class)
{
    FIXTURE_AND_TRACE(f, trace);
    call_for(&f, fixture_function(&f, "outer", 0), 5, 0);
    make_paths(&f);
    fixture_leave(f.main);
    follow(&f, 5, 0);
    follow(&f, 7, FD_ENTRY_ANY_CLASS);
    OK(fixture_reload(&f, &trace));
    FIELDS(&trace->ranks.list[0].open, (count, 1),
           (list[0].context, fixture_find(trace, "outer")));
}
