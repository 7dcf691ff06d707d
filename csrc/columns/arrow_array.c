#include "columns/arrow_array.h"

#include "base/alloc.h"
#include "columns/arrow_schema.h"

#include <string.h>

/* A column of the rows that the table shows. */
typedef struct shown_column {
    const fd_column *column;
    const char *rows;
    size_t row_bytes;
    uint32_t count;
    const fd_text_pool *texts;
    const uint32_t *used; /* texts: ids in the dictionary */
} shown_column;

static uint64_t
cell_value(const shown_column *shown, uint32_t row)
{
    return fd_cell(shown->column, shown->rows + row * shown->row_bytes);
}

static bool
is_null(const fd_column *column, uint64_t value)
{
    return column->type == FD_COLUMN_I64_OR_NONE ? (int64_t)value < 0
                                                 : value == 0;
}

enum { BUFFERS = 3 };

/* Arrays that own their buffers and texts. */
typedef struct owned_buffers {
    const void *list[BUFFERS];
} owned_buffers;

/* Free a child or a dictionary, which may have been moved away. */
static void
drop_part(struct ArrowArray *part)
{
    if (part != NULL && part->release != NULL) {
        part->release(part);
    }
    fd_free(part);
}

static void
release_array(struct ArrowArray *array)
{
    owned_buffers *owned = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        drop_part(array->children[i]);
    }
    drop_part(array->dictionary);
    for (int i = 0; owned != NULL && i < BUFFERS; i++) {
        fd_free((void *)(uintptr_t)owned->list[i]);
    }
    fd_free(owned);
    fd_free(array->children);
    array->release = NULL;
}

static fd_status
add_children(struct ArrowArray *array, size_t count)
{
    array->children =
        count == 0 ? NULL : fd_calloc(count, sizeof(struct ArrowArray *));
    for (size_t i = 0; i < count && array->children != NULL; i++) {
        array->children[i] = fd_calloc(1, sizeof(struct ArrowArray));
        if (array->children[i] == NULL) {
            return FD_ENOMEM;
        }
        array->n_children++;
    }
    return count == 0 || array->children != NULL ? FD_OK : FD_ENOMEM;
}

/* Make an empty array with `count` buffers and `children` children, all unset.
 * FD_ENOMEM is the only failure; the array is then released. */
static fd_status
begin_array(struct ArrowArray *array, int64_t length, int count,
            size_t children)
{
    *array = (struct ArrowArray){
        .length = length, .n_buffers = count, .release = release_array};
    owned_buffers *owned = fd_calloc(1, sizeof *owned);
    if (owned == NULL) {
        release_array(array);
        return FD_ENOMEM;
    }
    array->private_data = owned;
    array->buffers = owned->list;
    if (add_children(array, children) != FD_OK) {
        release_array(array);
        return FD_ENOMEM;
    }
    return FD_OK;
}

/* Allocate one buffer of at least `size` bytes, zeroed and owned by the array,
 * or return NULL after a failed allocation. */
static void *
add_buffer(struct ArrowArray *array, int index, size_t size)
{
    void *made = fd_calloc(size + 1, 1);
    array->buffers[index] = made;
    return made;
}

/* Fill the validity bitmap of a column with nulls. */
static fd_status
fill_validity(struct ArrowArray *array, const shown_column *shown)
{
    if (!fd_arrow_is_nullable(shown->column)) {
        return FD_OK;
    }
    uint8_t *bits = add_buffer(array, 0, shown->count / 8 + 1);
    for (uint32_t i = 0; bits != NULL && i < shown->count; i++) {
        bool null = is_null(shown->column, cell_value(shown, i));
        bits[i / 8] |= (uint8_t)(!null << i % 8);
        array->null_count += null;
    }
    return bits != NULL ? FD_OK : FD_ENOMEM;
}

static fd_status
fill_numbers(struct ArrowArray *array, const shown_column *shown)
{
    bool are_bits = shown->column->type == FD_COLUMN_BOOL;
    size_t width = fd_cell_bytes(shown->column);
    uint64_t less = shown->column->type == FD_COLUMN_INDEX
                 || shown->column->type == FD_COLUMN_CONTEXT
                 || shown->column->type == FD_COLUMN_U64_OR_NONE;
    char *to = add_buffer(
        array, 1, are_bits ? shown->count / 8 + 1 : shown->count * width);
    for (uint32_t i = 0; to != NULL && i < shown->count; i++) {
        uint64_t value = cell_value(shown, i);
        value -= value > 0 ? less : 0;
        if (are_bits) {
            to[i / 8] = (char)(to[i / 8] | (int)(value != 0) << i % 8);
        }
        else {
            memcpy(to + i * width, &value, width); /* little-endian */
        }
    }
    return to != NULL ? FD_OK : FD_ENOMEM;
}

static const char *
string_at(const void *context, uint32_t row, size_t *size)
{
    const shown_column *shown = context;
    const char *at =
        shown->rows + row * shown->row_bytes + shown->column->offset;
    if (shown->column->type == FD_COLUMN_STRING) {
        const char *text;
        memcpy(&text, at, sizeof text);
        at = text;
    }
    *size = strlen(at);
    return at;
}

