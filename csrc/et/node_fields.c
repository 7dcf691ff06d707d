#include "et/node_fields.h"

#include "et/readers/chakra_fields.h"

#define FIELD(row, name, type, use, member, number) \
    { \
        FD_COLUMN(row, name, type, member), FD_ET_##use, FD_CHAKRA_##number \
    }
#define HEAD(name, type, use, member, number) \
    FIELD(fd_et, name, type, use, member, number)
#define NODE(name, type, use, member) \
    FIELD(fd_et_node, name, type, use, member, INT64)
#define COMM(name, type, use, member, number) \
    FIELD(fd_et_comm, name, type, use, member, number)

const fd_et_field fd_et_head_fields[FD_ET_HEAD_FIELDS] = {
    HEAD("schema", TEXT, ALWAYS, schema, STRING),
    HEAD("pid", U64, ALWAYS, pid, UINT64),
    HEAD("time", TEXT, ALWAYS, time, STRING),
    HEAD("start_ts", I64, ALWAYS, start_ts, UINT64),
    HEAD("finish_ts", I64, ALWAYS, finish_ts, UINT64),
    HEAD("rank", I64, KNOWN, rank, INT64),
    HEAD("world_size", U32, NONZERO, world, UINT64),
    HEAD("host", TEXT, NONZERO, host, STRING),
};

const fd_et_field fd_et_node_fields[FD_ET_NODE_FIELDS] = {
    NODE("rf_id", U64, ALWAYS, rf_id),
    NODE("fw_parent", U64, ALWAYS, fw_parent),
    NODE("seq_id", I64, ALWAYS, seq),
    NODE("scope", U8, ALWAYS, scope),
    NODE("tid", U32, ALWAYS, tid),
    NODE("fw_tid", U32, ALWAYS, fw_tid),
    NODE("op_schema", TEXT, ALWAYS, schema),
    NODE("stream", I32, ALWAYS, stream),
    NODE("fd_device", U8, NONZERO, device),
    NODE("fd_start_ns", I64, IF_TIMED, start_ns),
    NODE("fd_dur_ns", I64, IF_TIMED, dur_ns),
    NODE("fd_self_ns", I64, IF_TIMED, self_ns),
    NODE("fd_thread", U64, NONZERO, thread),
    NODE("fd_category", TEXT, NONZERO, category),
    NODE("fd_in_strides", TEXT, LISTED, in.strides),
    NODE("fd_out_strides", TEXT, LISTED, out.strides),
};

const fd_et_field fd_et_comm_fields[FD_ET_COMM_FIELDS] = {
    COMM("comm_type", I32, KNOWN, type, INT64),
    COMM("comm_size", I64, KNOWN, bytes, INT64),
    COMM("pg_name", TEXT, NONZERO, group, INT64),
    COMM("comm_src", I32, KNOWN, src, INT32),
    COMM("comm_dst", I32, KNOWN, dst, INT32),
    COMM("comm_tag", I32, KNOWN, tag, INT32),
    COMM("fd_dtype", TEXT, NONZERO, dtype, INT64),
};

size_t
fd_et_field_at(const fd_et_field *fields, size_t count, fd_span name)
{
    size_t i = 0;
    while (i < count && !fd_span_is(name, fields[i].column.name)) {
        i++;
    }
    return i;
}
