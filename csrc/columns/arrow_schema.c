#include "columns/arrow_schema.h"

#include "columns/arrow_memory.h"

#include <string.h>

/* Arrow's formats of columns that are not dictionaries. */
static const char *const formats[] = {
    [FD_COLUMN_U8] = "C",     [FD_COLUMN_U16] = "S",
    [FD_COLUMN_I32] = "i",    [FD_COLUMN_U32] = "I",
    [FD_COLUMN_INDEX] = "I",  [FD_COLUMN_CONTEXT] = "I",
    [FD_COLUMN_U64] = "L",    [FD_COLUMN_U64_OR_NONE] = "L",
    [FD_COLUMN_I64] = "l",    [FD_COLUMN_I64_OR_NONE] = "l",
    [FD_COLUMN_DOUBLE] = "g", [FD_COLUMN_BOOL] = "b",
    [FD_COLUMN_CHARS] = "u",  [FD_COLUMN_STRING] = "u",
};

bool
fd_arrow_is_dictionary(const fd_column *column)
{
    return column->names != NULL || column->type == FD_COLUMN_TEXT;
}

bool
fd_arrow_is_nullable(const fd_column *column)
{
    return column->type == FD_COLUMN_INDEX || column->type == FD_COLUMN_CONTEXT
        || column->type == FD_COLUMN_U64_OR_NONE
        || column->type == FD_COLUMN_I64_OR_NONE;
}

FD_ARROW_RELEASE(release_schema, ArrowSchema)

static void
put_text(char **to, const char *text)
{
    int32_t size = (int32_t)strlen(text);
    memcpy(*to, &size, sizeof size);
    memcpy(*to + sizeof size, text, (size_t)size);
    *to += sizeof size + (size_t)size;
}

/* Return {"unit": unit} in the encoding of the specification. */
static char *
metadata_of(fd_arena *arena, const char *unit)
{
    static const char key[] = "unit";
    int32_t pairs = 1;
    char *made =
        fd_arena_new(arena, 3 * sizeof pairs + strlen(key) + strlen(unit), 1);
    char *at = made + sizeof pairs;
    memcpy(made, &pairs, sizeof pairs);
    put_text(&at, key);
    put_text(&at, unit);
    return made;
}

static struct ArrowSchema *
new_schema(fd_arrow_memory *memory, const char *name, const char *format)
{
    struct ArrowSchema *made = fd_arena_new(&memory->arena, 1, sizeof *made);
    *made = (struct ArrowSchema){.format = format,
                                 .name = name,
                                 .release = release_schema,
                                 .private_data = memory};
    memory->parts++;
    return made;
}

static struct ArrowSchema *
column_schema(fd_arrow_memory *memory, const fd_column *column)
{
    bool dictionary = fd_arrow_is_dictionary(column);
    struct ArrowSchema *made = new_schema(
        memory, column->name, dictionary ? "i" : formats[column->type]);
    made->flags = fd_arrow_is_nullable(column) ? ARROW_FLAG_NULLABLE : 0;
    if (column->unit != NULL) {
        made->metadata = metadata_of(&memory->arena, column->unit);
    }
    if (dictionary) {
        made->dictionary = new_schema(memory, "", "u");
    }
    return made;
}

const fd_column fd_arrow_rank = {
    .name = "rank", .type = FD_COLUMN_U32, .bytes = sizeof(uint32_t)};

fd_status
fd_arrow_schema(struct ArrowSchema *schema, const fd_table *table,
                bool with_rank)
{
    fd_arrow_memory *memory = fd_calloc(1, sizeof *memory);
    if (memory == NULL) {
        return FD_ENOMEM;
    }
    if (fd_arena_caught(&memory->arena, NULL)) {
        schema->release = NULL;
        fd_arrow_memory_free(memory);
        return FD_ENOMEM;
    }
    *schema = *new_schema(memory, "", "+s");
    schema->children = fd_arena_new(&memory->arena, table->count + 1,
                                    sizeof *schema->children);
    if (with_rank) {
        schema->children[schema->n_children++] =
            column_schema(memory, &fd_arrow_rank);
    }
    for (size_t i = 0; i < table->count; i++) {
        schema->children[schema->n_children++] =
            column_schema(memory, &table->columns[i]);
    }
    return fd_arena_left(&memory->arena);
}