static const char *
name_at(const void *context, uint32_t row, size_t *size)
{
    const char *const *names = context;
    *size = strlen(names[row]);
    return names[row];
}

static const char *
used_text(const void *context, uint32_t row, size_t *size)
{
    const shown_column *shown = context;
    uint32_t id = shown->used[row];
    *size = fd_text_pool_size(shown->texts, id);
    return fd_text_pool_get(shown->texts, id);
}

/* Number the used texts in order of first use, and store the numbers in the
 * indexes. */
static uint32_t
number_texts(const shown_column *shown, uint32_t *numbers, uint32_t *used,
             uint32_t *indexes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shown->count; i++) {
        uint64_t id = cell_value(shown, i);
        id = id < shown->texts->texts.count ? id : 0;
        if (numbers[id] == 0) {
            used[count] = (uint32_t)id;
            numbers[id] = ++count;
        }
        indexes[i] = numbers[id] - 1;
    }
    return count;
}

static fd_status
fill_texts(struct ArrowArray *array, shown_column *shown)
{
    size_t texts = (size_t)shown->texts->texts.count + 1;
    size_t most = texts < shown->count ? texts : shown->count;
    uint32_t *indexes = add_buffer(array, 1, shown->count * sizeof *indexes);
    uint32_t *numbers = fd_calloc(texts, sizeof *numbers);
    uint32_t *used = fd_calloc(most + 1, sizeof *used);
    fd_status status = FD_ENOMEM;
    if (indexes != NULL && numbers != NULL && used != NULL) {
        uint32_t count = number_texts(shown, numbers, used, indexes);
        shown->used = used;
        status = fd_arrow_texts(array->dictionary, count, used_text, shown);
    }
    fd_free(numbers);
    fd_free(used);
    return status;
}

static fd_status
fill_dictionary(struct ArrowArray *array, shown_column *shown)
{
    array->dictionary = fd_calloc(1, sizeof *array->dictionary);
    if (array->dictionary == NULL) {
        return FD_ENOMEM;
    }
    const char *const *names = shown->column->names;
    if (names == NULL) {
        return fill_texts(array, shown);
    }
    uint32_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    int32_t *indexes = add_buffer(array, 1, shown->count * sizeof *indexes);
    for (uint32_t i = 0; indexes != NULL && i < shown->count; i++) {
        indexes[i] = (int32_t)cell_value(shown, i);
    }
    return indexes == NULL
             ? FD_ENOMEM
             : fd_arrow_texts(array->dictionary, count, name_at, names);
}

static fd_status
fill_column(struct ArrowArray *array, shown_column *shown)
{
    if (shown->column->type == FD_COLUMN_CHARS
        || shown->column->type == FD_COLUMN_STRING) {
        return fd_arrow_texts(array, shown->count, string_at, shown);
    }
    fd_status status = begin_array(array, shown->count, 2, 0);
    fd_then(status, fill_validity(array, shown));
    fd_then(status, fd_arrow_is_dictionary(shown->column)
                        ? fill_dictionary(array, shown)
                        : fill_numbers(array, shown));
    return status;
}

fd_status
fd_arrow_array(struct ArrowArray *array, const fd_table *table,
               const fd_arrow_rows *rows)
{
    uint32_t first = table->from_one && rows->count > 0;
    uint32_t count = rows->count - first;
    size_t ranks = rows->rank != NULL;
    fd_status status = begin_array(array, count, 1, table->count + ranks);
    if (status != FD_OK) {
        return status;
    }
    if (ranks > 0) {
        shown_column rank = {&fd_arrow_rank,
                             (const char *)rows->rank,
                             0,
                             count,
                             rows->texts,
                             NULL};
        status = fill_column(array->children[0], &rank);
    }
    for (size_t i = 0; i < table->count && status == FD_OK; i++) {
        shown_column shown = {
            .column = &table->columns[i],
            .rows = (const char *)rows->list + first * table->row_bytes,
            .row_bytes = table->row_bytes,
            .count = count,
            .texts = rows->texts,
        };
        status = fill_column(array->children[i + ranks], &shown);
    }
    if (status != FD_OK) {
        array->release(array);
    }
    return status;
}

static size_t
size_of_texts(uint32_t count, fd_arrow_text *text, const void *context)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        text(context, i, &size);
        sum += size;
    }
    return sum;
}

fd_status
fd_arrow_texts(struct ArrowArray *array, uint32_t count, fd_arrow_text *text,
               const void *context)
{
    size_t bytes = size_of_texts(count, text, context);
    if (bytes > INT32_MAX || begin_array(array, count, BUFFERS, 0) != FD_OK) {
        return FD_ENOMEM;
    }
    int32_t *ends = add_buffer(array, 1, ((size_t)count + 1) * sizeof *ends);
    char *to = add_buffer(array, 2, bytes);
    if (ends == NULL || to == NULL) {
        release_array(array);
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const char *from = text(context, i, &size);
        memcpy(to + ends[i], from, size);
        ends[i + 1] = ends[i] + (int32_t)size;
    }
    return FD_OK;
}
