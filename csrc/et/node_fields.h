/* Members of traces, nodes and communications that files state by name: one
 * table for the readers and writers of both formats. */
#ifndef FD_NODE_FIELDS_H
#define FD_NODE_FIELDS_H

#include "et/et_graph.h"
#include "trace/trace_columns.h"

/* The condition to write a member. */
typedef enum fd_et_field_use {
    FD_ET_ALWAYS,
    FD_ET_NONZERO,
    FD_ET_KNOWN,  /* not negative */
    FD_ET_LISTED, /* a list that is not empty */
    FD_ET_IF_TIMED
} fd_et_field_use;

typedef struct fd_et_field {
    fd_column column;
    fd_et_field_use use;
    uint32_t number; /* Chakra's field of a number */
} fd_et_field;

/* The order in .et files: members that are attributes in both formats, those
 * of the queue, and others. */
enum {
    FD_ET_SCHEMA_FIELD = 6,
    FD_ET_STREAM_FIELD,
    FD_ET_OTHER_FIELDS = 9,
    FD_ET_THREAD_FIELD = 12,
    FD_ET_NODE_FIELDS = 16,
    FD_ET_COMM_FIELDS = 7
};
/* Members of fd_et; the first ones are also in JSON. */
enum { FD_ET_FINISH_FIELD = 4, FD_ET_JSON_FIELDS, FD_ET_HEAD_FIELDS = 8 };

extern const fd_et_field fd_et_head_fields[FD_ET_HEAD_FIELDS];
extern const fd_et_field fd_et_node_fields[FD_ET_NODE_FIELDS];
extern const fd_et_field fd_et_comm_fields[FD_ET_COMM_FIELDS];

/* Return the index of a name, or `count`. */
size_t fd_et_field_at(const fd_et_field *fields, size_t count, fd_span name);

#endif
