/* An execution trace of one rank in memory: calls and kernels (nodes), the
 * calls around them (parents), and their dependencies (edges). Readers and a
 * recording fill it; writers, the check and the picture read it.
 *
 *     nodes   one record of 152 bytes each: numbers, and ids of texts
 *     texts   every name, schema, argument list once
 *     edges   (from, to, kinds), sorted by `to` once they are complete
 *
 * A "index" is an index into `nodes`; a "reference" is a index + 1, or 0 for
 * no node. Ids are those of the file: any 64-bit number. */
#ifndef FD_ET_GRAPH_H
#define FD_ET_GRAPH_H

#include "base/arena.h"
#include "base/sums.h"
#include "trace/interned_texts.h"
#include "json/json_scan.h"
#include "json/json_writer.h"

#include <stdbool.h>

/* The types of nodes, with Chakra's numbers. */
typedef enum fd_et_type {
    FD_ET_METADATA = 1,
    FD_ET_COMP = 4,
    FD_ET_SEND,
    FD_ET_RECV,
    FD_ET_COLL,
    FD_ET_TYPES
} fd_et_type;

/* The reasons for a node to wait for another. */
typedef enum fd_et_edge_kind {
    FD_ET_ORDER,  /* after the previous operator of the thread */
    FD_ET_LAUNCH, /* after the operator that launched the kernel */
    FD_ET_STREAM, /* after the previous kernel of the stream */
    FD_ET_EVENT,  /* after an event of another stream */
    FD_ET_SYNC,   /* after a kernel for which the thread waited */
    FD_ET_GROUP,  /* after the previous collective of the process group */
    FD_ET_DATA,   /* accesses to a tensor, one of them a write */
    FD_ET_GIVEN,  /* given by the file, without a reason */
    FD_ET_KINDS
} fd_et_edge_kind;

enum { FD_ET_ALL_KINDS = (1 << FD_ET_KINDS) - 1 };

typedef enum fd_et_flag {
    FD_ET_GPU = 1,
    FD_ET_TIMED = 2,    /* start and duration are known */
    FD_ET_THREAD = 4,   /* the root of a thread */
    FD_ET_PROCESS = 8,  /* the root of the process */
    FD_ET_GUESSED = 16, /* its time range is that of its children */
    FD_ET_WRITTEN = 32  /* its type and collective are from the file */
} fd_et_flag;

/* The formats of inputs. */
typedef enum fd_et_format {
    FD_ET_PYTORCH, /* JSON, linked or not; a recording */
    FD_ET_CHAKRA,  /* .et */
    FD_ET_KINETO,  /* a Kineto trace, which has no nodes */
    FD_ET_UNKNOWN
} fd_et_format;

/* Inputs or outputs of a node: ids of texts, each a JSON list. */
typedef struct fd_et_io {
    uint32_t values;
    uint32_t shapes;
    uint32_t types;
    uint32_t strides;
} fd_et_io;

/* An attribute without a field in fd_et_node. */
typedef struct fd_et_attr {
    uint32_t name;   /* text */
    uint32_t field;  /* field of Chakra's AttributeProto, which implies the
                      * type */
    uint32_t text;   /* of a text, bytes or a list */
    uint64_t number; /* the bits of a number */
} fd_et_attr;

typedef struct fd_et_node {
    uint64_t id;
    uint64_t parent_id; /* as in the file; equal to its own id: no parent */
    uint64_t rf_id;     /* PyTorch's number of the call; 0: unknown */
    uint64_t fw_parent;
    uint64_t thread; /* of the operating system; 0: unknown */
    int64_t seq;     /* autograd's sequence number; -1: unknown */
    int64_t start_ns;
    int64_t dur_ns;
    int64_t self_ns; /* duration without the nodes it encloses on its thread */
    uint32_t parent; /* reference */
    uint32_t name;   /* text */
    uint32_t schema; /* text */
    uint32_t tid;    /* PyTorch's number of the thread */
    uint32_t fw_tid;
    int32_t stream;
    uint32_t comm;  /* index in `comms` + 1; 0: it does not communicate */
    uint32_t attrs; /* index of its first attribute in `attrs` ... */
    uint32_t attr_count;
    uint32_t category; /* text; the category in Kineto */
    fd_et_io in;
    fd_et_io out;
    uint8_t type;
    uint8_t scope;
    uint8_t flags;
    uint8_t device; /* device of the stream */
} fd_et_node;

/* The communication of a node. */
typedef struct fd_et_comm {
    uint32_t group; /* text: the name of the process group; 0: unknown */
    uint32_t dtype; /* text */
    int32_t type; /* Chakra's number of the collective; -1: none, or unknown */
    int32_t src;  /* ranks of a message, root of a collective; -1: unknown */
    int32_t dst;
    int32_t tag;   /* -1: none */
    int64_t bytes; /* -1: unknown */
} fd_et_comm;

typedef struct fd_et_group {
    uint32_t name; /* texts */
    uint32_t description;
    uint32_t ranks; /* text: a JSON list; empty: all ranks */
    uint32_t size;
    uint64_t address; /* in the process that recorded it; 0: unknown */
} fd_et_group;

typedef struct fd_et_edge {
    uint32_t from; /* indexes */
    uint32_t to;
    uint32_t kinds; /* 1 << each */
} fd_et_edge;

/* A dependency stated by the file, with ids of nodes. */
typedef struct fd_et_given {
    uint32_t to; /* index */
    uint32_t kinds;
    uint64_t id;
} fd_et_given;

/* A cycle with edges of these kinds, and the edge that was dropped: ids and
 * names of its nodes. */
