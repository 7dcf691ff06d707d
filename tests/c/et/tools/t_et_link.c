#include "traces.h"

#include "fixtures.h"

#define OP(rf, name, ts, dur) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"tid\":50," \
    "\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{\"Record function id\":" #rf \
    ",\"External id\":9" #rf "}},"
#define CALL(name, correlation, ts, dur) \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"" name \
    "\",\"tid\":50," \
    "\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{\"correlation\":" #correlation \
    "}},"
#define KERNEL(name, correlation, stream, ts, dur, more) \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"ts\":" #ts \
    ",\"dur\":" #dur ",\"args\":{\"stream\":" #stream \
    ",\"correlation\":" #correlation more "}},"

static fd_status
link_texts(fd_et *et, const char *kineto, fd_et_link *link, fd_error *error)
{
    fd_buffer text = {.bytes = NULL};
    traces_small(&text);
    *et = (fd_et){.rank = -1};
    fd_status status = text.status;
    if (status == FD_OK) {
        status = fixture_write("et.json", text.bytes, text.size);
    }
    if (status == FD_OK) {
        status = fixture_write_text("k.json", kineto);
    }
    fd_buffer_clear(&text);
    if (status == FD_OK) {
        status = traces_link(et, "et.json", "k.json", link, error);
    }
    return status;
}

TEST(joined)
{
    CLEAN(fd_et_clear) fd_et et;
    fd_et_link link;
    OK(link_texts(
        &et,
        "[" OP(104, "aten::linear", 10, 20) OP(105, "aten::addmm", 12, 10)
            CALL("cudaLaunchKernel", 1, 14, 2) OP(106, "aten::relu_", 40, 10)
                CALL("cudaLaunchKernel", 2, 41, 2) OP(107, "aten::other", 60,
                                                      1)
                    OP(108, "c10d::allreduce_", 70, 1) OP(999, "aten::nowhere",
                                                          80, 1)
                        CALL("cudaDeviceSynchronize", 3, 90, 10)
                            OP(120, "c10d::send", 110, 5) KERNEL("gemm", 1, 7,
                                                                 20, 30, "")
                                KERNEL("relu", 2, 7, 50, 35, "")
                                    KERNEL("lost", 77, 9, 60, 1, "")
                                        KERNEL("found", 78, 9, 65, 1,
                                               ",\"External id\":9106") "]",
        &link, NULL));
    FIELDS(&link, (linked, 5), (renamed, 1), (only_kineto, 1));
    EQUAL(link.only_et, 3); /* the label, the view, gloo's */
    FIELDS(&link, (kernels, 4), (by_external, 1), (alone, 1));
    HAS(link.example, "107 is aten::view in one");
    EQUAL(et.nodes.count, 14);
    const fd_et_node *gemm = traces_named(&et, "gemm");
    const fd_et_node *addmm = traces_named(&et, "aten::addmm");
    EQUAL(gemm->parent, fd_et_index(&et, addmm->id));
    EQUAL(gemm->start_ns, 20000);
    EQUAL(gemm->in.values, addmm->in.values);
    EQUAL(traces_named(&et, "aten::linear")->self_ns, 10000);
    EQUAL(traces_named(&et, "aten::linear")->thread, 50);
    EQUAL(traces_edge(&et, addmm->id, gemm->id), 1U << FD_ET_LAUNCH);
    EQUAL(traces_edge(&et, gemm->id, traces_named(&et, "relu")->id),
          1U << FD_ET_STREAM);
    CHECK((traces_edge(&et, traces_named(&et, "relu")->id,
                       traces_named(&et, "c10d::send")->id)
           & 1U << FD_ET_SYNC)
          != 0);
    for (uint32_t i = 0; i < et.nodes.count; i++) {
        EQUAL(et.nodes.list[i].id, i + 1);
        CHECK((et.nodes.list[i].flags & FD_ET_TIMED) != 0 || i == 0);
    }
    const char *process = "[pytorch|profiler|execution_trace|process]";
    EQUAL(traces_named(&et, process)->id, 1);
}

/* On a CPU alone, without steps: nothing but times. */
TEST(without_kernels)
{
    CLEAN(fd_et_clear) fd_et et;
    fd_et_link link;
    OK(link_texts(&et, "{\"traceEvents\":[]}", &link, NULL));
    EQUAL(link.linked, 0);
    EQUAL(et.nodes.count, 10);
}

TEST(refused)
{
    CLEAN(fd_et_clear) fd_et et;
    fd_et_link link;
    fd_error error;
    STATUS(link_texts(&et, "{\"nodes\":[]}", &link, &error), FD_EFORMAT);
    SAME(error.text, "k.json: no Kineto trace: it has no traceEvents");
}
