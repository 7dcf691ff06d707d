#include "check.h"
#include "fixtures.h"

#include "recording/recording_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An empty folder, the same for every run of a test. */
static fd_status
fresh(fd_folder *folder, const char *path)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", path);
    *folder = (fd_folder){.fd = -1};
    return system(command) == 0 ? fd_folder_open(folder, path, true, NULL)
                                : FD_EIO;
}

/* A finished recording, with a call or without. */
static fd_status
record(const char *path, bool called)
{
    fixture f;
    fd_status status = fixture_open(&f, path, 4);
    if (status == FD_OK && called) {
        fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
        status = check_refused() ? FD_ENOMEM : FD_OK;
    }
    if (status == FD_OK) {
        fixture_stop(&f);
    }
    fixture_clear(&f);
    return status;
}

/* The names in a folder, sorted, with commas. */
static const char *
names_in(const char *path)
{
    static char names[512];
    char command[128];
    snprintf(command, sizeof command, "ls -A %s | paste -sd, -", path);
    FILE *output = popen(command, "r");
    if (output == NULL || fgets(names, sizeof names, output) == NULL) {
        names[0] = '\0';
    }
    names[strcspn(names, "\n")] = '\0';
    if (output != NULL) {
        pclose(output);
    }
    return names;
}

ABSORBS(state_of_the_writer)
{
    CLEAN(fd_folder_close) fd_folder folder;
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    fd_writer writer;
    OK(fresh(&folder, "writers"));
    OK(fd_recording_lookup(&folder, "rank.fd", &writer, NULL));
    EQUAL(writer, FD_WRITER_NONE);
    OK(fixture_open(&f, "writers/rank.fd", 4));
    OK(fd_recording_lookup(&folder, "rank.fd", &writer, NULL));
    EQUAL(writer, FD_WRITER_LIVES);
    fd_recording_stop(f.recording, true);
    OK(fd_recording_lookup(&folder, "rank.fd", &writer, NULL));
    EQUAL(writer, FD_WRITER_LIVES); /* notes may follow */
    fd_file_finish(&f.recording->file);
    OK(fd_recording_lookup(&folder, "rank.fd", &writer, NULL));
    EQUAL(writer, FD_WRITER_GONE);
}

ABSORBS(the_last_recording_is_kept)
{
    CLEAN(fd_folder_close) fd_folder folder;
    CLEAN(fixture_clear) fixture f = {.recording = NULL};
    OK(fresh(&folder, "kept"));
    OK(record("kept/rank.fd", true));
    SAME(names_in("kept"), "rank.fd");
    OK(record("kept/rank.fd", false)); /* nothing was called in it */
    SAME(names_in("kept"), "rank.fd,rank.fd.previous");
    OK(record("kept/rank.fd", false));
    SAME(names_in("kept"), "rank.fd,rank.fd.previous");
    OK(fixture_open(&f, "kept/rank.fd", 4));
    fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    SAME(names_in("kept"), "rank.fd,rank.fd.previous");
    fixture_stop(&f);
    SAME(names_in("kept"), "rank.fd");
}

/* Other kinds of entries under each of the names are neither replaced nor
 * waited for, and the previous files stay. */
ABSORBS(other_entries_with_the_name)
{
    static const char *const names[] = {"rank.fd", "rank.fd.previous"};
    for (int name = 0; name < 2; name++) {
        for (int kind = 0; kind < 4; kind++) {
            CLEAN(fd_folder_close) fd_folder folder;
            char path[64];
            char before[512];
            OK(fresh(&folder, "way"));
            if (name != 0) {
                OK(record("way/rank.fd", true));
            }
            snprintf(path, sizeof path, "way/%s", names[name]);
            OK(fixture_write("outside", "precious", 8));
            if (kind == 0) {
                OK(fixture_write(path, "a diary", 7));
            }
            else {
                unlink(path);
                CHECK((kind == 1   ? mkfifo(path, 0600)
                       : kind == 2 ? symlink("../outside", path)
                                   : mkdir(path, 0700))
                      == 0);
            }
            strcpy(before, names_in("way"));
            STATUS(record("way/rank.fd", true), FD_EFORMAT);
            SAME(names_in("way"), before);
            CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
            OK(fixture_read("outside", &bytes));
            EQUAL(bytes.size, 8);
        }
    }
}

