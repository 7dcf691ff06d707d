#include "traces.h"

#include "et/readers/et_readers.h"
#include "fixtures.h"

#include <string.h>

#define OP(tid, name, ts, dur, args) \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"tid\":" #tid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}},"

static const char events[] = "{\"distributedInfo\": {\"rank\": 3, "
                             "\"world_size\": 4}, \"traceEvents\": ["
    /* A call comes behind what it encloses; two threads; no step. */
    OP(50, "aten::addmm", 12, 10,
       "\"Record function id\":105,\"Sequence number\":8,\"Input Dims\":[[2,3]"
       "],\"Input type\":[\"float\"]")
        OP(50, "aten::linear", 10, 20,
           "\"Record function id\":104") "{\"ph\":\"X\",\"cat\":\"cuda_"
                                         "runtime\",\"name\":"
                                         "\"cudaLaunchKernel\","
                                         "\"tid\":50,\"ts\":14,\"dur\":2,"
                                         "\"args\":{\"correlation\":1}}," OP(
                                             51, "gloo:all_reduce", 15, 5,
                                             "\"Record function id\":104")
                                             OP(50, "aten::relu", 30, 1, "")
                                                 OP(50, "late", "soon", 1,
                                                    "") "{\"ph\":\"X\","
                                                        "\"cat\":\"kernel\","
                                                        "\"name\":\"gemm\","
                                                        "\"ts\":20,\"dur\":30,"
                                                        "\"args\":{\"stream\":"
                                                        "7,\"correlation\":1}}"
                                                        ","
                                                        "{\"ph\":\"X\","
                                                        "\"cat\":\"kernel\","
                                                        "\"name\":\"lost\","
                                                        "\"ts\":60,\"dur\":1,"
                                                        "\"args\":{\"stream\":"
                                                        "7,\"correlation\":9}}"
                                                        "]}";

static void
alone(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    fd_et_format format;
    OK(fixture_write_text("k.json", events));
    OK(fd_et_load(&et, "k.json", FD_ET_ALL_KINDS, &format, NULL));
    EQUAL(format, FD_ET_KINETO);
    EQUAL(et.rank, 3);
    EQUAL(et.nodes.count, 1 + 2 + 4 + 2);
    EQUAL(et.faults.wrong, 1);
    EQUAL(et.faults.orphans, 1);
    const fd_et_node *linear = traces_named(&et, "aten::linear");
    const fd_et_node *addmm = traces_named(&et, "aten::addmm");
    EQUAL(addmm->parent_id, linear->id);
    EQUAL(addmm->rf_id, 105);
    EQUAL(addmm->seq, 8);
    EQUAL(addmm->start_ns, 12000);
    SAME(fd_et_text(&et, addmm->in.shapes), "[[2,3]]");
    SAME(fd_et_text(&et, addmm->in.types), "[\"float\"]");
    EQUAL(linear->self_ns, 10000);
    EQUAL(traces_named(&et, "aten::relu")->parent_id, linear->parent_id);
    EQUAL(traces_named(&et, "aten::relu")->rf_id, 0);
    EQUAL(traces_named(&et, "gemm")->parent_id, addmm->id);
    EQUAL(traces_named(&et, "gloo:all_reduce")->type, FD_ET_COLL);
    EQUAL(traces_edge(&et, linear->id, addmm->id), 1U << FD_ET_ORDER);
    EQUAL(traces_edge(&et, addmm->id, traces_named(&et, "gemm")->id),
          1U << FD_ET_LAUNCH);
}

static void
nothing(void)
{
    static const char *const texts[] = {
        "{\"schemaVersion\": 1, \"traceEvents\": []}",
        "{\"traceEvents\": [{\"ph\": \"M\", \"name\": \"x\"}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CLEAN(fd_et_clear) fd_et et = {.rank = -1};
        fd_et_format format;
        fd_error error;
        OK(fixture_write_text("k.json", texts[i]));
        STATUS(fd_et_load(&et, "k.json", FD_ET_ALL_KINDS, &format, &error),
               FD_EFORMAT);
        CHECK(strstr(error.text, "without operators and kernels") != NULL);
    }
}

RUN(TEST(alone), TEST(nothing))
