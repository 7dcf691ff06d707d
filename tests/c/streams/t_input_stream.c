#include "check.h"
#include "fixtures.h"

#include "base/budget.h"
#include "streams/input_stream.h"
#include "streams/output_stream.h"
#include "streams/zlib_memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Lines "0\n" to "<count - 1>\n". */
static void
numbers(fd_buffer *to, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fd_buffer_u64(to, i);
        fd_buffer_text(to, "\n");
    }
}

static fd_status
packed(const char *path, const fd_buffer *text)
{
    fd_status status;
    fd_bytes_out *out = fd_bytes_out_open(path, &status, NULL);
    if (out != NULL) {
        fd_buffer_bytes(fd_bytes_out_text(out), text->bytes, text->size);
        status = fd_bytes_out_keep(out, NULL);
    }
    return status;
}

/* Read all of it through the window. */
static fd_status
drain(fd_bytes_in *in, fd_buffer *to)
{
    do {
        fd_buffer_bytes(to, in->at, (size_t)(in->end - in->at));
        in->at = in->end;
    } while (fd_bytes_in_more(in));
    return in->status != FD_OK ? in->status : to->status;
}

TEST(plain_and_packed_are_the_same)
{
    static const char *const paths[] = {"plain", "packed.gz"};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    numbers(&text, 100000);
    OK(text.status);
    OK(fixture_write("plain", text.bytes, text.size));
    OK(packed("packed.gz", &text));
    for (size_t i = 0; i < 2; i++) {
        CLEAN(fd_bytes_in_close) fd_bytes_in in;
        CLEAN(fd_buffer_clear) fd_buffer got = {.bytes = NULL};
        OK(fd_bytes_in_open(&in, paths[i], NULL));
        OK(drain(&in, &got));
        EQUAL(got.size, text.size);
        CHECK(memcmp(got.bytes, text.bytes, text.size) == 0);
        EQUAL(fd_bytes_in_offset(&in, in.end), text.size);
        EQUAL(in.read, in.size);
        CHECK(in.trouble == NULL);
    }
}

/* Kept bytes stay at their offset; the window grows for them, up to a
 * bound. */
TEST(keeps_required_bytes)
{
    CLEAN(fd_bytes_in_close) fd_bytes_in in;
    FILE *file = fopen("large", "wb");
    CHECK(file != NULL);
    bool written = fseek(file, FD_BYTES_IN_MOST + 100, SEEK_SET) == 0
                && fputc('x', file) == 'x';
    CHECK(fclose(file) == 0 && written);
    OK(fd_bytes_in_open(&in, "large", NULL));
    while (fd_bytes_in_more(&in)) {
    }
    OK(in.status);
    EQUAL(in.end - in.at, FD_BYTES_IN_MOST);
    CHECK(!in.ended);
    in.at += 200;
    CHECK(fd_bytes_in_more(&in));
    EQUAL(fd_bytes_in_offset(&in, in.at), 200);
    EQUAL(in.end[-1], 'x');
    EQUAL(fd_bytes_in_offset(&in, in.end), FD_BYTES_IN_MOST + 101);
}

TEST(damaged_gzip)
{
    static const struct {
        size_t cut; /* bytes from the end */
        size_t flip;
        const char *trouble;
    } cases[] = {
        {0, 0, ""},
        {4, 0, "the gzip data is cut short"},
        {50, 0, "the gzip data is cut short"},
        {0, 6, "the gzip data is corrupt"},
        {0, 400, "the gzip data is corrupt"},
    };
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    numbers(&text, 5000);
    OK(text.status);
    OK(packed("whole.gz", &text));
    OK(fixture_read("whole.gz", &file));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_bytes_in_close) fd_bytes_in in;
        CLEAN(fd_buffer_clear) fd_buffer got = {.bytes = NULL};
        size_t at = file.size - cases[i].flip;
        file.bytes[at - (cases[i].flip == 0)] ^= cases[i].flip > 0 ? 0x55 : 0;
        OK(fixture_write("damaged.gz", file.bytes, file.size - cases[i].cut));
        file.bytes[at - (cases[i].flip == 0)] ^= cases[i].flip > 0 ? 0x55 : 0;
        OK(fd_bytes_in_open(&in, "damaged.gz", NULL));
        OK(drain(&in, &got));
        SAME(in.trouble != NULL ? in.trouble : "", cases[i].trouble);
        CHECK(got.size <= text.size);
        CHECK(got.size == 0
              || memcmp(got.bytes, text.bytes, got.size / 2) == 0);
    }
}

