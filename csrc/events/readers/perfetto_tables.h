/* The tables of a native trace: tracks, and the texts, defaults and clocks of
 * each sequence of packets. Their sizes are bounded: entries beyond a bound
 * are treated as unknown. */
#ifndef FD_PERFETTO_TABLES_H
#define FD_PERFETTO_TABLES_H

#include "base/map.h"
#include "events/event_batch.h"
#include "events/readers/perfetto_clocks.h"
#include "streams/protobuf.h"
#include "trace/interned_texts.h"

enum {
    FD_PERFETTO_MOST_TRACKS = 1 << 20,
    FD_PERFETTO_MOST_SEQUENCES = 1 << 16,
    FD_PERFETTO_MOST_TEXT = 16 << 20,    /* total bytes of texts */
    FD_PERFETTO_MOST_INTERNED = 1 << 20, /* per sequence */
    /* maximum number of texts whose JSON is stored */
    FD_PERFETTO_MOST_JSON = 1 << 16,
    FD_PERFETTO_PARENTS = 64
};

typedef enum fd_perfetto_track_kind {
    FD_PERFETTO_UNKNOWN,
    FD_PERFETTO_PROCESS,
    FD_PERFETTO_THREAD,
    FD_PERFETTO_COUNTS,
    FD_PERFETTO_OTHER
} fd_perfetto_track_kind;

typedef struct fd_perfetto_track {
    uint64_t uuid;
    uint64_t parent;
    fd_perfetto_track_kind kind;
    bool has_pid;
    bool has_name; /* the name may be empty */
    uint32_t pid;
    uint32_t tid;
    fd_span pid_text; /* pid as JSON in `spelled`; absent before its
                       * first use */
    fd_span tid_text; /* tid as JSON in `spelled`; absent before its
                       * first use */
    uint32_t name;    /* in `texts`; 0: no name */
    uint32_t labels;  /* labels of a process, in `texts`; 0: no labels */
    bool sorted;
    int64_t sort_index;
    uint32_t counter; /* text: the CounterDescriptor without `incremental` */
    uint32_t rest;    /* text: fields of the descriptor that have no member
                       * here */
    int64_t unit;     /* unit multiplier of a counter */
    bool incremental; /* values of the counter are increments */
    double total;     /* current value of an incremental counter */
    /* category and name of each open slice, in `texts` */
    FD_VECTOR(uint32_t) open;
} fd_perfetto_track;

typedef struct fd_perfetto_from {
    uint32_t id;
    uint32_t clock;  /* default clock; 0: boot time */
    uint64_t track;  /* default track */
    fd_map interned; /* kind and iid -> text */
    fd_perfetto_clocks clocks;
} fd_perfetto_from;

typedef struct fd_perfetto_tables {
    fd_text_pool texts;
    FD_VECTOR(fd_span) json; /* JSON of the first texts, in `spelled` */
    fd_event_batch spelled;
    FD_VECTOR(fd_perfetto_track) tracks;
    fd_map track_of; /* uuid -> index + 1 */
    FD_VECTOR(fd_perfetto_from) sequences;
    fd_map sequence_of;        /* id + 1 -> index + 1 */
    uint32_t last_sequence;    /* index + 1 of the sequence of the
                                * last packet */
    uint32_t last_track;       /* index + 1 of the track found last */
    fd_perfetto_clocks clocks; /* clocks of the entire trace */
    bool has_base;
    int64_t base_ns; /* real time minus boot time */
    char origin[48]; /* the origin that fastdispatch wrote; or "" */
} fd_perfetto_tables;

void fd_perfetto_tables_clear(fd_perfetto_tables *tables);

/* Remove sequences and clocks before the file is read again. */
void fd_perfetto_tables_rewind(fd_perfetto_tables *tables);

/* The fields of one packet. */
typedef struct fd_perfetto_packet {
    fd_perfetto_from *from; /* NULL: too many sequences */
    bool has_time;
    int64_t time;         /* in boot time */
    bool lost;            /* its clock is unknown */
    fd_proto_field event; /* an event of a track; `bytes` NULL: absent */
    bool other;           /* has fields that are not read */
} fd_perfetto_packet;

/* Read a packet into the tables. FD_EFORMAT: malformed packet. FD_ENOMEM: a
 * failed allocation. */
fd_status fd_perfetto_tables_take(fd_perfetto_tables *tables,
                                  const char *bytes, size_t size,
                                  fd_perfetto_packet *packet);

/* Find or add a track. Return NULL if the table is full, or with FD_ENOMEM in
 * `*status`. */
fd_perfetto_track *fd_perfetto_track_of(fd_perfetto_tables *tables,
                                        uint64_t uuid, fd_status *status);

/* Return the parent of a track, or NULL. */
const fd_perfetto_track *fd_perfetto_parent(const fd_perfetto_tables *tables,
                                            const fd_perfetto_track *track);

/* Find the pid of a track or of its nearest ancestor that has one; return
 * false if no ancestor has a pid. */
bool fd_perfetto_pid_of(const fd_perfetto_tables *tables,
                        const fd_perfetto_track *track, uint32_t *pid);

/* Return an interned text of a sequence by its kind (a field of InternedData)
 * and iid, or 0 if it is unknown. */
uint32_t fd_perfetto_interned(const fd_perfetto_from *from, uint32_t kind,
                              uint64_t iid);

/* Return a text as JSON, valid until the reset of `batch`; absent for
 * text 0. */
fd_span fd_perfetto_json(fd_perfetto_tables *tables, uint32_t text,
                         fd_event_batch *batch);

/* Store a text and return its index, or 0 if the table is full. */
uint32_t fd_perfetto_keep_text(fd_perfetto_tables *tables, const char *text,
                               size_t size, fd_status *status);

#endif
