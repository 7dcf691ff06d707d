#include "check.h"
#include "fixtures.h"

#include "streams/output_stream.h"

#include <string.h>
#include <unistd.h>

static fd_status
write_lines(const char *path, bool keep)
{
    fd_status status;
    fd_bytes_out *out = fd_bytes_out_open(path, &status, NULL);
    for (int i = 0; i < 50000 && status == FD_OK; i++) {
        fd_buffer_text(fd_bytes_out_text(out), "a line of text\n");
        status = fd_bytes_out_flow(out, NULL);
    }
    if (status == FD_OK && keep) {
        return fd_bytes_out_keep(out, NULL);
    }
    fd_bytes_out_drop(out);
    return status;
}

/* t_input_stream.c reads the contents. */
TEST(packed_the_same_each_time)
{
    CLEAN(fd_buffer_clear) fd_buffer one = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer two = {.bytes = NULL};
    OK(write_lines("one.gz", true));
    OK(write_lines("two.gz", true));
    OK(fixture_read("one.gz", &one));
    OK(fixture_read("two.gz", &two));
    CHECK(one.size < 10000 && one.size == two.size);
    CHECK(memcmp(one.bytes, two.bytes, one.size) == 0);
}

TEST(dropped)
{
    OK(write_lines("dropped.gz", false));
    CHECK(access("dropped.gz", F_OK) != 0);
}

TEST(unwritable_paths)
{
    fd_status status;
    fd_error error = {""};
    CHECK(fd_bytes_out_open("no/where", &status, &error) == NULL);
    STATUS(status, FD_EIO);
    SAME(error.text, "no/where: cannot write: No such file or directory");
}
