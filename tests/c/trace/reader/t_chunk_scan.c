#include "check.h"
#include "fixtures.h"

#include "trace/reader/file_chunks.h"
#include "trace/reader/recording_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A chunk of `count` events of one owner, numbered from `first`. */
static fd_chunk *
events(fixture *f, uint64_t first, uint32_t count)
{
    fd_chunk *chunk;
    if (fd_file_chunk(&f->recording->file, FD_CHUNK_EVENTS, sizeof(fd_event),
                      FD_PAGE, 5, &chunk)
        != FD_OK) {
        return NULL;
    }
    fd_event *event = fd_chunk_records(chunk);
    for (uint32_t i = 0; i < count; i++) {
        event[i].start = first + i;
    }
    chunk->first = first;
    chunk->used = count;
    return chunk;
}

static const fd_chunk_view *
view_of(const fd_chunks *chunks, uint32_t kind)
{
    for (uint32_t i = 0; i < chunks->list.count; i++) {
        if (chunks->list.list[i].header.kind == kind) {
            return &chunks->list.list[i];
        }
    }
    return NULL;
}

/* Events are read on request, and not if their owner has started to refill the
 * chunk. */
TEST(events_of_one_lap)
{
    FIXTURE(f, NULL, 4);
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    const void *records;
    fd_chunk *chunk = events(&f, 100, 10);
    CHECK(chunk != NULL);
    OK(fd_chunks_view(&chunks, f.recording->file.base, fixture_bytes(&f),
                      NULL));
    const fd_chunk_view *view = view_of(&chunks, FD_CHUNK_EVENTS);
    CHECK(view != NULL && view->records == NULL && view->used == 10);
    OK(fd_chunks_events(&chunks, view, &records));
    CHECK(records != NULL);
    EQUAL(((const fd_event *)records)[9].start, 109);
    chunk->used = 11;
    OK(fd_chunks_events(&chunks, view, &records));
    CHECK(records != NULL);
    chunk->used = 9;
    OK(fd_chunks_events(&chunks, view, &records));
    CHECK(records == NULL);
    chunk->used = 10;
    chunk->first = 200;
    OK(fd_chunks_events(&chunks, view, &records));
    CHECK(records == NULL);
}

/* Later changes of the file do not affect the records read. */
TEST(scanned_chunks_stay_valid)
{
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    const void *records;
    unlink("stays.fd");
    OK(fixture_recorded("stays.fd", 0, NULL));
    OK(fd_chunks_open(&chunks, "stays.fd", FD_CHUNKS_ALL, NULL));
    const fd_chunk_view *view = view_of(&chunks, FD_CHUNK_CONTEXTS);
    CHECK(view != NULL && view->used > 4);
    uint64_t calls = ((const fd_context *)view->records)[1].calls;
    CHECK(truncate("stays.fd", 0) == 0);
    EQUAL(((const fd_context *)view->records)[1].calls, calls);
    EQUAL(fd_chunks_header(&chunks)->version, FD_FILE_VERSION);
    fd_chunk_view gone = *view;
    OK(fd_chunks_events(&chunks, &gone, &records));
    CHECK(records == NULL);
}

/* Traces are made of figures only; other chunks are not read. */
TEST(only_selected_kinds)
{
    FIXTURE(f, "part.fd", 4);
    CLEAN(fd_chunks_close) fd_chunks chunks = {.fd = -1};
    fd_chunk *chunk;
    OK(fd_file_chunk(&f.recording->file, FD_CHUNK_OPERANDS, 8, FD_PAGE, 0,
                     &chunk));
    *(uint64_t *)fd_chunk_records(chunk) = 42;
    chunk->used = 1;
    OK(fd_chunks_open(&chunks, "part.fd", FD_CHUNKS_FIGURES, NULL));
    CHECK(view_of(&chunks, FD_CHUNK_OPERANDS)->records == NULL);
    CHECK(view_of(&chunks, FD_CHUNK_NODES)->records != NULL);
    fd_chunks_close(&chunks);
    OK(fd_chunks_open(&chunks, "part.fd", FD_CHUNKS_ALL, NULL));
    EQUAL(*(const uint64_t *)view_of(&chunks, FD_CHUNK_OPERANDS)->records, 42);
}

/* A sparse file of the largest size that says it is full of records. */
ONCE(longer_than_any)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    CLEAN(fixture_trace_free) fd_trace *trace = NULL;
    unlink("long.fd");
    OK(fixture_recorded("long.fd", 0, NULL));
    OK(fixture_read("long.fd", &bytes));
    fd_header *header = (fd_header *)bytes.bytes;
    header->file_bytes = header->max_bytes = UINT64_MAX;
    OK(fixture_write("long.fd", bytes.bytes, bytes.size));
    CHECK(truncate("long.fd", (off_t)3 << 30) == 0);
    OK(fd_reader_read(&trace, "long.fd", true, NULL));
    CHECK(fixture_find(trace, "aten::mm") != 0);
    CHECK(trace->ranks.list[0].notes.count > 0);
    fd_trace_free(trace);
    trace = NULL;
    CHECK(truncate("long.fd", 0) == 0);
}

/* A hostile process: it flips bits and replaces words of the file, truncates
 * and extends it, until it is killed. */
static void
rewrite_for_ever(const char *path, const fd_buffer *bytes)
{
    int fd = open(path, O_RDWR);
    uint32_t seed = 12345;
    for (;;) {
        seed = seed * 1664525 + 1013904223;
        off_t at = (off_t)(seed % bytes->size);
        uint64_t word = seed % 7 == 0 ? UINT64_MAX : seed % 5 == 0 ? 0 : seed;
        ssize_t done;
        if (seed >> 28 == 0) {
            done = ftruncate(fd, at);
        }
        else if (seed >> 28 < 5) {
            done = pwrite(fd, &word, sizeof word, at / 8 * 8);
        }
        else {
            done = pwrite(fd, bytes->bytes, bytes->size, 0);
        }
        if (done < 0) {
            _exit(1);
        }
    }
}

enum { READINGS = 2000 };

/* Read alternately as a trace with its timeline and as chunks, in any state of
 * the file: it must not crash. */
static bool
read_often(const char *path, uint32_t *good)
{
    for (int i = 0; i < READINGS; i++) {
        fd_trace *trace = NULL;
        fd_error error = {""};
        fd_status status = fd_reader_read(&trace, path, true, &error);
        if (status == FD_OK) {
            *good += 1;
            if (!fixture_sound(trace)) {
                fd_trace_free(trace);
                return false;
            }
            fd_trace_free(trace);
        }
        else if (error.text[0] == '\0') {
            return false;
        }
    }
    return true;
}

ONCE(rewritten_while_it_is_read)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    uint32_t good = 0;
    unlink("torn.fd");
    OK(fixture_recorded("torn.fd", 0, NULL));
    OK(fixture_read("torn.fd", &bytes));
    pid_t child = fork();
    if (child == 0) {
        rewrite_for_ever("torn.fd", &bytes);
    }
    bool sound = read_often("torn.fd", &good);
    bool lived = waitpid(child, NULL, WNOHANG) == 0;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(lived && sound);
    CHECK(good > READINGS / 20); /* most headers are invalid */
}
