#include "check.h"

#include "et/et_names.h"

#include <string.h>

TEST(roots)
{
    EQUAL(fd_et_root("[pytorch|profiler|execution_graph|thread]"),
          FD_ET_THREAD);
    EQUAL(fd_et_root("[pytorch|profiler|execution_trace|process]"),
          FD_ET_PROCESS);
    EQUAL(fd_et_root("[pytorch|profiler|execution_trace|x]"), 0);
    EQUAL(fd_et_root("aten::mm"), 0);
}

TEST(communication)
{
    static const struct {
        const char *name;
        fd_et_type type;
        int32_t coll;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", FD_ET_COLL,
         FD_ET_ALL_REDUCE},
        {"c10d::_allgather_base_", FD_ET_COLL, FD_ET_ALL_GATHER},
        {"ncclKernel_ReduceScatter", FD_ET_COLL, FD_ET_REDUCE_SCATTER},
        {"gloo:reduce", FD_ET_COLL, FD_ET_REDUCE},
        {"c10d::gather_", FD_ET_COLL, FD_ET_GATHER},
        {"c10d::scatter_", FD_ET_COLL, FD_ET_SCATTER},
        {"c10d::barrier", FD_ET_COLL, FD_ET_BARRIER},
        {"alltoall_base", FD_ET_COLL, FD_ET_ALL_TO_ALL},
        {"_reduce_scatter_block", FD_ET_COLL, FD_ET_REDUCE_SCATTER_BLOCK},
        {"ncclDevKernel_Broadcast", FD_ET_COLL, FD_ET_BROADCAST},
        {"ncclDevKernel_SendRecv", FD_ET_COLL, -1},
        {"c10d::send", FD_ET_SEND, -1},
        {"nccl:recv 1<-0", FD_ET_RECV, -1},
        {"wait", FD_ET_COMP, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t coll;
        EQUAL(fd_et_comm_type(cases[i].name, &coll), cases[i].type);
        EQUAL(coll, cases[i].coll);
    }
    EQUAL(fd_et_comm_level_of("ncclDevKernel_X", true), FD_ET_COMM_KERNEL);
    EQUAL(fd_et_comm_level_of("volta_sgemm", true), FD_ET_NO_COMM);
    EQUAL(fd_et_comm_level_of("gloo:send", false), FD_ET_COMM_WORK);
    EQUAL(fd_et_comm_level_of("record_param_comms", false), FD_ET_COMM_PARAMS);
    EQUAL(fd_et_comm_level_of("c10d::send", false), FD_ET_COMM_CALL);
    EQUAL(fd_et_comm_level_of("aten::mm", false), FD_ET_NO_COMM);
}

TEST(tensors)
{
    static const char list[] =
        "[[1,2],\"[7,8,0,40,4,\\\"\",[[7,8,3,40,4,\"cpu\"]],[9,0,0,0,0,\"\"],"
        "['x'],[1,2,3,4,5,6],true]";
    fd_et_tensor tensor;
    uint64_t bytes;
    fd_span rest = {list, list + strlen(list)};
    CHECK(fd_et_next_tensor(&rest, &tensor));
    FIELDS(&tensor, (id, 7), (storage, 8), (offset, 3));
    CHECK(fd_et_next_tensor(&rest, &tensor));
    EQUAL(tensor.id, 9);
    CHECK(!fd_et_next_tensor(&rest, &tensor));
    CHECK(fd_et_tensor_bytes((fd_span){list, rest.to}, &bytes));
    EQUAL(bytes, 160);
    static const char spaced[] =
        "[\n\t[ 7 ,\r\n 8,0 , 40,\n\t\t4 ,\n\"cpu\"\n]\t]";
    CHECK(fd_et_tensor_bytes((fd_span){spaced, spaced + sizeof spaced - 1},
                             &bytes));
    EQUAL(bytes, 160);
    static const char python[] = "[[7, 8, 0, 40, 4, 'cpu'], [1, 2, 3, 4]]";
    CHECK(fd_et_tensor_bytes((fd_span){python, python + sizeof python - 1},
                             &bytes));
    EQUAL(bytes, 160);
    static const char huge[] = "[[1,1,0,18446744073709551615,8,\"cpu\"]]";
    CHECK(
        !fd_et_tensor_bytes((fd_span){huge, huge + sizeof huge - 1}, &bytes));
}