typedef struct fd_et_cycle {
    uint64_t from;
    uint64_t to;
    uint32_t from_name;
    uint32_t to_name;
    uint32_t kinds;
} fd_et_cycle;

/* Faults of the input, and their consequences. */
typedef struct fd_et_faults {
    uint64_t lost;             /* number of damaged regions */
    uint64_t lost_bytes;       /* bytes in damaged regions */
    uint64_t repaired;         /* NaN and Infinity */
    uint64_t invalid;          /* other values that are not JSON, repaired */
    uint64_t wrong;            /* fields of a wrong type, which keep their
                                * default value */
    uint64_t duplicates;       /* duplicate ids: the later node gets a new
                                * id */
    uint64_t orphans;          /* nodes whose parent is missing */
    uint64_t dangling;         /* dependencies on missing nodes */
    uint64_t cycles;           /* cycles that were cut ... */
    uint64_t cut[FD_ET_KINDS]; /* ... and the edges that were dropped */
    uint64_t renumbered;       /* nodes with new ids, because the old ids were
                                * not in order */
    uint64_t collectives_unknown; /* collectives of an unknown kind */
    char trouble[160];            /* message about the first damage, or "" */
    fd_et_cycle cycle;            /* the first one */
} fd_et_faults;

typedef struct fd_et {
    fd_arena arena; /* memory of the vectors, and of everything derived */
    FD_VECTOR(fd_et_node) nodes;
    FD_VECTOR(fd_et_attr) attrs;
    FD_VECTOR(fd_et_comm) comms;
    FD_VECTOR(fd_et_group) groups;
    FD_VECTOR(fd_et_given) given;
    FD_VECTOR(fd_et_edge) edges;
    fd_text_pool texts;
    fd_map index_of; /* id + 1 -> index + 1, set by fd_et_finish */
    fd_et_faults faults;
    uint32_t format; /* an fd_et_format */
    uint32_t schema; /* texts of the file header */
    uint32_t time;
    uint32_t host;
    uint64_t pid;
    int64_t start_ts;
    int64_t finish_ts;
    int64_t rank;   /* -1: unknown */
    uint32_t world; /* 0: unknown */
    bool finished;  /* the file has an end time */
    bool unlinked;  /* PyTorch's format has no kernels; a Kineto trace can add
                     * them */
} fd_et;

/* Free a trace. Zero-initialised memory with `rank` -1 is an empty trace. */
void fd_et_clear(fd_et *et);

/* Functions without a status end the request of `arena` after a failed
 * allocation. */

/* Add an empty node. The pointer is valid until the next call. */
fd_et_node *fd_et_add(fd_et *et);

/* Add a kernel below its operator, a reference, with the tensors of the
 * operator. */
fd_et_node *fd_et_add_kernel(fd_et *et, uint64_t id, uint32_t operator);

/* Add a text and return its id: untrusted bytes, repaired; the same, not
 * repaired; a word of the program; the content of a buffer, which is cleared; a JSON string, given
 * without its quotes; a JSON value without the white space around its parts, so
 * that equal lists are equal texts. */
uint32_t fd_et_add_text(fd_et *et, fd_span text);
uint32_t fd_et_add_bytes(fd_et *et, fd_span bytes);
uint32_t fd_et_add_word(fd_et *et, const char *word);
uint32_t fd_et_take_buffer(fd_et *et, fd_buffer *buffer);
uint32_t fd_et_add_json_text(fd_et *et, fd_span inside);
uint32_t fd_et_add_json(fd_et *et, fd_span value);

void fd_et_add_attr(fd_et *et, fd_et_node *node, fd_et_attr attr);
void fd_et_add_edge(fd_et *et, uint32_t from, uint32_t to,
                    fd_et_edge_kind kind);

/* Finish reading: sort nodes by id, find parents, replace duplicate ids. */
void fd_et_finish(fd_et *et);

/* Sort edges by `to`, then `from`; merge edges with the same ends. */
void fd_et_sort_edges(fd_et *et);

/* Return the reference of the node with an id, or 0. */
uint32_t fd_et_index(const fd_et *et, uint64_t id);

const fd_et_comm *fd_et_comm_of(const fd_et *et, const fd_et_node *node);

/* Return the communication of a node, created if missing. */
fd_et_comm *fd_et_make_comm(fd_et *et, uint32_t index);

static inline const char *
fd_et_text(const fd_et *et, uint32_t id)
{
    return fd_text_pool_get(&et->texts, id);
}

/* Write a text as a member of an object. */
static inline void
fd_et_put_text(fd_json_writer *json, const char *key, const fd_et *et,
               uint32_t text)
{
    fd_json_put_bytes(json, key, fd_et_text(et, text),
                      fd_text_pool_size(&et->texts, text));
}

static inline int64_t
fd_et_end(const fd_et_node *node)
{
    return fd_plus(node->start_ns, node->dur_ns);
}

/* Return the time from the start of a node to the later end of work that it
 * may have waited for, or 0 if the work ended before. A waiting node can
 * resume shortly before the recorded end of the work; after a larger overlap
 * the result is INT64_MAX: the node did not wait. */
static inline int64_t
fd_et_overlap(int64_t start, int64_t dur, int64_t begun)
{
    int64_t late = fd_minus(fd_plus(start, dur), begun);
    return late <= 0 ? 0 : late <= dur / 10 ? late : INT64_MAX;
}

/* Return device and stream as one number. */
static inline int64_t
fd_et_queue(uint8_t device, int32_t stream)
{
    return (int64_t)device << 32 | (uint32_t)stream;
}

#endif
