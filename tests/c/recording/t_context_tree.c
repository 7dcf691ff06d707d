#include "check.h"
#include "fixtures.h"

static uint64_t
counter(const fixture *f, int which)
{
    return fd_file_header(&f->recording->file)->counters[which];
}

static uint64_t
sum_of_self(const fd_tree *tree)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < tree->chunks.count; i++) {
        const fd_context *contexts = fd_chunk_records(tree->chunks.list[i]);
        for (uint32_t k = 0; k < tree->chunks.list[i]->used; k++) {
            sum += contexts[k].self;
        }
    }
    return sum;
}

/* Self times add up to the elapsed time, for any calls. */
ABSORBS(self_times_telescope)
{
    FIXTURE(f, NULL, 4);
    uint32_t nodes[5];
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        nodes[i] = fixture_node(&f, FD_NODE_OP, name);
        CHECK(nodes[i] != 0);
    }
    uint64_t begin = check_clock_now();
    uint32_t random = 1;
    for (int i = 0; i < 5000; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t depth = fd_tree_depth(f.main);
        if ((random >> 24) % 2 == 0 && depth < 7) {
            fixture_enter_node(f.main, nodes[(random >> 16) % 5]);
        }
        else if (depth > 0) {
            fixture_leave(f.main);
        }
        fixture_work((random >> 8) % 1000);
    }
    fd_tree_settle(f.main, check_clock_now());
    EQUAL(sum_of_self(f.main), check_clock_now() - begin);
    EQUAL(f.main->record->covered, check_clock_now() - begin);
    CHECK(f.recording->contexts > 100);
}

ABSORBS(self_time_of_the_running_call)
{
    FIXTURE(f, NULL, 4);
    uint32_t outer = fixture_node(&f, FD_NODE_OP, "outer");
    uint32_t inner = fixture_node(&f, FD_NODE_OP, "inner");
    fixture_work(3);
    fd_context *a = fixture_enter_node(f.main, outer);
    fixture_work(10);
    fd_context *b = fixture_call(f.main, inner, 100);
    fixture_work(20);
    fixture_leave(f.main);
    EQUAL(f.main->root->self, 3);
    EQUAL(a->self, 30);
    FIELDS(b, (self, 100), (calls, 1), (parent, fd_tree_id(f.main, a)));
    EQUAL(a->parent, fd_tree_id(f.main, f.main->root));
    CHECK(f.main->current == f.main->root);
}

/* A counter that steps back subtracts no time. */
ABSORBS(clock_steps_back)
{
    FIXTURE(f, NULL, 4);
    fixture_work(50);
    fd_tree_tick(f.main, check_clock_now());
    fd_tree_tick(f.main, check_clock_now() - 30);
    EQUAL(f.main->root->self, 50);
    fd_tree_tick(f.main, check_clock_now() + 5);
    EQUAL(f.main->root->self, 55);
}

ABSORBS(one_context_per_path)
{
    FIXTURE(f, NULL, 4);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "aten::mm");
    fd_callee callee = {node, 0, 0};
    fd_callee of_module = {node, 77, 0};
    fd_callee of_origin = {node, 0, 99};
    fd_context *root = f.main->root;
    fd_context *one = fd_tree_child(f.main, root, &callee);
    CHECK(fd_tree_child(f.main, root, &callee) == one);
    CHECK(fd_tree_child(f.main, one, &callee) != one);
    fd_context *two = fd_tree_child(f.main, root, &of_module);
    fd_context *three = fd_tree_child(f.main, root, &of_origin);
    CHECK(two != one && three != one && two != three);
    EQUAL(two->flags & FD_CONTEXT_PHASE, FD_PHASE_FORWARD);
}

/* Backward and modules below Optimizer.step, in a closure, are their own
 * phases; below other phases they are not. */
ABSORBS(phases_of_a_closure)
{
    FIXTURE(f, NULL, 4);
    fd_callee step = {fixture_function(&f, "step", FD_PHASE_OPTIMIZER), 0, 0};
    fd_callee back = {fixture_function(&f, "back", FD_PHASE_BACKWARD), 0, 0};
    fd_callee plain = {fixture_function(&f, "closure", 0), 0, 0};
    fd_callee module = {plain.node, 77, 0};
    fd_context *root = f.main->root;
    fd_context *optimizer = fd_tree_child(f.main, root, &step);
    fd_context *closure = fd_tree_child(f.main, optimizer, &plain);
    fd_context *forward = fd_tree_child(f.main, closure, &module);
    fd_context *backward = fd_tree_child(f.main, closure, &back);
    EQUAL(closure->flags & FD_CONTEXT_PHASE, FD_PHASE_OPTIMIZER);
    EQUAL(forward->flags & FD_CONTEXT_PHASE, FD_PHASE_FORWARD);
    EQUAL(backward->flags & FD_CONTEXT_PHASE, FD_PHASE_BACKWARD);
    fd_context *fused = fd_tree_child(f.main, backward, &step);
    EQUAL(fused->flags & FD_CONTEXT_PHASE, FD_PHASE_BACKWARD);
    fd_context *recomputed = fd_tree_child(f.main, backward, &module);
    EQUAL(recomputed->flags & FD_CONTEXT_PHASE, FD_PHASE_BACKWARD);
}

