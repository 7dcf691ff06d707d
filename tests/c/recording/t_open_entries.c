#include "check.h"
#include "fixtures.h"

#include "recording/open_entries.h"

/* What the stack of "main" looks like: context names from the outermost. */
static const char *
name_at(const fixture *f, uint32_t at)
{
    const fd_file *file = &f->recording->file;
    const fd_context *context =
        fd_file_record(file, f->main->stack[at].context);
    const fd_node *node = fd_file_record(file, context->node);
    return fd_strings_text(file, node->name);
}

static fd_context *
push(fixture *f, const char *name, uint32_t flags, const void *owner)
{
    fd_callee callee = {fixture_node(f, FD_NODE_PYTHON, name), 0, 0};
    fd_context *context = fd_tree_child(f->main, f->main->current, &callee);
    context->calls++;
    fd_tree_push(f->main, context, fd_tree_id(f->main, context), owner, flags);
    return context;
}

static const char owners[8];

ABSORBS(find_by_owner_and_kind)
{
    FIXTURE(f, NULL, 4);
    push(&f, "a", FD_ENTRY_FRAME, &owners[0]);
    push(&f, "b", FD_ENTRY_OP, &owners[1]);
    push(&f, "c", FD_ENTRY_FRAME, &owners[1]);
    EQUAL(fd_stack_find(f.main, &owners[1], FD_ENTRY_FRAME), 2);
    EQUAL(fd_stack_find(f.main, &owners[1], FD_ENTRY_OP), 1);
    EQUAL(fd_stack_find(f.main, &owners[1], FD_ENTRY_OP | FD_ENTRY_FRAME), 2);
    EQUAL(fd_stack_find(f.main, &owners[0], FD_ENTRY_OP), -1);
    EQUAL(fd_stack_find(f.main, &owners[5], FD_ENTRY_FRAME), -1);
}

ABSORBS(popped_entries_are_gone)
{
    FIXTURE(f, NULL, 4);
    push(&f, "a", FD_ENTRY_FRAME, &owners[0]);
    push(&f, "b", FD_ENTRY_FRAME, &owners[1]);
    push(&f, "c", FD_ENTRY_FRAME, &owners[2]);
    fd_stack_close(f.main, 1);
    fd_stack_close(f.main, 3);
    EQUAL(fd_tree_depth(f.main), 1);
    SAME(name_at(&f, 0), "a");
    CHECK(f.main->current
          == fd_tree_context(f.main, f.main->stack[0].context));
}

/* The diagram in open_entries.h, step by step. */
ABSORBS(range_outlives_its_enter)
{
    FIXTURE(f, NULL, 4);
    uint32_t range = fixture_node(&f, FD_NODE_RANGE, "range");
    push(&f, "pretrain", FD_ENTRY_FRAME, &owners[0]);
    push(&f, "__enter__", FD_ENTRY_FRAME | FD_ENTRY_ENTERS, &owners[1]);
    push(&f, "enter op", FD_ENTRY_OP, &owners[2]);
    fd_stack_push_range(f.main, range, &owners[3]);
    EQUAL(f.main->pending, 1);
    fd_stack_remove(f.main, 2);
    SAME(name_at(&f, 2), "__enter__");
    fd_stack_settle(f.main);
    EQUAL(f.main->pending, 1);
    fd_stack_close(f.main, 1);
    EQUAL(fd_tree_depth(f.main), 2);
    SAME(name_at(&f, 1), "pretrain");
    CHECK((f.main->stack[1].flags & FD_ENTRY_PENDING) != 0);
    fd_stack_settle(f.main);
    EQUAL(f.main->pending, 0);
    SAME(name_at(&f, 1), "range");
    FIELDS(f.main->current, (calls, 1), (parent, f.main->stack[0].context));
    fd_context *child = push(&f, "forward", FD_ENTRY_FRAME, &owners[4]);
    EQUAL(child->parent, f.main->stack[1].context);
}

/* Ranges stay open when the frame below them returns; other entries end. */
ABSORBS(close_keeps_ranges)
{
    FIXTURE(f, NULL, 4);
    uint32_t range = fixture_node(&f, FD_NODE_RANGE, "range");
    push(&f, "a", FD_ENTRY_FRAME, &owners[0]);
    push(&f, "b", FD_ENTRY_FRAME, &owners[1]);
    fd_stack_push_range(f.main, range, &owners[2]);
    fd_stack_settle(f.main);
    push(&f, "c", FD_ENTRY_FRAME, &owners[3]);
    fd_stack_close(f.main, 1);
    EQUAL(fd_tree_depth(f.main), 2);
    SAME(name_at(&f, 0), "a");
    SAME(name_at(&f, 1), "range");
    EQUAL(fd_tree_id(f.main, f.main->current), f.main->stack[1].context);
    fd_stack_remove(f.main, 1);
    EQUAL(fd_tree_id(f.main, f.main->current), f.main->stack[0].context);
    fd_stack_close(f.main, 0);
    CHECK(f.main->current == f.main->root);
}

/* An empty range gets a context, too. */
ABSORBS(empty_range_is_counted_once)
{
    FIXTURE(f, NULL, 4);
    uint32_t outer = fixture_node(&f, FD_NODE_RANGE, "outer");
    uint32_t inner = fixture_node(&f, FD_NODE_RANGE, "inner");
    fd_stack_push_range(f.main, outer, &owners[0]);
    fd_stack_push_range(f.main, inner, &owners[1]);
    fd_stack_settle_to(f.main, 0);
    EQUAL(f.main->pending, 1);
    SAME(name_at(&f, 0), "outer");
    SAME(name_at(&f, 1), "outer");
    fd_stack_settle_to(f.main, 1);
    SAME(name_at(&f, 1), "inner");
    EQUAL(f.main->current->calls, 1);
    fd_stack_settle_to(f.main, 1);
    EQUAL(f.main->current->calls, 1);
}

/* Time of a pending range is charged to the entry below it. */
ABSORBS(pending_time)
{
    FIXTURE(f, NULL, 4);
    uint32_t range = fixture_node(&f, FD_NODE_RANGE, "range");
    fd_context *below = push(&f, "a", FD_ENTRY_FRAME, &owners[0]);
    fd_stack_push_range(f.main, range, &owners[1]);
    fixture_work(40);
    fd_tree_tick(f.main, check_clock_now());
    fd_stack_settle_to(f.main, 1);
    fixture_work(2);
    fd_tree_tick(f.main, check_clock_now());
    EQUAL(below->self, 40);
    EQUAL(f.main->current->self, 2);
}

/* Up to 64 Ki entries, then it is refused and counted. */
ABSORBS(room_ends)
{
    FIXTURE(f, NULL, 64);
    uint32_t depth = 0;
    while (fd_stack_make_room(f.main) && depth < 1000000) {
        fd_tree_push(f.main, f.main->root, fd_tree_id(f.main, f.main->root),
                     NULL, FD_ENTRY_FRAME);
        depth++;
    }
    CHECK(depth >= 64 * 1024 && depth < 128 * 1024 + 100);
    EQUAL(fd_file_header(&f.recording->file)->counters[FD_COUNT_DEEP_STACK],
          1);
    CHECK(!fd_stack_make_room(f.main));
    fd_tree_truncate(f.main, 3);
    CHECK(fd_stack_make_room(f.main));
}
