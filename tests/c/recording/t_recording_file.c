#include "fixtures.h"

#include "recording/recording_file.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MB = 1024 * 1024 };

TEST(bound_is_counted)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fixture_file_create(&file, NULL, 4 * FD_PAGE, NULL));
    fd_chunk *chunk;
    OK(fd_file_chunk(&file, FD_CHUNK_META, 8, 2 * FD_PAGE, 0, &chunk));
    STATUS(fd_file_chunk(&file, FD_CHUNK_META, 8, 2 * FD_PAGE, 0, &chunk),
           FD_EFULL);
    EQUAL(fd_file_header(&file)->counters[FD_COUNT_DISK_FULL], 1);
    EQUAL(fd_file_header(&file)->file_bytes, 3 * FD_PAGE);
    OK(fd_file_chunk(&file, FD_CHUNK_META, 8, FD_PAGE, 0, &chunk));
}

/* No room for the header: no file remains. */
TEST(full_from_the_start)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit none = {0, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    fd_error error = {""};
    fd_status status = fixture_file_create(&file, "none.fd", MB, &error);
    setrlimit(RLIMIT_FSIZE, &old);
    STATUS(status, FD_EFULL);
    SAME(error.text, "none.fd: no space left on the disk");
    CHECK(access("none.fd", F_OK) != 0);
}

TEST(cannot_create)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    fd_error error = {""};
    STATUS(fixture_file_create(&file, "absent/a.fd", MB, &error), FD_EIO);
    HAS(error.text, "absent/a.fd: cannot create");
    CHECK(file.base == NULL && file.path == NULL);
}

/* After the end, stores of a late thread do not reach the file. */
TEST(finish_keeps_content)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fixture_file_create(&file, "done.fd", MB, NULL));
    fd_chunk *chunk;
    OK(fd_file_chunk(&file, FD_CHUNK_META, 8, FD_PAGE, 0, &chunk));
    memcpy(fd_chunk_records(chunk), "12345678", 8);
    fd_file_finish(&file);
    EQUAL(file.fd, -1);
    struct stat info;
    CHECK(stat("done.fd", &info) == 0);
    EQUAL(info.st_size, 2 * FD_PAGE);
    file.base[2 * FD_PAGE] = 'x';
    memcpy(fd_chunk_records(chunk), "late", 4);
    CHECK(memcmp(fd_chunk_records(chunk), "late5678", 8) == 0);
    OK(fd_file_chunk(&file, FD_CHUNK_META, 8, FD_PAGE, 0, &chunk));
    CHECK(stat("done.fd", &info) == 0);
    EQUAL(info.st_size, 2 * FD_PAGE);
    fd_header header;
    int fd = open("done.fd", O_RDONLY);
    EQUAL(pread(fd, &header, sizeof header, 0), sizeof header);
    close(fd);
    EQUAL(header.file_bytes, 2 * FD_PAGE); /* and does not say otherwise */
}

static bool
file_starts_with(const char *path, const char *text)
{
    char head[8] = "";
    int fd = open(path, O_RDONLY);
    bool same =
        fd >= 0 && pread(fd, head, 8, 0) == 8 && memcmp(head, text, 8) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return same;
}

/* A forked child detaches: its stores do not reach the file, and its parent
 * keeps the lock. */
TEST(detach_in_a_child)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    CLEAN(fd_file_clear) fd_file other = {.fd = -1};
    OK(fixture_file_create(&file, "forked.fd", MB, NULL));
    pid_t child = fork();
    if (child == 0) {
        fd_file_detach(&file);
        bool zero = file.base[0] == 0;
        memcpy(file.base, "childish", 8);
        _exit(zero ? 0 : 1);
    }
    int result = -1;
    waitpid(child, &result, 0);
    EQUAL(result, 0);
    CHECK(file_starts_with("forked.fd", FD_FILE_MAGIC));
    STATUS(fixture_file_create(&other, "forked.fd", MB, NULL), FD_ECONFLICT);
}

/* In a separate process: record, fork, and report the pid of the child after
 * it has detached. Both wait to be killed. */
static void
record_and_fork(const char *path, int tell)
{
    fd_file file;
    if (fixture_file_create(&file, path, MB, NULL) != FD_OK) {
        _exit(1);
    }
    if (fork() == 0) {
        pid_t own = getpid();
        fd_file_detach(&file);
        _exit(write(tell, &own, sizeof own) == sizeof own ? pause() : 1);
    }
    _exit(pause());
}

