#include "check.h"

#include "base/collective_names.h"

#include <string.h>

TEST(names)
{
    static const struct {
        const char *name;
        fd_operation operation;
    } cases[] = {
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", FD_ALL_REDUCE},
        {"all_reduce", FD_ALL_REDUCE},
        {"c10d::allreduce_", FD_ALL_REDUCE},
        {"c10d::_allgather_base_", FD_ALL_GATHER},
        {"_reduce_scatter_block", FD_REDUCE_SCATTER_BLOCK},
        {"ncclKernel_ReduceScatter_RING", FD_REDUCE_SCATTER},
        {"alltoall_base", FD_ALL_TO_ALL},
        {"gloo:broadcast", FD_BROADCAST},
        {"gloo:reduce", FD_REDUCE},
        {"c10d::gather_", FD_GATHER},
        {"c10d::scatter_", FD_SCATTER},
        {"c10d::barrier", FD_BARRIER},
        {"ncclDevKernel_SendRecv", FD_SEND_RECEIVE},
        {"nccl:send 0->1", FD_SEND},
        {"nccl:recv 0<-1", FD_RECEIVE},
        {"receive", FD_RECEIVE},
        {"wait", FD_OPERATION_NONE},
        {"", FD_OPERATION_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        EQUAL(fd_operation_of(name, strlen(name)), cases[i].operation);
    }
    EQUAL(fd_operation_of("sendrecv", 4), FD_SEND);
}

/* Names of any length: only their beginning counts. */
TEST(long_names)
{
    char name[400];
    memset(name, 'x', sizeof name);
    memcpy(name + 100, "AllGather", 9);
    EQUAL(fd_operation_of(name, sizeof name), FD_ALL_GATHER);
    memset(name, '_', 100);
    memcpy(name + 200, "AllReduce", 9);
    EQUAL(fd_operation_of(name, sizeof name), FD_ALL_REDUCE);
    memset(name + 200, 'x', 9);
    memcpy(name + 100, "xxxxxxxxx", 9);
    memcpy(name + 300, "AllReduce", 9);
    EQUAL(fd_operation_of(name, sizeof name), FD_OPERATION_NONE);
}
