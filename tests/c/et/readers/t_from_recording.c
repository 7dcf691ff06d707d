#include "traces.h"

#include "fixtures.h"

#include "et/et_file.h"
#include "recording/operator_log.h"

#include <string.h>

/* A tensor of one float. */
static void
tensor(fixture *f, uint64_t address)
{
    const uint64_t words[] = {FD_OPERAND_TENSOR | 6 << 8
                                  | UINT64_C(0xff) << 24,
                              address, address + 8, 0, 1};
    for (int i = 0; i < 5; i++) {
        OK(fd_vector_push(&f->main->ops.words, words[i]));
    }
}

static fd_op_call *
begin(fixture *f, const char *schema, int64_t sequence, uint32_t scope)
{
    fd_recording *r = f->recording;
    fixture_work(10);
    fd_op_call what = {
        .start = check_clock_now(),
        .id = check_clock_now(),
        .sequence = sequence,
        .forward_thread = scope == 1,
        .torch_thread = 1,
        .flags = scope << FD_OP_CALL_SCOPE_SHIFT,
        .schema = fd_strings_add(&r->strings, schema, strlen(schema)),
    };
    return fd_op_calls_begin(f->main, &what, schema, 1);
}

static void
end(fixture *f, const char *schema)
{
    fixture_work(10);
    fd_op_calls_end(f->main, schema, check_clock_now());
}

/* linear(a) -> b, in it mm; then mm's backward, without an end. */
static void
record(fixture *f, const char *path)
{
    static const char linear[] = "aten::linear";
    static const char mm[] = "aten::mm.out";
    OK(fixture_open(f, path, 4));
    tensor(f, 0x100);
    begin(f, linear, 0, 0);
    tensor(f, 0x100);
    begin(f, mm, 0, 0);
    tensor(f, 0x200);
    end(f, mm);
    tensor(f, 0x200);
    end(f, linear);
    tensor(f, 0x200);
    begin(f, "MmBackward0", 0, 1);
    fd_recording_schema(f->recording, mm,
                        "aten::mm.out(Tensor self) -> Tensor");
    fd_recording_note(
        f->recording, "process_groups",
        "[{\"pg_name\":\"0\",\"ranks\":[0,1],\"group_size\":2},"
        "{\"pg_name\":\"1\",\"ranks\":[1],\"fd_address\":4096}]");
    /* The last fact of a name counts. */
    fd_recording_note(f->recording, "host", "\"first\"");
    fd_recording_note(f->recording, "host", "\"node\\u00371\"");
    fixture_stop(f);
}

static const fd_et_node *
find(const fd_et *et, uint64_t id)
{
    uint32_t index = fd_et_index(et, id);
    return index != 0 ? &et->nodes.list[index - 1] : NULL;
}

ABSORBS(nodes_of_a_recording)
{
    CLEAN(fixture_clear) fixture f;
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    record(&f, "a.fd");
    OK(fd_et_from_recording(&et, "a.fd", false, NULL));
    EQUAL(et.nodes.count, 5);
    const fd_et_node *linear = find(&et, 5);
    const fd_et_node *mm = find(&et, 6);
    const fd_et_node *backward = find(&et, 9);
    CHECK(linear != NULL && mm != NULL && backward != NULL);
    SAME(fd_et_text(&et, linear->name), "aten::linear");
    SAME(fd_et_text(&et, mm->name), "aten::mm");
    SAME(fd_et_text(&et, mm->schema), "aten::mm.out(Tensor self) -> Tensor");
    EQUAL(linear->parent_id, 2);
    EQUAL(mm->parent_id, 5);
    EQUAL(mm->dur_ns, 10);
    EQUAL(linear->dur_ns, 30);
    SAME(fd_et_text(&et, linear->in.values), "[[3,4,0,1,4,\"cpu\"]]");
    SAME(fd_et_text(&et, linear->out.values), "[[7,8,0,1,4,\"cpu\"]]");
    EQUAL(mm->out.values, linear->out.values);
    EQUAL(backward->fw_parent, 6);
    EQUAL(backward->flags & FD_ET_TIMED, 0);
    FIELDS(&et, (groups.count, 2), (finished, true),
           (groups.list[0].address, 0), (groups.list[1].address, 4096));
    SAME(fd_et_text(&et, et.host), "node71");
    SAME(fd_et_text(&et, et.groups.list[1].name), "1");
    OK(fd_et_complete(&et, FD_ET_ALL_KINDS));
}

/* linear was 40 ticks on stream 3 of device 1, mm ten of them; nothing was timed
 * of the backward. */
