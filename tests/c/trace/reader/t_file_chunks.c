#include "check.h"
#include "fixtures.h"

#include "trace/reader/file_chunks.h"

#include <string.h>

TEST(match)
{
    CHECK(fd_chunks_match("fastdisp....", 12));
    CHECK(!fd_chunks_match("fastdisp", 7));
    CHECK(!fd_chunks_match("fastdisk....", 12));
}

static fd_status
open_bytes(fd_chunks *chunks, const fd_buffer *bytes, size_t size,
           fd_error *error)
{
    *chunks = (fd_chunks){.fd = -1};
    fd_status status = fixture_write("part.fd", bytes->bytes, size);
    return status == FD_OK
             ? fd_chunks_open(chunks, "part.fd", FD_CHUNKS_ALL, error)
             : status;
}

TEST(invalid_files)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    fd_error error;
    OK(fixture_recorded("whole.fd", 0, NULL));
    OK(fixture_read("whole.fd", &bytes));
    STATUS(fd_chunks_open(&chunks, "absent.fd", FD_CHUNKS_ALL, &error),
           FD_EIO);
    SAME(error.text, "absent.fd: No such file or directory");
    STATUS(open_bytes(&chunks, &bytes, 0, &error), FD_EFORMAT);
    SAME(error.text, "part.fd: the file is empty");
    STATUS(open_bytes(&chunks, &bytes, 7, &error), FD_EFORMAT);
    SAME(error.text, "part.fd: not a fastdispatch recording");
    STATUS(fd_chunks_view(&chunks, bytes.bytes, 8, &error), FD_EFORMAT);
    HAS(error.text, "this recording: cut off");
    STATUS(open_bytes(&chunks, &bytes, FD_PAGE - 1, &error), FD_EFORMAT);
    HAS(error.text, "cut off within the header");
    fd_header *header = (fd_header *)bytes.bytes;
    header->version = FD_FILE_VERSION + 1;
    STATUS(open_bytes(&chunks, &bytes, bytes.size, &error), FD_EVERSION);
    SAME(error.text, "part.fd: version 2 of the format, this fastdispatch "
                     "reads up to 1: upgrade it");
    header->version = 0;
    STATUS(open_bytes(&chunks, &bytes, bytes.size, &error), FD_EFORMAT);
    SAME(error.text, "part.fd: the header is damaged");
    STATUS(fd_chunks_open(&chunks, ".", FD_CHUNKS_ALL, &error), FD_EIO);
}

ABSORBS(records_by_id)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    OK(fixture_train(&f, 0));
    const fd_file *file = &f.recording->file;
    OK(fd_chunks_view(&chunks, file->base, fixture_bytes(&f), NULL));
    EQUAL(chunks.damaged, 0);
    CHECK(!chunks.truncated && chunks.writer == FD_WRITER_LIVES);
    uint32_t node = f.recording->overflow_node;
    uint32_t count = f.recording->nodes.pool.count;
    uint32_t first = f.recording->folded_node;
    const fd_node *copy = fd_chunks_record(&chunks, FD_CHUNK_NODES, node);
    CHECK(copy != NULL && copy != fd_file_record(file, node));
    CHECK(memcmp(copy, fd_file_record(file, node), sizeof *copy) == 0);
    EQUAL(fd_chunks_index(&chunks, FD_CHUNK_NODES, first), 1);
    EQUAL(fd_chunks_index(&chunks, FD_CHUNK_NODES, node), 2);
    EQUAL(fd_chunks_index(&chunks, FD_CHUNK_NODES, first - 1), 0);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_NODES, first + count - 1)
          != NULL);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_NODES, first + count) == NULL);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_NODES, first - 1) == NULL);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_NODES, 0) == NULL);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_NODES, UINT32_MAX) == NULL);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_CONTEXTS, node) == NULL);
    uint32_t thread = fd_file_id(file, f.main->record);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_THREADS, thread) != NULL);
    CHECK(fd_chunks_record(&chunks, FD_CHUNK_THREADS, thread + 1) == NULL);
}

ABSORBS(strings_by_id)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    OK(fixture_train(&f, 0));
    const fd_file *file = &f.recording->file;
    OK(fd_chunks_view(&chunks, file->base, fixture_bytes(&f), NULL));
    uint32_t id = fd_strings_find(&f.recording->strings, "aten::mm", 8);
    const fd_string *string = fd_chunks_string(&chunks, id);
    CHECK(string != NULL);
    SAME(string->bytes, "aten::mm");
    CHECK(fd_chunks_string(&chunks, 0) == NULL);
    CHECK(fd_chunks_string(&chunks, f.recording->overflow_node * 8) == NULL);
    CHECK(fd_chunks_string(&chunks, UINT32_MAX) == NULL);
    fd_string *longer = (fd_string *)(file->base + (size_t)id * 8);
    const uint32_t sizes[] = {UINT32_MAX,
                              f.recording->strings.pool.chunk->used};
    for (int i = 0; i < 2; i++) {
        longer->size = sizes[i];
        SAME(fd_chunks_string(&chunks, id)->bytes, "aten::mm");
        fd_chunks_close(&chunks);
        OK(fd_chunks_view(&chunks, file->base, fixture_bytes(&f), NULL));
        CHECK(fd_chunks_string(&chunks, id) == NULL);
        longer->size = 8;
        fd_chunks_close(&chunks);
        OK(fd_chunks_view(&chunks, file->base, fixture_bytes(&f), NULL));
    }
}

/* A chunk of a kind that a later version adds is skipped, not damaged. */
TEST(unknown_kinds)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    fd_chunk *chunk;
    OK(fd_file_chunk(&f.recording->file, 77, 48, FD_PAGE, 0, &chunk));
    chunk->used = 3;
    OK(fd_chunks_view(&chunks, f.recording->file.base, fixture_bytes(&f),
                      NULL));
    EQUAL(chunks.damaged, 0);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < chunks.list.count; i++) {
        seen += chunks.list.list[i].header.kind == 77;
    }
    EQUAL(seen, 1);
}

/* A chunk that is damaged, cut off, or says it is longer than the file. */
TEST(damaged_chunks)
{
    FIXTURE(f, NULL, 4);
    OK(fixture_train(&f, 0));
    fd_chunk *hot = f.main->contexts.chunk;
    fd_chunk saved = *hot;
    fd_chunk wrong[] = {saved, saved, saved, saved, saved, saved};
    wrong[0].magic = 1;
    wrong[1].offset = 4096;
    wrong[2].bytes = 100;
    wrong[3].record_bytes = 0;
    wrong[3].kind = 99;
    wrong[4].record_bytes = 32;
    wrong[5].bytes = UINT64_MAX / 4096 * 4096;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
        *hot = wrong[i];
        OK(fd_chunks_view(&chunks, f.recording->file.base, fixture_bytes(&f),
                          NULL));
        EQUAL(chunks.damaged, saved.bytes / FD_PAGE);
        *hot = saved;
    }
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    hot->used = UINT32_MAX;
    OK(fd_chunks_view(&chunks, f.recording->file.base, saved.offset + 64 * 4,
                      NULL));
    CHECK(chunks.truncated);
    EQUAL(chunks.list.list[0].header.kind > 0, 1);
    for (uint32_t i = 0; i < chunks.list.count; i++) {
        if (chunks.list.list[i].header.offset == saved.offset) {
            EQUAL(chunks.list.list[i].used, 3);
        }
    }
}
