#include "fixtures.h"
#include "traces.h"

#include "et/readers/kineto_reader.h"

static fd_status
read_text(fd_kineto *k, fd_et *et, const char *text, fd_error *error)
{
    *et = (fd_et){.rank = -1};
    *k = (fd_kineto){.events = 0};
    fd_status status = fixture_write_text("k.json", text);
    return status == FD_OK ? fd_kineto_read(k, et, "k.json", error) : status;
}

static void
all_kinds(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_kineto_clear) fd_kineto k;
    OK(read_text(
        &k, &et,
        "{\"distributedInfo\": {\"rank\": 3, \"world_size\": 4, \"pg_config\":"
        " [{\"pg_name\": \"0\", \"pg_size\": 4}]}, \"host_name\": \"h\", "
        "\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\\n\","
        "\"pid\":1,\"tid\":5,\"ts\":1.5,\"dur\":2,\"args\":{\"External id\":7,"
        "\"Record function id\":8}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
        "\"ncclKernel\",\"ts\":9,\"dur\":3,\"args\":{\"stream\":20,"
        "\"correlation\":4,\"In msg nelems\":6,\"dtype\":\"Float\",\"Process "
        "Group Name\":\"0\"}},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
        "\"cudaDeviceSynchronize\",\"tid\":\"main\",\"ts\":2,\"args\":"
        "{\"correlation\":4}},{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":"
        "\"Stream Wait Event\",\"ts\":2,\"args\":{\"stream\":7,"
        "\"wait_on_stream\":20,\"wait_on_cuda_event_record_corr_id\":3}},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":\"bad\"},"
        "{\"ph\":\"i\",\"cat\":\"cpu_op\",\"name\":\"x\",\"ts\":1}]}",
        NULL));
    EQUAL(et.rank, 3);
    EQUAL(et.world, 4);
    EQUAL(et.groups.count, 1);
    SAME(fd_et_text(&et, et.host), "h");
    EQUAL(k.ops.count, 1);
    EQUAL(k.ops.list[0].rf_id, 8);
    EQUAL(k.ops.list[0].external, 7);
    EQUAL(k.ops.list[0].start, 1500);
    SAME(fd_et_text(&et, k.ops.list[0].name), "a\n");
    EQUAL(k.kernels.count, 1);
    EQUAL(k.kernels.list[0].stream, 20);
    EQUAL(k.kernels.list[0].elements, 6);
    EQUAL(k.calls.count, 1);
    EQUAL(k.calls.list[0].wait, FD_KINETO_DEVICE);
    CHECK(k.calls.list[0].thread != 0);
    EQUAL(k.syncs.count, 1);
    EQUAL(k.syncs.list[0].source, 20);
    EQUAL(k.timeless, 1);
    EQUAL(k.events, 6);
}

static void
none(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_kineto_clear) fd_kineto k;
    fd_error error;
    STATUS(read_text(&k, &et, "{\"schema\": 1}", &error), FD_EFORMAT);
    SAME(error.text, "k.json: no Kineto trace: it has no traceEvents");
}

/* Thread 2 with an epoch of two steps, each a call that encloses one, and work
 * of another thread. */
static fd_status
recorded(fd_et *et)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    static const struct {
        unsigned id;
        unsigned parent;
        int64_t start;
        int64_t dur;
        uint32_t step;
        uint64_t thread;
    } calls[] = {{3, 2, 1000, 9000, 1, 70}, {4, 3, 2000, 2000, 1, 70},
                 {5, 4, 2500, 1000, 1, 70}, {6, 3, 5000, 3000, 2, 70},
                 {7, 6, 6000, 1000, 2, 70}, {8, 6, 7000, 500, 2, 70},
                 {9, 2, 3000, 100, 1, 71}};
    traces_begin(&text);
    traces_node(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "",
                "[]", "[]");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        traces_node(&text, calls[i].id, calls[i].parent, "a",
                    i == 0 ? "" : "a()", "[]", "[]");
    }
    traces_end(&text);
    fd_status status = traces_load(et, "s.json", &text, FD_ET_ALL_KINDS, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls && status == FD_OK;
         i++) {
        fd_et_node *node = &et->nodes.list[fd_et_index(et, calls[i].id) - 1];
        node->flags |= FD_ET_TIMED;
        node->start_ns = calls[i].start;
        node->dur_ns = calls[i].dur;
        node->step = calls[i].step;
        node->thread = calls[i].thread;
    }
    return status;
}

static void
clear(fd_kineto_steps *steps)
{
    fd_vector_clear(steps);
}

static uint64_t
id_of(const fd_et *et, uint32_t reference)
{
    return reference == 0 ? 0 : et->nodes.list[reference - 1].id;
}

static void
of_a_recording(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(clear) fd_kineto_steps steps = {NULL, 0, 0};
    OK(recorded(&et));
    OK(fd_kineto_find_steps(&et, &steps));
    EQUAL(steps.count, 2);
    const fd_kineto_step *first = &steps.list[0];
    const fd_kineto_step *second = &steps.list[1];
    /* A call that encloses both belongs to neither. */
    EQUAL(first->begin, 2000);
    EQUAL(first->end, 4000);
    EQUAL(first->number, 0);
    EQUAL(first->label, 0);
    EQUAL(id_of(&et, first->leaf), 5);
    EQUAL(second->begin, 5000);
    EQUAL(second->end, 8000);
    EQUAL(id_of(&et, second->leaf), 7);
}

static void
labelled(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(clear) fd_kineto_steps steps = {NULL, 0, 0};
    OK(recorded(&et));
    fd_et_node *epoch = &et.nodes.list[fd_et_index(&et, 3) - 1];
    OK(fd_text_pool_add(&et.texts, "ProfilerStep#12", 15, &epoch->name));
    OK(fd_kineto_find_steps(&et, &steps));
    EQUAL(steps.count, 1);
    EQUAL(steps.list[0].number, 12);
    EQUAL(id_of(&et, steps.list[0].label), 3);
    EQUAL(steps.list[0].end, 10000);
    EQUAL(id_of(&et, steps.list[0].leaf), 5);
}

RUN(TEST(all_kinds), TEST(none), TEST(of_a_recording), TEST(labelled))