/* Ten deep of one function: from the ninth on the nearest ancestor counts. */
ABSORBS(recursion_folds_at_8)
{
    FIXTURE(f, NULL, 4);
    uint32_t node = fixture_node(&f, FD_NODE_PYTHON, "fib");
    fd_context *path[20];
    for (int i = 0; i < 20; i++) {
        path[i] = fixture_enter_node(f.main, node);
        fixture_work(1);
    }
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < i; k++) {
            CHECK(path[i] != path[k]);
        }
    }
    for (int i = 8; i < 20; i++) {
        CHECK(path[i] == path[7]);
    }
    EQUAL(path[7]->calls, 13);
    EQUAL(counter(&f, FD_COUNT_RECURSION_FOLDED), 1);
    for (int i = 0; i < 20; i++) {
        fixture_leave(f.main);
    }
    EQUAL(path[7]->self, 13);
    EQUAL(path[0]->self, 1);
}

/* Recursion through another function folds, too; the alias is stored and not
 * made again. */
ABSORBS(mutual_recursion_folds)
{
    FIXTURE(f, NULL, 4);
    uint32_t nodes[2] = {fixture_node(&f, FD_NODE_PYTHON, "even"),
                         fixture_node(&f, FD_NODE_PYTHON, "odd")};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            fixture_enter_node(f.main, nodes[i % 2]);
        }
        for (int i = 0; i < 100; i++) {
            fixture_leave(f.main);
        }
    }
    CHECK(f.recording->contexts <= 2 + 16);
    CHECK(f.main->aliases.count <= 2);
    EQUAL(counter(&f, FD_COUNT_RECURSION_FOLDED), f.main->aliases.count);
}

ABSORBS(folding_nodes_absorb)
{
    FIXTURE(f, NULL, 4);
    uint32_t import = fixture_function(&f, "import", FD_NODE_FOLD);
    uint32_t inner = fixture_function(&f, "inner", 0);
    fd_context *entry = fixture_enter_node(f.main, import);
    CHECK((entry->flags & FD_CONTEXT_FOLDS) != 0);
    fd_context *folded = fixture_enter_node(f.main, inner);
    EQUAL(folded->node, f.recording->folded_node);
    CHECK((folded->flags & FD_CONTEXT_ABSORBS) != 0);
    CHECK(fixture_enter_node(f.main, import) == folded);
    EQUAL(folded->calls, 2);
    CHECK(fd_tree_absorbing(f.main, folded) == folded);
    CHECK(fd_tree_absorbing(f.main, f.main->root) == NULL);
    fd_callee callee = {inner, 0, 0};
    EQUAL(fd_tree_unfolded(f.main, entry, &callee)->node, inner);
}

/* Past the bound: an <overflow> below the caller, then the tree's own; no
 * context and no time is lost, and the result is never NULL. */
ABSORBS(overflow_below_the_caller)
{
    FIXTURE(f, NULL, 4);
    uint32_t parents[4];
    fd_context *callers[4];
    for (int i = 0; i < 4; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        parents[i] = fixture_node(&f, FD_NODE_OP, name);
        callers[i] = fixture_enter_node(f.main, parents[i]);
        fixture_leave(f.main);
    }
    f.recording->limits.max_contexts = 32;
    f.recording->contexts = 32;
    uint32_t node = fixture_node(&f, FD_NODE_OP, "late");
    fd_callee callee = {node, 0, 0};
    fd_context *one = fd_tree_child(f.main, callers[0], &callee);
    fd_context *two = fd_tree_child(f.main, callers[1], &callee);
    fd_context *three = fd_tree_child(f.main, callers[2], &callee);
    EQUAL(one->node, f.recording->overflow_node);
    EQUAL(one->parent, fd_tree_id(f.main, callers[0]));
    CHECK(two != one && two->node == f.recording->overflow_node);
    CHECK(three == f.main->overflow);
    CHECK(fd_tree_child(f.main, callers[0], &callee) == one);
    CHECK(fd_tree_child(f.main, one, &callee) == one);
    CHECK(fd_tree_child(f.main, callers[3], &callee) == f.main->overflow);
    fd_callee known = {parents[1], 0, 0};
    CHECK(fd_tree_child(f.main, f.main->root, &known) == callers[1]);
}

/* A node without room counts under <overflow>, too. */
ABSORBS(no_node_overflows)
{
    FIXTURE(f, NULL, 4);
    fd_callee none = {0, 0, 0};
    fd_context *context = fd_tree_child(f.main, f.main->root, &none);
    EQUAL(context->node, f.recording->overflow_node);
}

