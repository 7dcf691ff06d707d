#include "traces.h"

#include "et/node_fields.h"
#include "et/readers/chakra_fields.h"

TEST(found_by_name)
{
    const fd_et_field *fields = fd_et_node_fields;
    size_t count = FD_ET_NODE_FIELDS;
    EQUAL(fd_et_field_at(fields, count, traces_span("op_schema")),
          FD_ET_SCHEMA_FIELD);
    EQUAL(fd_et_field_at(fields, count, traces_span("stream")),
          FD_ET_STREAM_FIELD);
    EQUAL(fd_et_field_at(fields, count, traces_span("fd_thread")),
          FD_ET_THREAD_FIELD);
    EQUAL(fd_et_field_at(fields, count, traces_span("fd_thre")), count);
    EQUAL(fd_et_field_at(fields, count, traces_span("comm_size")), count);
}

TEST(members)
{
    fd_et_comm comm = {.src = -1};
    size_t src = fd_et_field_at(fd_et_comm_fields, FD_ET_COMM_FIELDS,
                                traces_span("comm_src"));
    CHECK(src < FD_ET_COMM_FIELDS
          && fd_et_comm_fields[src].number == FD_CHAKRA_INT32);
    EQUAL(fd_cell(&fd_et_comm_fields[src].column, &comm), -1);
    fd_cell_set(&fd_et_comm_fields[src].column, &comm, 5);
    EQUAL(comm.src, 5);
}
