#include "arrows.h"

#include <string.h>

void
arrows_drop_schema(struct ArrowSchema *schema)
{
    if (schema->release != NULL) {
        schema->release(schema);
    }
}

void
arrows_drop_array(struct ArrowArray *array)
{
    if (array->release != NULL) {
        array->release(array);
    }
}

void
arrows_drop_stream(struct ArrowArrayStream *stream)
{
    if (stream->release != NULL) {
        stream->release(stream);
    }
}

bool
arrows_text_is(const struct ArrowArray *texts, int64_t row,
               const char *expected)
{
    const int32_t *ends = texts->buffers[1];
    const char *bytes = texts->buffers[2];
    size_t size = (size_t)(ends[row + 1] - ends[row]);
    return row < texts->length && size == strlen(expected)
        && memcmp(bytes + ends[row], expected, size) == 0;
}

bool
arrows_word_is(const struct ArrowArray *column, int64_t row,
               const char *expected)
{
    return column->dictionary != NULL
        && arrows_text_is(column->dictionary, (int64_t)arrows_u32(column, row),
                          expected);
}

bool
arrows_is_null(const struct ArrowArray *column, int64_t row)
{
    const uint8_t *bits = column->buffers[0];
    return bits != NULL && (bits[row / 8] >> row % 8 & 1) == 0;
}

uint32_t
arrows_u32(const struct ArrowArray *column, int64_t row)
{
    const uint32_t *list = column->buffers[1];
    return list[row];
}

uint64_t
arrows_u64(const struct ArrowArray *column, int64_t row)
{
    const uint64_t *list = column->buffers[1];
    return list[row];
}
