#include "arrows.h"

#include "columns/arrow_schema.h"

#include <string.h>

typedef struct sample {
    uint32_t index;
    uint32_t text;
    uint8_t kind;
    double square;
} sample;

static const char *const kinds[] = {"none", "one", NULL};
static const fd_column columns[] = {
    FD_COLUMN(sample, "index", INDEX, index),
    FD_COLUMN(sample, "text", TEXT, text),
    FD_COLUMN_OF_NAMES(sample, "kind", U8, kind, kinds),
    FD_COLUMN_IN("ns^2", sample, "square", DOUBLE, square),
};
static const fd_table table = FD_TABLE("samples", columns, sample, false);

TEST(a_unit_is_metadata)
{
    CLEAN(arrows_drop_schema) struct ArrowSchema schema = {.release = NULL};
    OK(fd_arrow_schema(&schema, &table, false));
    CHECK(schema.children[0]->metadata == NULL);
    static const char wanted[] = "\1\0\0\0\4\0\0\0unit\4\0\0\0ns^2";
    const char *made = schema.children[3]->metadata;
    CHECK(made != NULL);
    EQUAL(memcmp(made, wanted, sizeof wanted - 1), 0);
}

/* A consumer may move a child and release the parent. */
TEST(a_moved_child_survives)
{
    CLEAN(arrows_drop_schema) struct ArrowSchema moved = {.release = NULL};
    struct ArrowSchema schema;
    OK(fd_arrow_schema(&schema, &table, false));
    moved = *schema.children[1];
    schema.children[1]->release = NULL;
    schema.release(&schema);
    CHECK(schema.release == NULL);
    SAME(moved.name, "text");
    SAME(moved.dictionary->format, "u");
}
