/* The members of merged Chrome JSON beside the events: the table of ranks, and
 * the members of the inputs. */
#ifndef FD_MERGED_MEMBERS_H
#define FD_MERGED_MEMBERS_H

#include "events/merge_request.h"
#include "json/json_scan.h"

typedef struct fd_merged_members {
    fd_buffer metadata; /* owned; "<rank>":{...}, ... */
    fd_buffer ranks;    /* owned; rows of the table "ranks" of inputs that are
                         * merges, each with a comma before it */
    char unit[8];       /* displayTimeUnit of the first input that has one */
} fd_merged_members;

void fd_merged_members_clear(fd_merged_members *members);

/* Keep a member of an input. `*any`: the input has members already. */
void fd_merged_members_keep(fd_merged_members *members,
                            fd_timeline_input *input, bool *any, fd_span key,
                            fd_span value, const fd_scan *scan);

/* End the array of events and append all members. */
void fd_merged_members_put(const fd_merged_members *members,
                           const fd_timeline_request *request,
                           const fd_timeline_input *inputs, uint32_t count,
                           fd_buffer *to);

#endif
