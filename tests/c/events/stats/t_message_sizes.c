#include "check.h"
#include "spans.h"

#include "events/stats/message_sizes.h"

static fd_message
read(const char *name, const char *args)
{
    fd_message message;
    fd_timeline_event event = {.args = {NULL, NULL}};
    if (args != NULL) {
        event.args = span(args);
    }
    fd_message_read(&event, span(name), &message);
    return message;
}

static void
operations(void)
{
    static const struct {
        const char *name;
        const char *args;
        fd_operation operation;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", NULL, FD_ALL_REDUCE},
        {"ncclKernel_ReduceScatter_RING", NULL, FD_REDUCE_SCATTER},
        {"nccl:_all_gather_base", NULL, FD_ALL_GATHER},
        {"nccl:all_to_all", NULL, FD_ALL_TO_ALL},
        {"gloo:broadcast", NULL, FD_BROADCAST},
        {"gloo:reduce", NULL, FD_REDUCE},
        {"gloo:gather", NULL, FD_GATHER},
        {"gloo:scatter", NULL, FD_SCATTER},
        {"nccl:send 0->1", NULL, FD_SEND},
        {"nccl:recv 0<-1", NULL, FD_RECEIVE},
        {"gloo:barrier", NULL, FD_OPERATION_NONE},
        {"ncclKernel_SendRecv", NULL, FD_OPERATION_NONE},
        {"ncclDevKernel_SendRecv", "{\"Collective name\":\"all_to_allv\"}",
         FD_ALL_TO_ALL},
        {"record_param_comms", "{\"Collective name\":\"wait\"}",
         FD_OPERATION_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_message message = read(cases[i].name, cases[i].args);
        EQUAL(message.operation, cases[i].operation);
        CHECK(!message.sized);
    }
    SAME(fd_operation_name(FD_RECEIVE), "receive");
}

/* The sizes of nccl-tests: of all ranks for gathers, of one for the rest. */
static void
bytes_by_elements(void)
{
#define NELEMS(name, in, out, type, rest) \
    "{\"Collective name\":\"" name "\",\"In msg nelems\":" in \
    ",\"Out msg nelems\":" out ",\"dtype\":\"" type "\"" rest "}"
    static const struct {
        const char *args;
        bool sized;
        uint64_t bytes;
        uint32_t members;
    } cases[] = {
        {NELEMS("allreduce", "100", "100", "Float", ",\"Group size\":4"), true,
         400, 4},
        {NELEMS("_allgather_base", "10", "40", "BFloat16", ""), true, 80, 0},
        {NELEMS("_reduce_scatter_base", "40", "10", "Half",
                ",\"Process Group Ranks\":\"[0, 1, 12]\""),
         true, 80, 3},
        {NELEMS("all_to_all", "8", "6", "Long",
                ",\"Process Group Ranks\":\"[0, 1, ...]\""),
         true, 64, 0},
        {NELEMS("gather", "8", "0", "Byte", ",\"Group size\":3"), true, 24, 3},
        {NELEMS("gather", "8", "0", "Byte", ""), false, 0, 0},
        {NELEMS("scatter", "0", "8", "Byte", ",\"Group size\":3"), true, 24,
         3},
        {NELEMS("recv", "0", "8", "Float8_e4m3fn", ""), true, 8, 0},
        {NELEMS("send", "5", "0", "Double", ""), true, 40, 0},
        {NELEMS("allreduce", "5", "5", "Something", ""), false, 0, 0},
        {NELEMS("allreduce", "9223372036854775807", "5", "Float", ""), false,
         0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_message message = read("ncclDevKernel_SendRecv", cases[i].args);
        EQUAL(message.sized, cases[i].sized);
        EQUAL(message.sized ? message.bytes : 0, cases[i].bytes);
        EQUAL(message.members, cases[i].members);
    }
}

static void
bytes_by_shapes(void)
{
    static const struct {
        const char *args;
        bool sized;
        uint64_t bytes;
    } cases[] = {
        {"{\"Input Dims\":[[3,5]],\"Input type\":[\"float\"]}", true, 60},
        {"{\"Input Dims\":[[3],[2,2]],\"Input type\":[\"c10::Half\",\"long "
         "int\"]}",
         true, 38},
        {"{\"Input Dims\":[[7],[],[]],\"Input "
         "type\":[\"int\",\"Scalar\",\"\"]}",
         true, 28},
        {"{\"Input Dims\":[[]],\"Input type\":[\"bool\"]}", true, 1},
        {"{\"Input Dims\":[[0]],\"Input type\":[\"bool\"]}", true, 0},
        {"{\"Input Dims\":[[[3],[4]]],\"Input type\":[\"TensorList\"]}", false,
         0},
        {"{\"Input Dims\":[[-3]],\"Input type\":[\"float\"]}", false, 0},
        {"{\"Input Dims\":[[4294967296,4294967296]],\"Input "
         "type\":[\"float\"]}",
         false, 0},
        {"{\"Input Dims\":[[1152921504606846975]],\"Input "
         "type\":[\"float\"]}",
         false, 0},
        {"{\"Input Dims\":\"x\",\"Input type\":[\"float\"]}", false, 0},
        {"{\"Input Dims\":[[3]]}", false, 0},
        {"[]", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_message message = read("nccl:all_reduce", cases[i].args);
        EQUAL(message.sized, cases[i].sized);
        EQUAL(message.sized ? message.bytes : 0, cases[i].bytes);
    }
    fd_message all = read("nccl:_all_gather_base",
                          "{\"Input Dims\":[[3]],\"Input type\":[\"float\"],"
                          "\"Group size\":8}");
    EQUAL(all.bytes, 96);
}

static void
bus_factors(void)
{
    CHECK(fd_operation_bus(FD_ALL_REDUCE, 4) == 1.5);
    CHECK(fd_operation_bus(FD_ALL_GATHER, 4) == 0.75);
    CHECK(fd_operation_bus(FD_REDUCE_SCATTER, 2) == 0.5);
    CHECK(fd_operation_bus(FD_ALL_TO_ALL, 8) == 0.875);
    CHECK(fd_operation_bus(FD_GATHER, 4) == 0.75);
    CHECK(fd_operation_bus(FD_SCATTER, 4) == 0.75);
    CHECK(fd_operation_bus(FD_BROADCAST, 0) == 1);
    CHECK(fd_operation_bus(FD_REDUCE, 0) == 1);
    CHECK(fd_operation_bus(FD_SEND, 2) == 1);
    CHECK(fd_operation_bus(FD_ALL_REDUCE, 0) == 0);
    CHECK(fd_operation_bus(FD_ALL_TO_ALL, 0) == 0);
    CHECK(fd_operation_bus(FD_OPERATION_NONE, 4) == 0);
}

RUN(TEST(operations), TEST(bytes_by_elements), TEST(bytes_by_shapes),
    TEST(bus_factors))
