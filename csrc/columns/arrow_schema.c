#include "columns/arrow_schema.h"

#include "base/alloc.h"

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

/* Free a child or a dictionary, which may have been moved away. */
static void
drop_part(struct ArrowSchema *part)
{
    if (part != NULL && part->release != NULL) {
        part->release(part);
    }
    fd_free(part);
}

static void
release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        drop_part(schema->children[i]);
    }
    drop_part(schema->dictionary);
    fd_free(schema->children);
    fd_free(schema->private_data); /* the metadata */
    schema->release = NULL;
}

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
metadata_of(const char *unit)
{
    static const char key[] = "unit";
    int32_t pairs = 1;
    char *made = fd_malloc(3 * sizeof pairs + strlen(key) + strlen(unit));
    if (made != NULL) {
        char *at = made + sizeof pairs;
        memcpy(made, &pairs, sizeof pairs);
        put_text(&at, key);
        put_text(&at, unit);
    }
    return made;
}

static fd_status
fill_column(struct ArrowSchema *schema, const fd_column *column)
{
    bool dictionary = fd_arrow_is_dictionary(column);
    *schema = (struct ArrowSchema){
        .format = dictionary ? "i" : formats[column->type],
        .name = column->name,
        .flags = fd_arrow_is_nullable(column) ? ARROW_FLAG_NULLABLE : 0,
        .release = release_schema,
    };
    if (column->unit != NULL) {
        schema->private_data = metadata_of(column->unit);
        schema->metadata = schema->private_data;
        if (schema->metadata == NULL) {
            return FD_ENOMEM;
        }
    }
    if (dictionary) {
        schema->dictionary = fd_malloc(sizeof *schema->dictionary);
        if (schema->dictionary == NULL) {
            return FD_ENOMEM;
        }
        *schema->dictionary = (struct ArrowSchema){
            .format = "u", .name = "", .release = release_schema};
    }
    return FD_OK;
}

static fd_status
add_column(struct ArrowSchema *schema, const fd_column *column)
{
    struct ArrowSchema *child = fd_calloc(1, sizeof *child);
    if (child == NULL) {
        return FD_ENOMEM;
    }
    schema->children[schema->n_children++] = child;
    return fill_column(child, column);
}

const fd_column fd_arrow_rank = {
    .name = "rank", .type = FD_COLUMN_U32, .bytes = sizeof(uint32_t)};

fd_status
fd_arrow_schema(struct ArrowSchema *schema, const fd_table *table,
                bool with_rank)
{
    *schema = (struct ArrowSchema){
        .format = "+s", .name = "", .release = release_schema};
    schema->children = fd_calloc(table->count + 1, sizeof *schema->children);
    fd_status status = schema->children != NULL ? FD_OK : FD_ENOMEM;
    if (with_rank && status == FD_OK) {
        status = add_column(schema, &fd_arrow_rank);
    }
    for (size_t i = 0; i < table->count && status == FD_OK; i++) {
        status = add_column(schema, &table->columns[i]);
    }
    if (status != FD_OK) {
        release_schema(schema);
    }
    return status;
}
