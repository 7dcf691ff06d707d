/* The tables of a native trace: tracks, and for each sequence of packets its
 * texts, defaults and clocks. Bounded: entries beyond are unknown. */
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
    FD_PERFETTO_MOST_TEXT = 16 << 20,    /* bytes of all texts */
    FD_PERFETTO_MOST_INTERNED = 1 << 20, /* of a sequence */
    FD_PERFETTO_MOST_JSON = 1 << 16,     /* texts whose JSON is stored */
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
    bool has_name; /* which may be empty */
    uint32_t pid;
    uint32_t tid;
    fd_span pid_text; /* absent until it is needed, in `spelled` */
    fd_span tid_text; /* the same */
    uint32_t name;    /* in `texts`; 0: none */
    uint32_t labels;  /* of a process; the same */
    bool sorted;
    int64_t sort_index;
    uint32_t counter; /* text: its descriptor except `incremental` */
    uint32_t rest;    /* text: fields of the descriptor without a member */
    int64_t unit;     /* of a counter */
    bool incremental; /* the same */
    double total;     /* of one that is */
    FD_VECTOR(uint32_t) open; /* texts of open slices: category, name */
} fd_perfetto_track;

typedef struct fd_perfetto_from {
    uint32_t id;
    uint32_t clock;  /* by default; 0: boot time */
    uint64_t track;  /* by default */
    fd_map interned; /* kind and iid -> text */
    fd_perfetto_clocks clocks;
} fd_perfetto_from;

typedef struct fd_perfetto_tables {
    fd_text_pool texts;
    FD_VECTOR(fd_span) json; /* the first texts as JSON, in `spelled` */
    fd_event_batch spelled;
    FD_VECTOR(fd_perfetto_track) tracks;
    fd_map track_of; /* uuid -> its place + 1 */
    FD_VECTOR(fd_perfetto_from) sequences;
    fd_map sequence_of;        /* id + 1 -> its place + 1 */
    uint32_t last_sequence;    /* the place + 1 of that of the last packet */
    uint32_t last_track;       /* the same of a track */
    fd_perfetto_clocks clocks; /* those of the whole trace */
    bool has_base;
    int64_t base_ns; /* real time less boot time */
    char origin[48]; /* the line of fastdispatch about its origin; "" */
} fd_perfetto_tables;

void fd_perfetto_tables_clear(fd_perfetto_tables *tables);

/* Forget sequences and clocks before the file is read again. */
void fd_perfetto_tables_rewind(fd_perfetto_tables *tables);

/* The fields of one packet. */
typedef struct fd_perfetto_packet {
    fd_perfetto_from *from; /* NULL: too many sequences */
    bool has_time;
    int64_t time;         /* in boot time */
    bool lost;            /* its clock is unknown */
    fd_proto_field event; /* of a track; bytes NULL: none */
    bool other;           /* has contents that are not read */
} fd_perfetto_packet;

/* Read a packet into the tables. FD_EFORMAT: malformed packet; FD_ENOMEM. */
fd_status fd_perfetto_tables_take(fd_perfetto_tables *tables,
                                  const char *bytes, size_t size,
                                  fd_perfetto_packet *packet);

/* Find or add a track. NULL: the table is full, or FD_ENOMEM in `*status`. */
fd_perfetto_track *fd_perfetto_track_of(fd_perfetto_tables *tables,
                                        uint64_t uuid, fd_status *status);

/* The track around a track. NULL: none. */
const fd_perfetto_track *fd_perfetto_parent(const fd_perfetto_tables *tables,
                                            const fd_perfetto_track *track);

/* The pid of a track or of what is around it; false: none. */
bool fd_perfetto_pid_of(const fd_perfetto_tables *tables,
                        const fd_perfetto_track *track, uint32_t *pid);

/* A text of a sequence by its kind (a field of InternedData) and number; 0:
 * not known. */
uint32_t fd_perfetto_interned(const fd_perfetto_from *from, uint32_t kind,
                              uint64_t iid);

/* A text as JSON, valid until the reset of `batch`. 0: absent. */
fd_span fd_perfetto_json(fd_perfetto_tables *tables, uint32_t text,
                         fd_event_batch *batch);

/* A text, 0 when there is no more room. */
uint32_t fd_perfetto_keep_text(fd_perfetto_tables *tables, const char *text,
                               size_t size, fd_status *status);

#endif