ABSORBS(kernels_of_a_recording)
{
    FIXTURE(f, "g.fd", 4);
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    tensor(&f, 0x100);
    fd_op_call *linear = begin(&f, "aten::linear", 0, 0);
    fd_op_call *mm = begin(&f, "aten::mm", 0, 0);
    CHECK((linear != NULL && mm != NULL) || check_refused());
    if (linear == NULL || mm == NULL) {
        return;
    }
    linear->gpu_launch = linear->start + 1;
    linear->gpu_start = linear->start + 100;
    linear->gpu_ticks = 40;
    mm->gpu_launch = mm->start + 1;
    mm->gpu_start = linear->gpu_start + 20;
    mm->gpu_ticks = 10;
    linear->gpu_device = mm->gpu_device = 1;
    linear->gpu_stream = mm->gpu_stream = 4;
    end(&f, "aten::mm");
    end(&f, "aten::linear");
    fixture_stop(&f);
    int64_t begun = (int64_t)linear->start;
    OK(fd_et_from_recording(&et, "g.fd", false, NULL));
    OK(fd_et_complete(&et, FD_ET_ALL_KINDS));
    /* 2 thread, 3 tensor, 4 storage, 5 linear, then its launch, mm, mm's, and
     * linear's second one. */
    EQUAL(et.nodes.count, 7);
    static const struct {
        uint64_t id;
        uint64_t parent;
        int64_t after; /* the start of linear */
        int64_t dur;
    } kernels[] = {{6, 5, 100, 20}, {8, 7, 120, 10}, {9, 5, 130, 10}};
    const fd_et_node *call = traces_find(&et, 5);
    for (int i = 0; i < 3; i++) {
        const fd_et_node *node = traces_find(&et, kernels[i].id);
        EQUAL(node->flags, FD_ET_GPU | FD_ET_TIMED);
        EQUAL(node->parent_id, kernels[i].parent);
        EQUAL(node->start_ns - call->start_ns, kernels[i].after);
        FIELDS(node, (dur_ns, kernels[i].dur), (device, 1), (stream, 3));
        SAME(fd_et_text(&et, traces_attr(&et, node, "fd_timing")->text),
             "cuda_event");
    }
    const fd_et_node *second = traces_find(&et, 9);
    SAME(fd_et_text(&et, second->name), "fastdispatch interval: aten::linear");
    EQUAL(second->in.values, call->in.values);
    EQUAL((int64_t)traces_attr(&et, second, "fd_launch_ns")->number
              - call->start_ns,
          (int64_t)(mm->start + mm->ticks) - begun);
    EQUAL(traces_edge(&et, 5, 6), 1 << FD_ET_LAUNCH);
    EQUAL(traces_edge(&et, 6, 8), 1 << FD_ET_STREAM);
    EQUAL(traces_edge(&et, 8, 9), 1 << FD_ET_STREAM);
    EQUAL(traces_edge(&et, 7, 9), 1 << FD_ET_LAUNCH);
}

ABSORBS(unsuitable_recordings)
{
    FIXTURE(f, "b.fd", 4);
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_et_clear) fd_et none = {.rank = -1};
    fd_error error = {""};
    fixture_stop(&f);
    fd_status status = fd_et_from_recording(&et, "b.fd", false, &error);
    CHECK(status == FD_EFORMAT || check_refused());
    CHECK(check_refused() || strstr(error.text, "et=True") != NULL);
    CHECK(fd_et_from_recording(&none, "nowhere.fd", false, &error) != FD_OK);
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
begin_named(fixture *f, const char *name, uint32_t flags, uint64_t id)
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

/* A range in a layer in a model, as nodes with and without layers. */
ABSORBS(layers_of_a_recording)
{
    FIXTURE(f, "a.fd", 4);
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_et_clear) fd_et whole = {.rank = -1};
    begin_named(&f, "Model", FD_OP_CALL_MODULE, 77);
    begin_named(&f, "Layer", FD_OP_CALL_MODULE, 78);
    begin_named(&f, "range", 7 << FD_OP_CALL_SCOPE_SHIFT, 1);
    end(&f, "range");
    text(&f, "result");
    end(&f, "Layer");
    end(&f, "Model");
    fixture_stop(&f);
    OK(fd_et_from_recording(&et, "a.fd", false, NULL));
    EQUAL(et.nodes.count, 3);
    SAME(fd_et_text(&et, et.nodes.list[2].name), "range");
    EQUAL(et.nodes.list[2].parent_id, 2);
    OK(fd_et_from_recording(&whole, "a.fd", true, NULL));
    const fd_et_node *layer = find(&whole, 4);
    CHECK(layer != NULL && find(&whole, 5) != NULL);
    SAME(fd_et_text(&whole, layer->name), "Layer");
    FIELDS(layer, (parent_id, 3), (scope, FD_ET_SCOPE_MODULE), (rf_id, 78),
           (dur_ns, 30));
    SAME(fd_et_text(&whole, layer->out.values), "[\"result\"]");
    EQUAL(find(&whole, 5)->parent_id, 4);
    EQUAL(find(&whole, 5)->scope, 7);
}
