#include "events/event_batch.h"

#include "base/hash.h"
#include "json/json_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 1 << 15 };

struct fd_batch_chunk {
    fd_batch_chunk *next;
    size_t used;
    size_t capacity;
    char bytes[];
};

static void
free_chunks(fd_event_batch *batch, fd_batch_chunk *kept)
{
    fd_batch_chunk *chunk = batch->chunks;
    while (chunk != NULL) {
        fd_batch_chunk *next = chunk->next;
        if (chunk != kept) {
            fd_free(chunk);
        }
        chunk = next;
    }
    batch->chunks = kept;
}

void
fd_batch_clear(fd_event_batch *batch)
{
    free_chunks(batch, NULL);
    fd_vector_clear(&batch->items);
    fd_buffer_clear(&batch->text);
}

void
fd_batch_reset(fd_event_batch *batch)
{
    fd_batch_chunk *kept = batch->chunks;
    if (kept != NULL && kept->capacity > CHUNK) {
        kept = NULL;
    }
    free_chunks(batch, kept);
    if (kept != NULL) {
        kept->next = NULL;
        kept->used = 0;
    }
    batch->items.count = 0;
    batch->next = 0;
    memset(batch->numbers, 0, sizeof batch->numbers);
}

static void
add_item(fd_event_batch *batch, const fd_batch_item *item)
{
    if (batch->status == FD_OK) {
        batch->status = fd_vector_push(&batch->items, *item);
    }
}

fd_timeline_event *
fd_batch_new(fd_event_batch *batch)
{
    if (batch->status == FD_OK) {
        batch->status = fd_vector_reserve(&batch->items, 1);
    }
    if (batch->status != FD_OK) {
        return &batch->refused;
    }
    fd_batch_item *item = &batch->items.list[batch->items.count++];
    memset(item, 0, sizeof *item);
    return &item->event;
}

/* Return space for a text, or NULL after a failed allocation. */
static char *
make_room(fd_event_batch *batch, size_t size)
{
    fd_batch_chunk *chunk = batch->chunks;
    if (chunk == NULL || chunk->capacity - chunk->used < size) {
        size_t capacity = size > CHUNK ? size : CHUNK;
        chunk = fd_malloc(sizeof *chunk + capacity);
        if (chunk == NULL) {
            batch->status = FD_ENOMEM;
            return NULL;
        }
        *chunk = (fd_batch_chunk){.next = batch->chunks, .capacity = capacity};
        batch->chunks = chunk;
    }
    char *at = chunk->bytes + chunk->used;
    chunk->used += size;
    return at;
}

fd_span
fd_batch_text(fd_event_batch *batch, const char *text, size_t size)
{
    char *at = make_room(batch, size);
    if (at == NULL) {
        return (fd_span){"", ""};
    }
    memcpy(at, text, size);
    return (fd_span){at, at + size};
}

void
fd_batch_members(fd_event_batch *batch, fd_span object)
{
    fd_span text = fd_batch_text(batch, object.from, fd_span_size(object));
    fd_scan scan = {.at = text.from, .end = text.to, .forgets = true};
    fd_batch_item item = {.key = {NULL, NULL}};
    bool first = true;
    fd_scan_result result = fd_scan_mark(&scan, '{');
    while (result == FD_SCAN_OK
           && fd_scan_member(&scan, first, &item.key) == FD_SCAN_OK) {
        const char *from = scan.at;
        result = fd_scan_value(&scan);
        item.value = (fd_span){from, scan.at};
        add_item(batch, &item);
        first = false;
    }
}

fd_buffer *
fd_batch_compose(fd_event_batch *batch)
{
    batch->text.size = 0;
    return &batch->text;
}

fd_span
fd_batch_composed(fd_event_batch *batch)
{
    const fd_buffer *text = &batch->text;
    if (text->status != FD_OK) {
        batch->status = text->status;
    }
    return text->size == 0 ? (fd_span){"", ""}
                           : fd_batch_text(batch, text->bytes, text->size);
}

fd_span
fd_batch_json(fd_event_batch *batch, const char *text, size_t size)
{
    fd_buffer_json(fd_batch_compose(batch), text, size);
    return fd_batch_composed(batch);
}

fd_span
fd_batch_number(fd_event_batch *batch, uint64_t number)
{
    char text[24];
    size_t at = sizeof text;
    uint32_t slot = fd_hash_word(number) % 4;
    if (batch->numbers[slot].text.from != NULL
        && batch->numbers[slot].number == number) {
        return batch->numbers[slot].text;
    }
    for (uint64_t rest = number; at == sizeof text || rest > 0; rest /= 10) {
        text[--at] = (char)('0' + rest % 10);
    }
    fd_span made = fd_batch_text(batch, text + at, sizeof text - at);
    if (batch->status == FD_OK) {
        batch->numbers[slot].number = number;
        batch->numbers[slot].text = made;
    }
    return made;
}

fd_span
fd_batch_id(fd_event_batch *batch, uint64_t id)
{
    fd_timeline_put_id(id, fd_batch_compose(batch));
    return fd_batch_composed(batch);
}

fd_span
fd_batch_format(fd_event_batch *batch, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t kept = size < 0                    ? 0
                : (size_t)size >= sizeof text ? sizeof text - 1
                                              : (size_t)size;
    return fd_batch_text(batch, text, kept);
}

fd_span
fd_batch_text_object(fd_event_batch *batch, const char *key, const char *text,
                     size_t size)
{
    fd_json_writer w = {.to = fd_batch_compose(batch)};
    fd_json_begin_object(&w, NULL);
    fd_json_put_bytes(&w, key, text, size);
    fd_json_end_object(&w);
    return fd_batch_composed(batch);
}

fd_span
fd_batch_number_object(fd_event_batch *batch, const char *key, uint64_t number)
{
    fd_json_writer w = {.to = fd_batch_compose(batch)};
    fd_json_begin_object(&w, NULL);
    fd_json_put_u64(&w, key, number);
    fd_json_end_object(&w);
    return fd_batch_composed(batch);
}
