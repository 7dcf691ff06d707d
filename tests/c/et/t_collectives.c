#include "traces.h"

#include "et/et_names.h"

TEST(of_gloo)
{
    LOADED(et);
    EQUAL(traces_find(&et, 8)->type,
          FD_ET_COMP); /* described by the work in it */
    const fd_et_node *work = traces_find(&et, 9);
    EQUAL(work->type, FD_ET_COLL);
    EQUAL(fd_et_comm_of(&et, work)->type, FD_ET_ALL_REDUCE);
    EQUAL(fd_et_comm_of(&et, work)->bytes, 24);
    SAME(fd_et_text(&et, fd_et_comm_of(&et, work)->group), "0");
    const fd_et_node *send = traces_find(&et, 20);
    EQUAL(send->type, FD_ET_SEND);
    EQUAL(fd_et_comm_of(&et, send)->dst, 1);
    EQUAL(fd_et_comm_of(&et, send)->tag, 7);
    EQUAL(fd_et_comm_of(&et, send)->src, -1);
    EQUAL(traces_find(&et, 3)->type, FD_ET_METADATA);
    EQUAL(traces_find(&et, 1)->type, FD_ET_METADATA);
    EQUAL(traces_find(&et, 4)->type, FD_ET_COMP);
}

/* Work whose call is not around it: on another thread. */
TEST(apart)
{
    TRACE_BEGUN(text, et);
    traces_node(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "",
                "[]", "[]");
    traces_node(&text, 3, 2, "c10d::recv_", "c10d::recv_()",
                "[[[1,5,0,3,4,\"cpu\"]],\"<Object>\",3,9]", "[]");
    traces_node(&text, 4, 2, "gloo:recv", "", "[[1,5,0,3,4,\"cpu\"]]", "[]");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, FD_ET_ALL_KINDS, NULL));
    EQUAL(traces_find(&et, 3)->type, FD_ET_COMP);
    EQUAL(traces_find(&et, 4)->type, FD_ET_RECV);
    EQUAL(fd_et_comm_of(&et, traces_find(&et, 4))->src, 3);
    EQUAL(fd_et_comm_of(&et, traces_find(&et, 4))->tag, 9);
}

/* NCCL: the kernel, with the facts of record_param_comms. */
TEST(of_nccl)
{
    TRACE_BEGUN(text, et);
    traces_node(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "",
                "[]", "[]");
    traces_node(&text, 3, 2, "c10d::send", "c10d::send()", "[]", "[]");
    fd_buffer_text(&text,
                   ",{\"id\": 4, \"name\": \"record_param_comms\", "
                   "\"ctrl_deps\": 3, \"inputs\": {\"values\": [[[1,5,0,3,4,"
                   "\"cuda:0\"]],[7,true],[\"pg1\",\"tp\"],6,\"send\",[],[],0,"
                   "1,8], \"shapes\": [], \"types\": [\"GenericList[Tensor("
                   "float)]\",\"GenericList[Int,Bool]\",\"Tuple[String,String]"
                   "\",\"Int\",\"String\"]}, \"attrs\": [{\"name\": "
                   "\"collective_name\", \"type\": \"string\", \"value\": "
                   "\"send\"},{\"name\": \"dtype\", \"type\": \"string\", "
                   "\"value\": \"Float\"},{\"name\": \"in_msg_nelems\", "
                   "\"type\": \"uint64\", \"value\": 3}]}");
    traces_more(&text, 5, 4, "ncclDevKernel_SendRecv",
                ", \"cat\": \"kernel\", \"stream\": 20, \"ts\": 5");
    traces_end(&text);
    OK(traces_load(&et, "a.json", &text, FD_ET_ALL_KINDS, NULL));
    const fd_et_node *kernel = traces_find(&et, 5);
    EQUAL(kernel->type, FD_ET_SEND);
    SAME(fd_et_text(&et, fd_et_comm_of(&et, kernel)->group), "pg1");
    EQUAL(fd_et_comm_of(&et, kernel)->dst, 6);
    EQUAL(fd_et_comm_of(&et, kernel)->bytes, 12);
    EQUAL(traces_find(&et, 4)->type, FD_ET_COMP);
}
