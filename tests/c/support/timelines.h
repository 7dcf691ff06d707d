/* Timelines for tests. */
#ifndef TIMELINES_H
#define TIMELINES_H

#include "fixtures.h"

#include "events/merge_request.h"
#include "events/readers/event_reader.h"
#include "events/stats/slice_columns.h"

/* The timeline of two ranks, on one host or on two, as a trace:
 *
 *   rank 0   main     train 0 .. 100                 ns since its start
 *                     ├─ [GPT]:forward 10 .. 40      module of class GPT
 *                     │   └─ aten::mm 20 .. 30
 *                     └─ "open" 60 ..                not ended
 *                     gloo 5 .. 25 and 15 .. 50      asynchronous
 *                     step 0: 0 .. 90
 *   rank 1            the same, started 1000 ns later */
fd_status fixture_timeline(fd_trace **trace, bool one_host);

/* Declare such a trace, which the end of the test frees. */
#define TIMELINE_TRACE(trace, one_host) \
    CLEAN(fixture_trace_free) fd_trace *trace = NULL; \
    OK(fixture_timeline(&trace, one_host))

/* The same of one host, with a text to export it to. */
#define TIMELINE_TEXT(trace, to) \
    TIMELINE_TRACE(trace, true); \
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL}

/* One of those ranks as a file. */
fd_status fixture_timeline_file(const char *path, uint32_t rank);

/* A kind by the category: job, kernel or step (of number 3); communication for
 * names that begin with "gloo:". */
fd_kind_of_slice fixture_kind;

/* Append the items of a batch: members as key:value, events as Chrome JSON,
 * each followed by a newline. */
void fixture_print(const fd_event_batch *batch, fd_buffer *to);

/* Append the items of a file, from its reader. */
fd_status fixture_items(const char *path, fd_buffer *to,
                        fd_timeline_reader *reader);

/* The event of an object of Chrome JSON, without `rest`. FD_EINVAL: not an
 * event. */
fd_status fixture_event(const char *text, fd_timeline_event *event);

/* A file of a rank as an input. */
#define FILE_INPUT(file, number) \
    { \
        .path = (file), .content = (file), .label = "rank " #number, \
        .program = "", .rank = (number), .clock = { \
            .method = "none", \
            .uncertainty_ns = FD_CLOCK_UNKNOWN \
        } \
    }

/* Append texts with `between` between them, and a NUL that is not part of the
 * size. */
fd_status fixture_join(fd_buffer *to, const char *between,
                       const char *const *texts, size_t count);
#define JOIN(to, between, ...) \
    fixture_join(to, between, (const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Write a file: `head`, and texts with commas between them. */
fd_status fixture_write_list(const char *path, const char *head,
                             const char *const *texts, size_t count);
#define WRITE(path, head, ...) \
    fixture_write_list(path, head, (const char *const[]){__VA_ARGS__}, \
                       sizeof((const char *const[]){__VA_ARGS__}) \
                           / sizeof(char *))

#endif
