/* Facts about the processes of the files of a rank, besides their slices. */
#ifndef FD_PROCESS_FACTS_H
#define FD_PROCESS_FACTS_H

#include "base/vector.h"
#include "events/merged_ids.h"

typedef struct fd_process_facts {
    bool named;          /* its name is "rank N ..." */
    uint32_t rank;       /* N */
    uint64_t events;     /* except metadata rows */
    uint64_t calls_lost; /* calls lost because the recorder had no space */
} fd_process_facts;

/* Damaged regions of an input of a merge, from the table that it writes. */
typedef struct fd_reported_loss {
    uint32_t rank;
    uint64_t lost;
} fd_reported_loss;

typedef struct fd_process_table {
    FD_VECTOR(fd_process_facts) list; /* by number of the process */
    FD_VECTOR(fd_reported_loss) losses;
} fd_process_table;

void fd_process_table_clear(fd_process_table *table);

/* Add an event of the process with this number. */
fd_status fd_process_table_event(fd_process_table *table, uint32_t process,
                                 const fd_timeline_event *event);

/* Add the losses in the member "ranks", the table of a merge; ignore other
 * members. */
fd_status fd_process_table_member(fd_process_table *table, fd_span key,
                                  fd_span value);

#endif
