#include "check.h"

#include "base/buffer.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is(const fd_buffer *buffer, const char *text)
{
    return buffer->size == strlen(text)
        && memcmp(buffer->bytes, text, buffer->size) == 0;
}

static void
formats_are_bounded(void)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    char text[3000];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fd_buffer_format(&b, "%s-%d", "a", 5);
    OK(b.status);
    CHECK(is(&b, "a-5"));
    fd_buffer_format(&b, "%s", text);
    OK(b.status);
    EQUAL(b.size, 3 + 1023);
}

static void
json_strings(void)
{
    static const struct {
        const char *text;
        size_t size;
        const char *json;
    } cases[] = {
        {"", 0, "\"\""},
        {"a\"b\\c\n\t", 7, "\"a\\\"b\\\\c\\n\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
        {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9,
         "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"a\xFFz", 3, "\"a\xEF\xBF\xBDz\""},
        {"\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {"</script>", 9, "\"</script>\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
        fd_buffer_json(&b, cases[i].text, cases[i].size);
        OK(b.status);
        CHECK(is(&b, cases[i].json));
    }
}

static void
failure_is_remembered(void)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    fd_error error = {""};
    b.status = FD_ENOMEM;
    fd_buffer_text(&b, "lost");
    EQUAL(b.size, 0);
    EQUAL(fd_buffer_save(&b, "never", &error), FD_ENOMEM);
    SAME(error.text, "never: out of memory");
    CHECK(access("never", F_OK) != 0);
}

static bool
file_is(const char *path, const char *text)
{
    char got[64] = "";
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    size_t size = fread(got, 1, sizeof got - 1, file);
    fclose(file);
    return size == strlen(text) && memcmp(got, text, size) == 0;
}

static int
files_in(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = -2; /* . and .. */
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return count;
}

static void
save_replaces_at_once(void)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    mkdir("saved", 0777);
    fd_buffer_text(&b, "one");
    OK(fd_buffer_save(&b, "saved/file", NULL));
    CHECK(file_is("saved/file", "one"));
    FILE *reader = fopen("saved/file", "rb");
    CHECK(reader != NULL);
    fd_buffer_text(&b, " two");
    fd_status status = fd_buffer_save(&b, "saved/file", NULL);
    char old[8] = "";
    size_t size = fread(old, 1, sizeof old - 1, reader);
    fclose(reader);
    OK(status);
    CHECK(size == 3 && strcmp(old, "one") == 0);
    CHECK(file_is("saved/file", "one two"));
    EQUAL(files_in("saved"), 1);
}

/* A failed write leaves no temporary file and reports the path. */
static void
save_fails_cleanly(void)
{
    CLEAN(fd_buffer_clear) fd_buffer b = {.bytes = NULL};
    fd_error error = {""};
    fd_buffer_text(&b, "one");
    OK(b.status);
    STATUS(fd_buffer_save(&b, "absent/file", &error), FD_EIO);
    CHECK(strstr(error.text, "absent/file: cannot write") != NULL);
    mkdir("taken", 0777);
    mkdir("taken/file", 0777);
    STATUS(fd_buffer_save(&b, "taken/file", &error), FD_EIO);
    EQUAL(files_in("taken"), 1);
    char long_path[5000];
    memset(long_path, 'p', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    STATUS(fd_buffer_save(&b, long_path, &error), FD_EIO);
    STATUS(fd_buffer_save(&b, "/dev/full/x", NULL), FD_EIO);
}

RUN(TEST(formats_are_bounded), TEST(json_strings), TEST(failure_is_remembered),
    TEST(save_replaces_at_once), TEST(save_fails_cleanly))
