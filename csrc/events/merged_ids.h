/* Unique ids for each input of a merge.
 *
 *   pid    rank * 1024 + k + 1, the k-th process of the rank's inputs; a process
 *          beyond the 1023rd gets a number above those of all ranks
 *   tid    3 000 000 000 + k, the k-th thread of the merge: Perfetto treats
 *          equal tids of different processes as one thread, and a tid equal to a
 *          pid as that process's main thread. A thread without a name gets a
 *          thread_name row with its old tid
 *   flow   id * inputs + index of the input, as "0x..." (a number for both
 *          viewers; JavaScript would round a plain one): ids of two inputs never
 *          collide, and ids within one stay distinct. Other texts and larger
 *          numbers are hashed first. Ids of transfers contain the sender's rank
 *          already: they stay equal in all recordings, with an index above those
 *          of all inputs */
#ifndef FD_MERGED_IDS_H
#define FD_MERGED_IDS_H

#include "base/map.h"
#include "events/timeline_event.h"
#include "trace/interned_texts.h"

enum {
    FD_TIMELINE_RANKS = 1 << 21,
    FD_TIMELINE_PIDS = 1024, /* per rank */
    FD_TIMELINE_MOST_PIDS = 1 << 16,
    FD_TIMELINE_MOST_TIDS = 1 << 20
};

#define FD_TIMELINE_FIRST_TID UINT32_C(3000000000)

typedef struct fd_timeline_process {
    uint32_t pid;  /* 0: not seen yet */
    uint32_t name; /* in `names`: the name, a JSON string without quotes; 0: no
                    * name */
    bool sorted;
    int64_t sort_index;
} fd_timeline_process;

typedef struct fd_timeline_thread {
    uint32_t pid;
    uint32_t tid;
    uint32_t was; /* in `names`: a name made from its original tid; 0:
                   * no name */
    bool named;
} fd_timeline_thread;

/* The id found last, as spelled in the input: most events have the ids of the
 * previous one. */
typedef struct fd_last_id {
    char text[24];
    uint32_t size;
    uint32_t index;
} fd_last_id;

typedef struct fd_timeline_ids {
    uint32_t rank;
    uint64_t input;        /* index of the input */
    uint64_t inputs;       /* number of inputs, plus one if there are transfers
                            * between ranks */
    bool shares_transfers; /* ids of transfers are shared with other inputs */
    const char *label;     /* borrowed: prefix of the names of its processes */
    /* borrowed: suffix of the name if another input has the same name; "" */
    const char *program;
    bool keeps_pids;      /* pids of processes are those of the input */
    bool named_durations; /* slices have their duration in their name */
    uint32_t first;       /* number of processes of earlier inputs of
                           * this rank */
    uint32_t *spare_pid;  /* borrowed: the next pid after the pids of
                           * all ranks */
    fd_text_pool pids;    /* pids as spelled in the input */
    fd_text_pool tids;
    fd_text_pool names;
    FD_VECTOR(fd_timeline_process) processes; /* by their index in `pids` */
    uint32_t *spare_tid; /* borrowed: the next unused tid */
    FD_VECTOR(fd_timeline_thread) threads;
    fd_map thread_of; /* pid << 32 | text in `tids` + 1 -> index + 1 */
    fd_last_id last_pid;
    fd_last_id last_tid;
    uint32_t last_tid_pid;
    fd_buffer scratch;
} fd_timeline_ids;

void fd_timeline_ids_clear(fd_timeline_ids *ids);

/* Find or add the process of a pid, as an index into `processes`. A pid that
 * is a text becomes the name of its process. FD_EFULL: too many. */
fd_status fd_timeline_ids_process(fd_timeline_ids *ids, fd_span pid,
                                  uint32_t *process);

/* Find the process of an event. `taken`: the event was a metadata row with the
 * name or sort index of the process, which is now stored in `ids`. */
fd_status fd_timeline_ids_take(fd_timeline_ids *ids,
                               const fd_timeline_event *event,
                               uint32_t *process, bool *taken);

/* Find or add the thread of a tid, as an index into `threads`. FD_EFULL: too
 * many. */
fd_status fd_timeline_ids_thread(fd_timeline_ids *ids, uint32_t pid,
                                 fd_span tid, uint32_t *thread);

/* Return the merged id of a flow or an asynchronous event as a number, or
 * append it as text. */
uint64_t fd_timeline_ids_number(const fd_timeline_ids *ids, fd_span id);
void fd_timeline_ids_flow(const fd_timeline_ids *ids, fd_span id,
                          fd_buffer *to);

/* Set the name of a process. */
fd_status fd_timeline_ids_name(fd_timeline_ids *ids, uint32_t process,
                               fd_span name);

typedef struct fd_timeline_sorted {
    int64_t sort_index;
    uint32_t process;
} fd_timeline_sorted;

typedef FD_VECTOR(fd_timeline_sorted) fd_timeline_order;

/* Replace `order` (owned by the caller) by all processes in display order. */
fd_status fd_timeline_ids_order(const fd_timeline_ids *ids,
                                fd_timeline_order *order);

/* Return the sort index of the process at this index of the order. */
uint32_t fd_timeline_ids_sort_index(const fd_timeline_ids *ids,
                                    uint32_t index);

/* Append the name of a process: the label, the program, and the remaining part
 * of its original name, in a uniform spelling. */
void fd_timeline_ids_title(const fd_timeline_ids *ids, fd_span label,
                           fd_span name, fd_buffer *to);

/* Append the metadata rows of all processes (name, sort index) and the names
 * of threads that have no name. */
fd_status fd_timeline_ids_rows(fd_timeline_ids *ids, fd_buffer *rows);

#endif
