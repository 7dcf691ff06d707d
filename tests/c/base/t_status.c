#include "check.h"

#include <string.h>

TEST(every_status_has_a_name)
{
    for (int i = FD_OK; i <= FD_ECONFLICT; i++) {
        const char *name = fd_status_name((fd_status)i);
        CHECK(strcmp(name, "unknown status") != 0);
        for (int k = FD_OK; k < i; k++) {
            CHECK(strcmp(name, fd_status_name((fd_status)k)) != 0);
        }
    }
    SAME(fd_status_name((fd_status)99), "unknown status");
}

TEST(long_messages_are_cut)
{
    fd_error error;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    EQUAL(fd_fail(&error, FD_EIO, "%s", text), FD_EIO);
    EQUAL(strlen(error.text), sizeof error.text - 1);
}
