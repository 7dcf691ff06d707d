/* The names of slices in a timeline:
 *
 *     Python function   blocks.3 [Block]:forward   of pretrain.py
 *     operator          aten::mm                   of op
 */
#ifndef FD_SLICE_NAMES_H
#define FD_SLICE_NAMES_H

#include "profile/totals.h"

typedef struct fd_slice_name {
    uint32_t name;     /* numbered from 1, as they appear */
    uint32_t category; /* the same; the file of a function, else the kind */
} fd_slice_name;

typedef struct fd_slice_names {
    fd_text_pool names;
    fd_text_pool categories;   /* few, so that their numbers are short */
    fd_slice_name *of_context; /* owned */
} fd_slice_names;

fd_status fd_slice_names_make(fd_slice_names *names, const fd_trace *trace);
void fd_slice_names_clear(fd_slice_names *names);

/* Each text as a JSON string: escaped once per text, not once per slice. Free
 * it in any case. */
fd_status fd_slice_texts_json(const fd_text_pool *texts, fd_buffer **json);
void fd_slice_texts_free(const fd_text_pool *texts, fd_buffer *json);

/* FD_EINVAL with one line where no rank that is asked for has a timeline. */
fd_status fd_timeline_check(const fd_trace *trace, int rank, fd_error *error);

#endif
