#include "check.h"
#include "fixtures.h"

#include "base/new_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

TEST(appears_complete)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_new_file file;
    char before[8] = "";
    OK(fixture_write("kept", "old", 3));
    CLEAN(check_close) int reader = open("kept", O_RDONLY);
    OK(fd_new_file_open(&file, "kept", NULL));
    OK(fd_new_file_write(&file, "new ", 4, NULL));
    fd_status read = fixture_read("kept", &text);
    bool old = text.size == 3;
    OK(fd_new_file_write(&file, "text", 4, NULL));
    OK(fd_new_file_keep(&file, NULL));
    EQUAL(pread(reader, before, sizeof before, 0), 3);
    OK(read);
    CHECK(old);
    text.size = 0;
    OK(fixture_read("kept", &text));
    EQUAL(text.size, 8);
    CHECK(access(file.temporary, F_OK) != 0);
}

TEST(leaves_nothing)
{
    fd_new_file file;
    OK(fd_new_file_open(&file, "dropped", NULL));
    fd_new_file_drop(&file);
    CHECK(access("dropped", F_OK) != 0 && access(file.temporary, F_OK) != 0);
}

TEST(reports_the_reason)
{
    static char endless[5000];
    fd_new_file file;
    fd_error error = {""};
    memset(endless, 'x', sizeof endless - 1);
    STATUS(fd_new_file_open(&file, "no/where", &error), FD_EIO);
    SAME(error.text, "no/where: cannot write: No such file or directory");
    STATUS(fd_new_file_open(&file, endless, &error), FD_EIO);
    STATUS(fd_new_file_open(&file, "/dev/full/x", NULL), FD_EIO);
    STATUS(fd_new_file_open(&file, ".", &error), FD_EIO);
    SAME(error.text, ".: cannot write: Is a directory");
    STATUS(fd_new_file_open(&file, "/dev/null", &error), FD_EIO);
    SAME(error.text, "/dev/null: cannot write: not a regular file");
}
