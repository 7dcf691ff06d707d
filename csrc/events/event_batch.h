/* A batch of events made by a reader, with the memory of their texts. A failed
 * allocation is stored in `status`, so that a reader checks it once. */
#ifndef FD_EVENT_BATCH_H
#define FD_EVENT_BATCH_H

#include "base/vector.h"
#include "events/timeline_event.h"

/* Readers return after about this number of events. */
enum { FD_BATCH_EVENTS = 256 };

typedef struct fd_batch_item {
    fd_span key; /* key of a top-level member; absent: the item is an event */
    fd_span value;
    fd_timeline_event event;
} fd_batch_item;

typedef struct fd_batch_chunk fd_batch_chunk;

typedef struct fd_event_batch {
    FD_VECTOR(fd_batch_item) items;
    uint32_t next;          /* index of the next item to read */
    fd_batch_chunk *chunks; /* owned; chunks of texts, the latest first */
    fd_buffer text;         /* the text being composed */
    struct {
        uint64_t number;
        fd_span text; /* absent: unused */
    } numbers[4];     /* recent numbers of this batch: most events have the ids
                       * of the previous one */
    fd_timeline_event refused; /* returned by fd_batch_new after a failed
                                * allocation */
    fd_status status;
} fd_event_batch;

void fd_batch_clear(fd_event_batch *batch);

/* Remove all items and texts; keep some memory for the next batch. */
void fd_batch_reset(fd_event_batch *batch);

/* Add an empty event and return it, to be filled before the next one. Its spans
 * point to static texts or to texts of this batch. */
fd_timeline_event *fd_batch_new(fd_event_batch *batch);

/* Add the members of an object; its text is copied. */
void fd_batch_members(fd_event_batch *batch, fd_span object);

/* Store a text, a JSON string, a number or an id. The result is valid until
 * the next reset. */
fd_span fd_batch_text(fd_event_batch *batch, const char *text, size_t size);
fd_span fd_batch_json(fd_event_batch *batch, const char *text, size_t size);
fd_span fd_batch_number(fd_event_batch *batch, uint64_t number);
fd_span fd_batch_id(fd_event_batch *batch, uint64_t id);
fd_span fd_batch_format(fd_event_batch *batch, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Store an object with one member. */
fd_span fd_batch_text_object(fd_event_batch *batch, const char *key,
                             const char *text, size_t size);
fd_span fd_batch_number_object(fd_event_batch *batch, const char *key,
                               uint64_t number);

/* Return an empty buffer for a text, and store the text appended to it. */
fd_buffer *fd_batch_compose(fd_event_batch *batch);
fd_span fd_batch_composed(fd_event_batch *batch);

#endif
