#include "check.h"
#include "fixtures.h"
#include "traces.h"

#include "et/et_summary.h"
#include "et/readers/from_recording.h"
#include "recording/operator_log.h"

#include <string.h>

static void
figures(void)
{
    LOADED(et);
    fd_et_summary s;
    OK(fd_et_summarize(&et, &s));
    EQUAL(s.cpu, 10);
    EQUAL(s.gpu, 0);
    EQUAL(s.operators, 6);
    EQUAL(s.threads, 1);
    EQUAL(s.types[FD_ET_COLL], 1);
    EQUAL(s.types[FD_ET_SEND], 1);
    EQUAL(s.types[FD_ET_METADATA], 2);
    EQUAL(s.traffic[FD_ET_ALL_REDUCE].count, 1);
    EQUAL(s.traffic[FD_ET_ALL_REDUCE].bytes, 24);
    EQUAL(s.traffic[FD_ET_TRAFFIC_SEND].bytes, 24);
    EQUAL(s.deps, et.edges.count);
    SAME(fd_et_traffic_name(FD_ET_TRAFFIC_RECV), "RECV");
    SAME(fd_et_traffic_name(FD_ET_BARRIER), "BARRIER");
}

static void
times(void)
{
    TRACE_TEXT(text, et);
    fd_et_summary s;
    traces_begin(&text);
    traces_more(&text, 2, 1, "ProfilerStep#1",
                ", \"ts\": 3, \"inclusive_dur\": 9");
    traces_more(&text, 3, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 7, "
                "\"ts\": 8, \"inclusive_dur\": 9");
    traces_more(&text, 4, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 8, "
                "\"ts\": 8, \"inclusive_dur\": 2");
    traces_more(&text, 5, 2, "k",
                ", \"cat\": \"kernel\", \"stream\": 8, "
                "\"ts\": 8, \"fd_device\": 1");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, 0, NULL));
    OK(fd_et_summarize(&et, &s));
    EQUAL(s.steps, 1);
    EQUAL(s.timed, 4);
    EQUAL(s.streams, 3);
    EQUAL(s.begin_ns, 3000);
    EQUAL(s.end_ns, 17000);
}

/* Without schemas. */
static void
operators_by_name(void)
{
    static const struct {
        const char *name;
        uint64_t operators;
    } cases[] = {{"aten::mm", 1},
                 {"c10d::allreduce_", 1},
                 {"gloo:all_reduce", 0},
                 {"MmBackward0", 0},
                 {"::f", 0},
                 {"torch::autograd::AccumulateGrad", 0},
                 {"autograd::engine::evaluate_function: MmBackward0", 0},
                 {"std::function<void>", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        CLEAN(fd_et_clear) fd_et et;
        fd_et_summary s;
        traces_begin(&text);
        traces_more(&text, 2, 1, cases[i].name, "");
        traces_end(&text);
        OK(traces_load(&et, "a.json", &text, 0, NULL));
        OK(fd_et_summarize(&et, &s));
        EQUAL(s.operators, cases[i].operators);
    }
}

static void
text(fixture *f, const char *name)
{
    uint64_t words[2] = {FD_OPERAND_TEXT | (uint64_t)strlen(name) << 32, 0};
    memcpy(&words[1], name, strlen(name)); /* at most 8 */
    OK(fd_vector_push(&f->main->ops.words, words[0]));
    OK(fd_vector_push(&f->main->ops.words, words[1]));
}

static void
begin(fixture *f, const char *name, uint32_t flags, uint64_t id)
{
    fixture_work(10);
    fd_op_call what = {
        .start = check_clock_now(),
        .id = id,
        .sequence = -1,
        .torch_thread = (flags & FD_OP_CALL_MODULE) == 0,
        .flags = flags,
    };
    text(f, name);
    fd_op_calls_begin(f->main, &what, name, 1);
}

static void
end(fixture *f, const char *name)
{
    fixture_work(10);
    fd_op_calls_end(f->main, name, check_clock_now());
}

/* A range in a layer in a model. */
static void
record(fixture *f)
{
    OK(fixture_open(f, "a.fd", 4));
    begin(f, "Model", FD_OP_CALL_MODULE, 77);
    begin(f, "Layer", FD_OP_CALL_MODULE, 78);
    begin(f, "range", 7 << FD_OP_CALL_SCOPE_SHIFT, 1);
    end(f, "range");
    text(f, "result");
    end(f, "Layer");
    end(f, "Model");
    fixture_stop(f);
}

static void
calls_of_modules(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fd_buffer_clear) fd_buffer made = {.bytes = NULL};
    record(&f);
    OK(fd_et_layer_calls(&made, "a.fd", NULL));
    WRITTEN(&made, "[\n[3,2,\"Model\",\"\",100,77,-1,0,0,50,[],[]],\n"
                   "[4,3,\"Layer\",\"\",100,78,-1,0,0,30,[],[\"result\"]],\n"
                   "[5,4,\"range\",\"\",7,1,-1,1,0,10,[],[]]]\n");
}

/* Calls of modules are not nodes of an execution trace. */
static void
calls_of_others(void)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    record(&f);
    OK(fd_et_from_recording(&et, "a.fd", false, NULL));
    EQUAL(et.nodes.count, 3);
    const fd_et_node *range = &et.nodes.list[2];
    SAME(fd_et_text(&et, range->name), "range");
    EQUAL(range->parent_id, 2);
}

static void
no_recording(void)
{
    CLEAN(fd_buffer_clear) fd_buffer made = {.bytes = NULL};
    CHECK(fd_et_layer_calls(&made, "nowhere.fd", NULL) != FD_OK);
}

RUN(TEST(figures), TEST(times), TEST(operators_by_name),
    ABSORBS(calls_of_modules), ABSORBS(calls_of_others), ABSORBS(no_recording))
