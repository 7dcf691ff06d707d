/* What makes the ids of one input of a merge differ from those of all others.
 *
 *   pid    rank * 1024 + k + 1, the k-th process of the input; a process beyond
 *          the 1023rd gets a number behind those of all ranks
 *   tid    stays when it is an integer below 2^32 - 2^16; others get a number from
 *          there on, and a thread_name row
 *   flow   id * inputs + place of the input, as "0x..." (both viewers take it for
 *          the same number; JavaScript would round a plain one): no two inputs meet,
 *          and within one they differ as before. What is no number, or too large, is
 *          hashed first. */
#ifndef FD_TIMELINE_IDS_H
#define FD_TIMELINE_IDS_H

#include "base/map.h"
#include "io/json_scan.h"
#include "io/texts.h"

enum {
    FD_TIMELINE_RANKS = 1 << 21,
    FD_TIMELINE_PIDS = 1024, /* of a rank */
    FD_TIMELINE_MOST_PIDS = 1 << 16
};

typedef struct fd_timeline_process {
    uint32_t pid; /* 0: not seen */
    uint32_t name; /* in `names`: inside of a JSON string; 0: none */
    bool sorted;
    int64_t sort_index;
} fd_timeline_process;

typedef struct fd_timeline_ids {
    uint32_t rank;
    uint64_t place; /* among the inputs */
    uint64_t inputs;
    uint32_t *spare_pid; /* borrowed: the next pid behind those of all ranks */
    fd_text_pool pids;   /* as the input spells them */
    fd_text_pool tids;
    fd_text_pool names;
    FD_VECTOR(fd_timeline_process) processes; /* by their id in `pids` */
    fd_map threads; /* pid << 32 | tid of rows that were written */
    char last[24];  /* the pid asked for last, as it is spelled */
    uint32_t last_size;
    uint32_t last_process;
    fd_buffer scratch;
} fd_timeline_ids;

void fd_timeline_ids_clear(fd_timeline_ids *ids);

/* The process of a pid, as an index into `processes`. A pid that is a text
 * names it. FD_EFULL: too many. */
fd_status fd_timeline_ids_process(fd_timeline_ids *ids, fd_span pid,
                                  const fd_scan *scan, uint32_t *process);

/* Whether a tid may stay. */
bool fd_timeline_ids_keeps(fd_span tid);

/* The number of another tid. The row with its name is appended to `rows` the
 * first time. */
fd_status fd_timeline_ids_thread(fd_timeline_ids *ids, uint32_t pid,
                                 fd_span tid, const fd_scan *scan,
                                 uint32_t *number, fd_buffer *rows);

/* Append the id of a flow or of an asynchronous event. */
void fd_timeline_ids_flow(const fd_timeline_ids *ids, fd_span id,
                          fd_buffer *to);

/* What a row of the input says about a process. */
fd_status fd_timeline_ids_name(fd_timeline_ids *ids, uint32_t process,
                               fd_span name, const fd_scan *scan);

/* Append the rows of all processes: name, place in the order. */
fd_status fd_timeline_ids_rows(fd_timeline_ids *ids, fd_buffer *rows);

#endif