/* A forked child that outlives its parent is not a writer. */
ONCE(killed_while_a_child_lives)
{
    int pipes[2];
    pid_t child = 0;
    fd_writer before;
    fd_writer after;
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    OK(fd_folder_open(&folder, ".", false, NULL));
    CHECK(pipe(pipes) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        record_and_fork("orphaned.fd", pipes[1]);
    }
    EQUAL(read(pipes[0], &child, sizeof child), sizeof child);
    OK(fd_recording_lookup(&folder, "orphaned.fd", &before, NULL));
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    OK(fd_recording_lookup(&folder, "orphaned.fd", &after, NULL));
    bool lives = kill(child, SIGKILL) == 0;
    close(pipes[0]);
    close(pipes[1]);
    EQUAL(before, FD_WRITER_LIVES);
    EQUAL(after, FD_WRITER_GONE);
    CHECK(lives);
}

/* The number of a closed descriptor may be that of a file of the program's: it
 * keeps its length and stays open, and recording continues. */
ONCE(descriptors_are_closed)
{
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    struct stat info;
    fd_chunk *chunk;
    OK(fixture_file_create(&file, "closed.fd", MB, NULL));
    int theirs = open("theirs", O_RDWR | O_CREAT | O_TRUNC, 0600);
    int taken[3] = {file.fd, file.folder.fd, -1};
    dup2(theirs, file.fd);
    dup2(theirs, file.folder.fd);
    OK(fd_file_chunk(&file, FD_CHUNK_META, 8, FD_PAGE, 0, &chunk));
    taken[2] = file.fd;
    dup2(theirs, file.fd);
    fd_file_finish(&file);
    fd_writer writer = FD_WRITER_NONE;
    fd_header header;
    int reader = open("closed.fd", O_RDONLY);
    writer = fd_writer_of(reader, &header);
    close(reader);
    close(theirs);
    for (int i = 0; i < 3; i++) {
        EQUAL(close(taken[i]), 0); /* it is open still */
    }
    EQUAL(writer, FD_WRITER_GONE);
    EQUAL(header.file_bytes, 2 * FD_PAGE);
    CHECK(stat("theirs", &info) == 0);
    EQUAL(info.st_size, 0);
    CHECK(stat("closed.fd", &info) == 0);
    EQUAL(info.st_size, 2 * FD_PAGE);
}

/* A file is not visible before it is complete, and an incomplete one is
 * removed. */
TEST(published_at_once)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    OK(fd_folder_open(&folder, ".", false, NULL));
    unlink("whole.fd");
    OK(fd_file_begin(&file, &folder, "whole.fd", MB, NULL));
    CHECK(access("whole.fd", F_OK) != 0);
    char temporary[NAME_MAX + 1];
    strcpy(temporary, file.temporary);
    CHECK(access(temporary, F_OK) == 0);
    fd_file_clear(&file);
    CHECK(access(temporary, F_OK) != 0);
    OK(fd_file_begin(&file, &folder, "whole.fd", MB, NULL));
    OK(fd_file_publish(&file, NULL));
    CHECK(file_starts_with("whole.fd", FD_FILE_MAGIC));
    SAME(file.path, "whole.fd");
}

TEST(saved_from_memory)
{
    CLEAN(fd_folder_close) fd_folder folder = {.fd = -1};
    CLEAN(fd_file_clear) fd_file file = {.fd = -1};
    fd_chunk *chunk;
    struct stat info;
    OK(fd_folder_open(&folder, ".", false, NULL));
    OK(fixture_file_create(&file, NULL, MB, NULL));
    OK(fd_file_chunk(&file, FD_CHUNK_META, 8, FD_PAGE, 0, &chunk));
    OK(fd_file_save(&file, &folder, "saved.fd", NULL));
    CHECK(stat("saved.fd", &info) == 0);
    EQUAL(info.st_size, 2 * FD_PAGE);
    CHECK(file_starts_with("saved.fd", FD_FILE_MAGIC));
    mkfifo("saved.fifo", 0600);
    STATUS(fd_file_save(&file, &folder, "saved.fifo", NULL), FD_EIO);
}