/* The smallest recording, filled completely: every dropped record is counted.
 * */
ABSORBS(tiny_recording)
{
    FIXTURE(f, NULL, 1);
    uint64_t calls = 0;
    uint32_t last = 0;
    uint32_t max = f.recording->limits.max_contexts;
    for (uint32_t i = 0; i < max + 500; i++) {
        fd_node_spec spec = {.kind = FD_NODE_OP, .name = "op", .line = i % 64};
        uint32_t node = fd_recording_node(f.recording, &spec, NULL);
        fd_callee callee = {node, i / 64, 0};
        fd_context *context = fd_tree_child(f.main, f.main->root, &callee);
        context->calls++;
        last = context->node;
    }
    EQUAL(last, f.recording->overflow_node);
    CHECK(f.recording->contexts <= max + max / 16);
    CHECK(fixture_bytes(&f) <= 1024 * 1024 / 4 * 3);
    for (uint32_t i = 0; i < f.main->chunks.count; i++) {
        const fd_context *contexts = fd_chunk_records(f.main->chunks.list[i]);
        for (uint32_t k = 0; k < f.main->chunks.list[i]->used; k++) {
            calls += contexts[k].calls;
        }
    }
    EQUAL(calls, max + 500 + 1);
}

/* Thousands of short threads of one role use one tree. */
ABSORBS(slots_are_reused)
{
    FIXTURE(f, NULL, 4);
    fd_tree *first = fixture_thread(&f, "worker");
    CHECK(first != NULL && first != f.main);
    uint64_t begin = check_clock_now();
    for (int i = 0; i < 1000; i++) {
        fixture_work(5);
        fd_tree_release(first);
        fixture_work(3);
        CHECK(fixture_thread(&f, "worker") == first);
    }
    EQUAL(f.recording->threads.count, 2);
    FIELDS(first, (record->served, 1001), (root->calls, 1001),
           (record->covered, 5000), (record->attached, begin + 8000));
    fd_tree *second = fixture_thread(&f, "worker");
    CHECK(second != NULL && second != first);
    EQUAL(second->record->role, first->record->role);
    EQUAL(f.recording->threads.count, 3);
}

/* A thread that ends during a pause: its open calls stay until the next thread
 * begins. */
ONCE(tree_of_a_thread_that_ended_in_a_pause)
{
    FIXTURE(f, NULL, 4);
    fd_tree *first = fixture_thread(&f, "worker");
    uint32_t node = fixture_node(&f, FD_NODE_OP, "op");
    CHECK(first != NULL && node != 0);
    fixture_enter_node(first, node);
    fd_recording_pause(f.recording, true);
    uint64_t covered = first->record->covered;
    fixture_work(7);
    fd_tree_leave(first);
    FIELDS(first->record, (running, 0), (covered, covered));
    EQUAL(fd_tree_depth(first), 1);
    fd_recording_resume(f.recording);
    CHECK(fixture_thread(&f, "worker") == first);
    EQUAL(fd_tree_depth(first), 0);
}

ABSORBS(no_room_for_a_thread)
{
    FIXTURE(f, NULL, 1);
    int trees = 0;
    char role[16] = "role-aaaa";
    while (trees < 10000) {
        role[5] = (char)('a' + trees % 26);
        role[6] = (char)('a' + trees / 26 % 26);
        role[7] = (char)('a' + trees / 676 % 26);
        if (fixture_thread(&f, role) == NULL) {
            break;
        }
        trees++;
    }
    CHECK(trees > 10 && trees < 10000);
    EQUAL(counter(&f, FD_COUNT_THREADS_FULL), 1);
    CHECK(counter(&f, FD_COUNT_DISK_FULL) > 0);
}

ABSORBS(stack_grows_with_its_entries)
{
    FIXTURE(f, NULL, 4);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "deep");
    uint32_t capacity = f.main->record->capacity;
    for (uint32_t i = 0; i < capacity + 10; i++) {
        fixture_enter_node(f.main, node);
        CHECK(fd_tree_depth(f.main) == i + 1);
    }
    CHECK(f.main->record->capacity > capacity);
    const fd_entry *in_file =
        (const fd_entry *)(f.recording->file.base + f.main->record->stack);
    CHECK(in_file == f.main->stack);
    CHECK(in_file[0].context != 0 && in_file[capacity].context != 0);
}

/* Steps of a chunk of contexts that is not in the list would never end. */
TEST(every_chunk_is_listed)
{
    FIXTURE(f, NULL, 4);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "op");
    if (node == 0) {
        OK(FD_ENOMEM);
    }
    for (uint32_t i = 1; i < 3000; i++) {
        fd_callee callee = {node, i, 0};
        fd_tree_child(f.main, f.main->root, &callee);
    }
    uint32_t listed = 0;
    for (uint32_t i = 0; i < f.main->chunks.count; i++) {
        listed += f.main->chunks.list[i]->used;
    }
    EQUAL(listed, f.main->contexts.count);
}
