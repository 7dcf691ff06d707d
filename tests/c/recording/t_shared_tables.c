#include "check.h"
#include "fixtures.h"

#include "recording/shared_tables.h"

static void
notes_and_tables(void)
{
    CLEAN(fixture_clear) fixture f;
    OK(fixture_open(&f, NULL, 4));
    fd_recording_note(f.recording, "key", "[1]");
    const fd_meta *meta = fd_chunk_records(f.recording->meta.chunk);
    const fd_file *file = &f.recording->file;
    SAME(fd_strings_text(file, meta->key), "key");
    SAME(fd_strings_text(file, meta->value), "[1]");
    CHECK(fd_recording_module(f.recording, 0, "", "GPT") != 0);
    CHECK(f.recording->folded_node != 0);
    CHECK(f.recording->overflow_node != f.recording->folded_node);
}

static void
schemas_are_kept(void)
{
    CLEAN(fixture_clear) fixture f;
    OK(fixture_open(&f, NULL, 4));
    fd_recording_schema(f.recording, "aten::add", "aten::add(Tensor a)");
    const fd_schema *schema = fd_chunk_records(f.recording->schemas.chunk);
    const fd_file *file = &f.recording->file;
    SAME(fd_strings_text(file, schema->name), "aten::add");
    SAME(fd_strings_text(file, schema->text), "aten::add(Tensor a)");
}

static void
nodes_are_added_once(void)
{
    CLEAN(fixture_clear) fixture f;
    OK(fixture_open(&f, NULL, 4));
    fd_node_spec spec = {.kind = FD_NODE_RANGE, .name = "batch"};
    bool added = false;
    uint32_t node = fd_recording_node(f.recording, &spec, &added);
    CHECK(node != 0 && added);
    EQUAL(fd_recording_node(f.recording, &spec, &added), node);
    CHECK(!added);
}

RUN(ABSORBS(notes_and_tables), ABSORBS(schemas_are_kept),
    ABSORBS(nodes_are_added_once))
