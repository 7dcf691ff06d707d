#include "columns/arrow_array.h"

#include "columns/arrow_memory.h"
#include "columns/arrow_schema.h"

#include <string.h>

enum { BUFFERS = 3 };

/* A column of the rows that the table shows. */
typedef struct shown_column {
    fd_arrow_memory *memory;
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

FD_ARROW_RELEASE(release_array, ArrowArray)

/* Begin an array with `buffers` buffers and `children` children, all unset. */
static void
begin_array(fd_arrow_memory *memory, struct ArrowArray *array, int64_t length,
            int64_t buffers, size_t children)
{
    fd_arena *arena = &memory->arena;
    *array = (struct ArrowArray){
        .length = length,
        .n_buffers = buffers,
        .buffers = fd_arena_new(arena, BUFFERS, sizeof(void *)),
        .children = fd_arena_new(arena, children, sizeof(struct ArrowArray *)),
        .private_data = memory,
        .release = release_array};
    memory->parts++;
    while ((size_t)array->n_children < children) {
        array->children[array->n_children++] =
            fd_arena_new(arena, 1, sizeof(struct ArrowArray));
    }
}

/* Allocate one buffer of at least `size` bytes, zeroed. */
static void *
add_buffer(fd_arrow_memory *memory, struct ArrowArray *array, int index,
           size_t size)
{
    void *made = fd_arena_new(&memory->arena, size + 1, 1);
    array->buffers[index] = made;
    return made;
}

/* Fill the validity bitmap of a column with nulls. */
static void
fill_validity(struct ArrowArray *array, const shown_column *shown)
{
    uint8_t *bits = add_buffer(shown->memory, array, 0, shown->count / 8 + 1);
    for (uint32_t i = 0; i < shown->count; i++) {
        bool null = is_null(shown->column, cell_value(shown, i));
        bits[i / 8] |= (uint8_t)(!null << i % 8);
        array->null_count += null;
    }
}

static void
fill_numbers(struct ArrowArray *array, const shown_column *shown)
{
    bool are_bits = shown->column->type == FD_COLUMN_BOOL;
    size_t width = fd_cell_bytes(shown->column);
    uint64_t less = shown->column->type == FD_COLUMN_INDEX
                 || shown->column->type == FD_COLUMN_CONTEXT
                 || shown->column->type == FD_COLUMN_U64_OR_NONE;
    char *to =
        add_buffer(shown->memory, array, 1,
                   are_bits ? shown->count / 8 + 1 : shown->count * width);
    for (uint32_t i = 0; i < shown->count; i++) {
        uint64_t value = cell_value(shown, i);
        value -= value > 0 ? less : 0;
        if (are_bits) {
            to[i / 8] = (char)(to[i / 8] | (int)(value != 0) << i % 8);
        }
        else {
            memcpy(to + i * width, &value, width); /* little-endian */
        }
    }
}

/* Return the value of a row in a text column, without a copy. */
typedef const char *text_at(const void *context, uint32_t row, size_t *size);

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

static size_t
size_of_texts(uint32_t count, text_at *text, const void *context)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        text(context, i, &size);
        sum += size;
    }
    return sum;
}

/* Make an array of UTF-8 texts, which are copied. */
static void
fill_texts(fd_arrow_memory *memory, struct ArrowArray *array, uint32_t count,
           text_at *text, const void *context)
{
    size_t bytes = size_of_texts(count, text, context);
    if (bytes > INT32_MAX) {
        fd_arena_fail(&memory->arena, FD_ENOMEM);
    }
    begin_array(memory, array, count, BUFFERS, 0);
    int32_t *ends =
        add_buffer(memory, array, 1, ((size_t)count + 1) * sizeof *ends);
    char *to = add_buffer(memory, array, 2, bytes);
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const char *from = text(context, i, &size);
        memcpy(to + ends[i], from, size);
        ends[i + 1] = ends[i] + (int32_t)size;
    }
}

static void
fill_used_texts(struct ArrowArray *dictionary, shown_column *shown,
                uint32_t *indexes)
{
    fd_arena *arena = &shown->memory->arena;
    size_t texts = (size_t)shown->texts->texts.count + 1;
    size_t most = texts < shown->count ? texts : shown->count;
    uint32_t *numbers = fd_arena_new(arena, texts, sizeof *numbers);
    uint32_t *used = fd_arena_new(arena, most + 1, sizeof *used);
    uint32_t count = number_texts(shown, numbers, used, indexes);
    shown->used = used;
    fill_texts(shown->memory, dictionary, count, used_text, shown);
    fd_arena_drop(numbers);
    fd_arena_drop(used);
}

static void
fill_dictionary(struct ArrowArray *array, shown_column *shown)
{
    const char *const *names = shown->column->names;
    uint32_t *indexes =
        add_buffer(shown->memory, array, 1, shown->count * sizeof *indexes);
    array->dictionary =
        fd_arena_new(&shown->memory->arena, 1, sizeof *array->dictionary);
    if (names == NULL) {
        fill_used_texts(array->dictionary, shown, indexes);
        return;
    }
    uint32_t count = 0;
    while (names[count] != NULL) {
        count++;
    }
    for (uint32_t i = 0; i < shown->count; i++) {
        indexes[i] = (uint32_t)cell_value(shown, i);
    }
    fill_texts(shown->memory, array->dictionary, count, name_at, names);
}

static void
fill_column(struct ArrowArray *array, shown_column *shown)
{
    const fd_column *column = shown->column;
    if (column->type == FD_COLUMN_CHARS || column->type == FD_COLUMN_STRING) {
        fill_texts(shown->memory, array, shown->count, string_at, shown);
        return;
    }
    begin_array(shown->memory, array, shown->count, 2, 0);
    if (fd_arrow_is_nullable(column)) {
        fill_validity(array, shown);
    }
    if (fd_arrow_is_dictionary(column)) {
        fill_dictionary(array, shown);
    }
    else {
        fill_numbers(array, shown);
    }
}

static void
fill_table(fd_arrow_memory *memory, struct ArrowArray *array,
           const fd_table *table, const fd_arrow_rows *rows)
{
    uint32_t first = table->from_one && rows->count > 0;
    size_t ranks = rows->rank != NULL;
    shown_column shown = {.memory = memory,
                          .column = &fd_arrow_rank,
                          .rows = (const char *)rows->rank,
                          .count = rows->count - first,
                          .texts = rows->texts};
    begin_array(memory, array, shown.count, 1, table->count + ranks);
    if (ranks > 0) {
        fill_column(array->children[0], &shown);
    }
    shown.rows = (const char *)rows->list + first * table->row_bytes;
    shown.row_bytes = table->row_bytes;
    for (size_t i = 0; i < table->count; i++) {
        shown.column = &table->columns[i];
        fill_column(array->children[i + ranks], &shown);
    }
}

fd_status
fd_arrow_array(struct ArrowArray *array, const fd_table *table,
               const fd_arrow_rows *rows)
{
    fd_arrow_memory *memory = fd_calloc(1, sizeof *memory);
    if (memory == NULL) {
        return FD_ENOMEM;
    }
    if (fd_arena_caught(&memory->arena, NULL)) {
        array->release = NULL;
        fd_arrow_memory_free(memory);
        return FD_ENOMEM;
    }
    fill_table(memory, array, table, rows);
    return fd_arena_left(&memory->arena);
}
