#include "check.h"
#include "fixtures.h"

#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static mode_t
mode_of(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 ? info.st_mode & 07777 : 0;
}

TEST(created_with_parents)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    fd_error error = {""};
    umask(022);
    OK(fd_folder_open(&folder, "made/of//parts/", true, &error));
    EQUAL(mode_of("made/of/parts"), 0755);
    fd_folder_close(&folder);
    OK(fd_folder_open(&folder, "made/of/parts", false, &error));
    fd_folder_close(&folder);
    STATUS(fd_folder_open(&folder, "made/not", false, &error), FD_EIO);
    SAME(error.text,
         "made/not: cannot open the directory: No such file or directory");
    OK(fixture_write("file", "", 0));
    STATUS(fd_folder_open(&folder, "file/below", true, &error), FD_EIO);
    SAME(error.text, "file/below: cannot make the directory: Not a directory");
}

/* Folders and files have at most the permissions of their parent folder, less
 * the umask; other users of a shared folder (like /tmp) have no access. */
TEST(permissions)
{
    static const struct {
        mode_t folder;
        mode_t umask;
        bool is_private;
        mode_t file;
    } cases[] = {
        {0700, 022, true, 0600},  {0755, 022, true, 0644},
        {0755, 077, true, 0600},  {0750, 022, true, 0640},
        {0770, 002, true, 0660},  {0775, 022, true, 0644},
        {01777, 022, true, 0600}, {01777, 022, false, 0644},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
        int fd;
        unlink("rights/new");
        rmdir("rights/below");
        rmdir("rights");
        umask(0);
        CHECK(mkdir("rights", 0777) == 0
              && chmod("rights", cases[i].folder) == 0);
        umask(cases[i].umask);
        fd_status opened = fd_folder_open(&folder, "rights", false, NULL);
        if (opened == FD_OK) {
            opened = fd_folder_create(&folder, "new", cases[i].is_private, &fd,
                                      NULL);
            close(fd);
        }
        umask(022);
        OK(opened);
        EQUAL(mode_of("rights/new"), cases[i].file);
    }
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    OK(fd_folder_open(&folder, "rights/below", true, NULL));
    EQUAL(mode_of("rights/below"), 0700); /* of the last case: shared */
}

/* Each of these once blocked, or was followed. */
TEST(not_regular_files)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    fd_error error = {""};
    int fd;
    OK(fd_folder_open(&folder, "strange", true, NULL));
    mkfifo("strange/fifo", 0600);
    mkdir("strange/folder", 0700);
    OK(fixture_write("outside", "content", 7));
    CHECK(symlink("../outside", "strange/link") == 0 || errno == EEXIST);
    CHECK(symlink("nowhere", "strange/dangling") == 0 || errno == EEXIST);
    CHECK(symlink("/dev/zero", "strange/device") == 0 || errno == EEXIST);
    static const char *const names[] = {"fifo", "folder", "link", "dangling",
                                        "device"};
    for (int i = 0; i < 5; i++) {
        for (int flags = O_RDONLY; flags <= O_RDWR; flags++) {
            STATUS(fd_folder_file(&folder, names[i], flags, &fd, &error),
                   FD_EFORMAT);
            EQUAL(fd, -1);
            HAS(error.text, "not a regular file");
        }
        STATUS(fd_folder_create(&folder, names[i], true, &fd, NULL),
               FD_ECONFLICT);
    }
    OK(fd_folder_file(&folder, "absent", O_RDONLY, &fd, &error));
    EQUAL(fd, -1);
    CHECK(access("strange/nowhere", F_OK) != 0);
}

TEST(names_that_lead_elsewhere)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    static const char *const names[] = {"",           ".",           "..",
                                        "../outside", "/etc/passwd", "a/b"};
    int fd;
    OK(fd_folder_open(&folder, "plain", true, NULL));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK(!fd_folder_is_name(names[i]));
        STATUS(fd_folder_file(&folder, names[i], O_RDONLY, &fd, NULL),
               FD_EINVAL);
    }
    CHECK(fd_folder_is_name("rank00000.fd"));
}

TEST(renames)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    OK(fd_folder_open(&folder, "renames", true, NULL));
    OK(fixture_write("renames/a", "a", 1));
    OK(fixture_write("renames/b", "b", 1));
    unlink("renames/c");
    STATUS(fd_folder_rename(&folder, "a", &folder, "b", false, NULL),
           FD_ECONFLICT);
    OK(fd_folder_rename(&folder, "a", &folder, "c", false, NULL));
    OK(fd_folder_rename(&folder, "c", &folder, "b", true, NULL));
    CHECK(access("renames/a", F_OK) != 0 && access("renames/c", F_OK) != 0);
    fd_folder_remove(&folder, "b");
    CHECK(access("renames/b", F_OK) != 0);
}

/* Low descriptor numbers are left to the program. */
TEST(descriptors_are_high)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    struct rlimit old;
    OK(fd_folder_open(&folder, ".", false, NULL));
    CHECK(folder.fd >= 200);
    CHECK((fcntl(folder.fd, F_GETFD) & FD_CLOEXEC) != 0);
    getrlimit(RLIMIT_NOFILE, &old);
    struct rlimit few = {64, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    int fd = fd_high(open(".", O_RDONLY));
    setrlimit(RLIMIT_NOFILE, &old);
    CHECK(fd >= 32 && fd < 64);
    close(fd);
    EQUAL(fd_high(-1), -1);
}

/* A program that becomes a daemon closes all descriptors; the number may then
 * belong to another file. */
TEST(closed_by_the_program)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    int fd = -1;
    OK(fd_folder_open(&folder, "kept", true, NULL));
    int number = folder.fd;
    close(number);
    int theirs = open("/dev/null", O_RDONLY);
    EQUAL(dup2(theirs, number), number);
    CHECK(fd_folder_check(&folder));
    CHECK(folder.fd != number);
    fd_status made = fd_folder_create(&folder, "new", true, &fd, NULL);
    close(fd);
    unlink("kept/new");
    OK(made);
    close(folder.fd);
    EQUAL(dup2(theirs, folder.fd), folder.fd);
    CHECK(rename("kept", "moved") == 0);
    number = folder.fd;
    CHECK(!fd_folder_check(&folder));
    CHECK(fcntl(number, F_GETFD) >= 0); /* belongs to the program */
    close(number);
    close(theirs);
    CHECK(rename("moved", "kept") == 0);
}

TEST(reading_by_a_path)
{
    fd_error error = {""};
    struct stat info;
    int fd;
    OK(fixture_write("text", "twelve bytes", 12));
    CHECK(symlink("text", "to_text") == 0 || errno == EEXIST);
    OK(fd_open_to_read("to_text", &fd, &info, &error));
    char text[16] = "";
    EQUAL(fd_read_at(fd, text, 16, 7), 5);
    SAME(text, "bytes");
    EQUAL(fd_read_at(fd, text, 16, 100), 0);
    close(fd);
    mkfifo("pipe", 0600);
    STATUS(fd_open_to_read("pipe", &fd, &info, &error), FD_EIO);
    SAME(error.text, "pipe: not a regular file");
    STATUS(fd_open_to_read("/dev/zero", &fd, &info, &error), FD_EIO);
    STATUS(fd_open_to_read(".", &fd, &info, &error), FD_EIO);
    SAME(error.text, ".: Is a directory");
    STATUS(fd_open_to_read("absent", &fd, &info, &error), FD_EIO);
    SAME(error.text, "absent: No such file or directory");
}