/* A kilobyte that unpacks to a megabyte. */
TEST(endless_gzip)
{
    static unsigned char text[1 << 20];
    static unsigned char packed_text[1 << 12];
    CLEAN(fd_bytes_in_close) fd_bytes_in in = {.fd = -1};
    CLEAN(fd_buffer_clear) fd_buffer got = {.bytes = NULL};
    fd_error error = {""};
    z_stream stream = fd_zlib_stream();
    OK(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, 0) == Z_OK
           ? FD_OK
           : FD_ENOMEM);
    stream.next_in = text;
    stream.avail_in = sizeof text;
    stream.next_out = packed_text;
    stream.avail_out = sizeof packed_text;
    EQUAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    OK(fixture_write("endless.gz", packed_text, stream.total_out));
    fd_budget_shrink(1 << 18);
    OK(fd_bytes_in_open(&in, "endless.gz", &error));
    fd_status status = drain(&in, &got);
    fd_budget_shrink(0);
    STATUS(status, FD_EFORMAT);
    CHECK(got.size <= 1 << 19);
    SAME(error.text,
         "endless.gz: the gzip data unpacks to more than 500 times its size");
}

/* Programs append members; tapes are padded with zeros. */
TEST(members_of_gzip)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer file = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer got = {.bytes = NULL};
    CLEAN(fd_bytes_in_close) fd_bytes_in in;
    numbers(&text, 10);
    OK(text.status);
    OK(packed("one.gz", &text));
    OK(fixture_read("one.gz", &file));
    OK(fixture_read("one.gz", &file));
    fd_buffer_bytes(&file, "\0\0\0", 3);
    OK(file.status);
    OK(fixture_write("two.gz", file.bytes, file.size));
    OK(fd_bytes_in_open(&in, "two.gz", NULL));
    OK(drain(&in, &got));
    EQUAL(got.size, 2 * text.size);
    CHECK(in.trouble == NULL);
}

TEST(finds_across_windows)
{
    static const char *const wanted[] = {"\"absent\"", "\"there\""};
    static const size_t places[] = {0, (1 << 18) - 3, (1 << 18) + 70000};
    for (size_t i = 0; i < 3; i++) {
        CLEAN(fd_bytes_in_close) fd_bytes_in in;
        CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
        while (text.size < places[i] && text.status == FD_OK) {
            fd_buffer_text(&text, "x");
        }
        fd_buffer_text(&text, "\"there\", and more");
        OK(text.status);
        OK(fixture_write("find", text.bytes, text.size));
        OK(fd_bytes_in_open(&in, "find", NULL));
        bool absent = fd_bytes_in_find(&in, wanted, 1);
        OK(in.status);
        CHECK(!absent);
        fd_bytes_in_close(&in);
        OK(fd_bytes_in_open(&in, "find", NULL));
        bool there = fd_bytes_in_find(&in, wanted, 2);
        OK(in.status);
        CHECK(there);
    }
}

TEST(missing_files)
{
    CLEAN(fd_bytes_in_close) fd_bytes_in in;
    fd_error error;
    STATUS(fd_bytes_in_open(&in, "absent", &error), FD_EIO);
    SAME(error.text, "absent: No such file or directory");
    STATUS(fd_bytes_in_open(&in, "/dev/null", &error), FD_EIO);
    SAME(error.text, "/dev/null: not a regular file");
}
