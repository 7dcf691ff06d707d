#include "et/node_fields.h"

#define NODE(name, type, use, member) \
    { \
        FD_COLUMN(fd_et_node, name, type, member), FD_ET_##use, false \
    }
#define COMM(name, type, use, member, small) \
    { \
        FD_COLUMN(fd_et_comm, name, type, member), FD_ET_##use, small \
    }

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
    COMM("comm_type", I32, KNOWN, type, false),
    COMM("comm_size", I64, KNOWN, bytes, false),
    COMM("pg_name", TEXT, NONZERO, group, false),
    COMM("comm_src", I32, KNOWN, src, true),
    COMM("comm_dst", I32, KNOWN, dst, true),
    COMM("comm_tag", I32, KNOWN, tag, true),
    COMM("fd_dtype", TEXT, NONZERO, dtype, false),
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