TEST(one_of_two_gets_the_name)
{
    CLEAN(fd_folder_close) fd_folder folder;
    CLEAN(fd_file_clear) fd_file one = {.fd = -1};
    CLEAN(fd_file_clear) fd_file two = {.fd = -1};
    fd_error error = {""};
    OK(fresh(&folder, "race"));
    OK(fd_file_begin(&one, &folder, "rank.fd", 1 << 20, NULL));
    OK(fd_file_begin(&two, &folder, "rank.fd", 1 << 20, NULL));
    OK(fd_file_publish(&two, NULL));
    STATUS(fd_file_publish(&one, &error), FD_ECONFLICT);
    SAME(error.text, "race/rank.fd: another running process records there");
    fd_file_clear(&one);
    SAME(names_in("race"), "rank.fd");
}

ABSORBS(moved_elsewhere)
{
    CLEAN(fd_folder_close) fd_folder here;
    CLEAN(fd_folder_close) fd_folder there;
    fd_error error = {""};
    OK(fresh(&here, "here"));
    OK(fresh(&there, "there"));
    OK(record("here/a.fd", true));
    OK(fd_recording_move(&here, "a.fd", &here, "b.fd", NULL));
    SAME(names_in("here"), "b.fd");
    OK(record("there/c.fd", true));
    OK(fd_recording_move(&here, "b.fd", &there, "c.fd", NULL));
    SAME(names_in("here"), "");
    SAME(names_in("there"), "c.fd");
    OK(record("here/a.fd", true));
    OK(fixture_write("there/c.fd", "a diary", 7));
    STATUS(fd_recording_move(&here, "a.fd", &there, "c.fd", &error),
           FD_EFORMAT);
    SAME(names_in("here"), "a.fd");
    STATUS(fd_recording_move(&here, "gone.fd", &there, "d.fd", &error),
           FD_EIO);
}

/* From a file system in memory to one on a disk, where the two differ. */
ABSORBS(moved_to_another_file_system)
{
    CLEAN(fd_folder_close) fd_folder here;
    CLEAN(fd_folder_close) fd_folder there;
    const char *other = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    char path[64];
    snprintf(path, sizeof path, "%s/fastdispatch-t_place", other);
    OK(fresh(&here, path));
    OK(fresh(&there, "/var/tmp/fastdispatch-t_place"));
    strcat(path, "/a.fd");
    OK(record(path, true));
    fd_status status = fd_recording_move(&here, "a.fd", &there, "b.fd", NULL);
    bool moved = access(path, F_OK) != 0;
    bool whole =
        strcmp(names_in("/var/tmp/fastdispatch-t_place"), "b.fd") == 0;
    fd_folder_close(&there);
    OK(fresh(&there, "/var/tmp/fastdispatch-t_place"));
    OK(status);
    CHECK(moved && whole);
}

static int
answer(const char *path)
{
    int fd = open(path, O_RDONLY);
    bool called = fd_has_call(fd);
    if (fd >= 0) {
        close(fd);
    }
    return called;
}

/* The root of a thread is not a call: it always exists. */
ABSORBS(one_call_is_enough)
{
    FIXTURE(f, "none.fd", 4);
    f.main->root->calls = 1;
    EQUAL(answer("none.fd"), false);
    fd_context *context =
        fixture_enter_node(f.main, fixture_node(&f, FD_NODE_OP, "op"));
    EQUAL(answer("none.fd"), true);
    context->calls = 0;
    EQUAL(answer("none.fd"), false);
    context->resumes = 1;
    EQUAL(answer("none.fd"), true);
}

/* Only in another block of contexts than the first. */
ABSORBS(in_a_later_block)
{
    FIXTURE(f, "later.fd", 4);
    fd_context *last = NULL;
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "op_%d", i);
        fd_callee callee = {fixture_node(&f, FD_NODE_OP, name), 0, 0};
        last = fd_tree_child(f.main, f.main->root, &callee);
    }
    EQUAL(answer("later.fd"), false);
    last->calls = 1;
    EQUAL(answer("later.fd"), true);
}

TEST(damaged_files_end)
{
    CLEAN(fd_buffer_clear) fd_buffer bytes = {.bytes = NULL};
    OK(fixture_recorded("whole.fd", 0, NULL));
    EQUAL(answer("whole.fd"), true);
    OK(fixture_read("whole.fd", &bytes));
    OK(fixture_write("cut.fd", bytes.bytes, FD_PAGE + 10));
    EQUAL(answer("cut.fd"), false);
    for (size_t at = FD_PAGE; at + sizeof(fd_chunk) <= bytes.size;
         at += FD_PAGE) {
        fd_chunk *chunk = (fd_chunk *)(bytes.bytes + at);
        chunk->bytes = at % (2 * FD_PAGE) == 0 ? 0 : UINT64_MAX;
    }
    OK(fixture_write("wild.fd", bytes.bytes, bytes.size));
    EQUAL(answer("wild.fd"), false);
    EQUAL(answer("absent.fd"), true);
}
