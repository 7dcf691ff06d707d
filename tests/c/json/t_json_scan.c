#include "check.h"

#include "json/json_scan.h"

#include <string.h>

TEST(values)
{
    static const struct {
        const char *text;
        fd_scan_result result;
        const char *copy; /* NULL: unchanged */
    } cases[] = {
        {"1 ", FD_SCAN_OK, NULL},
        {"-0.5e+10,", FD_SCAN_OK, NULL},
        {"9007199254740993123,", FD_SCAN_OK, NULL},
        {"\"a \\\" \\\\ \\u0000 \\ud800 \xC3\xA9 long enough for words\"",
         FD_SCAN_OK, NULL},
        {"[]", FD_SCAN_OK, NULL},
        {"{ }", FD_SCAN_OK, NULL},
        {" {\"a\" : [1, {\"b\":null}, true ,false] }", FD_SCAN_OK, NULL},
        {"[\r\n1]", FD_SCAN_OK, NULL},
        {"[NaN,Infinity,-Infinity,nan,-inf]", FD_SCAN_OK,
         "[null,null,null,null,null]"},
        {"{\"a\":\"x\ny\"}", FD_SCAN_OK, "{\"a\":\"x\\u000ay\"}"},
        {"\"C:\\dir\\u12 xyz\"", FD_SCAN_OK, "\"C:\\\\dir\\\\u12 xyz\""},
        {"\"\xFF and more\"", FD_SCAN_OK, "\"\xEF\xBF\xBD and more\""},
        {"", FD_SCAN_CUT, NULL},
        {"12", FD_SCAN_CUT, NULL},
        {"-", FD_SCAN_CUT, NULL},
        {"\"open", FD_SCAN_CUT, NULL},
        {"\"open\\", FD_SCAN_CUT, NULL},
        {"\"open\\u00", FD_SCAN_CUT, NULL},
        {"\"open\xC3", FD_SCAN_CUT, NULL},
        {"[1,", FD_SCAN_CUT, NULL},
        {"{\"a\"", FD_SCAN_CUT, NULL},
        {"tru", FD_SCAN_CUT, NULL},
        {"01,", FD_SCAN_OK, "0"},
        {"1.,", FD_SCAN_BAD, NULL},
        {"1e,", FD_SCAN_BAD, NULL},
        {"-x,", FD_SCAN_BAD, NULL},
        {"-true,", FD_SCAN_BAD, NULL},
        {"trux,", FD_SCAN_BAD, NULL},
        {"[1 2]", FD_SCAN_BAD, NULL},
        {"[1,]", FD_SCAN_BAD, NULL},
        {"[1}", FD_SCAN_BAD, NULL},
        {"{1:2}", FD_SCAN_BAD, NULL},
        {"{\"a\" 2}", FD_SCAN_BAD, NULL},
        {"}", FD_SCAN_BAD, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_scan_clear) fd_scan scan = {.at = NULL};
        CLEAN(fd_buffer_clear) fd_buffer copy = {.bytes = NULL};
        const char *text = cases[i].text;
        fd_scan_begin(&scan, text, text + strlen(text));
        fd_scan_result result = fd_scan_value(&scan);
        if (check_refused()) {
            return;
        }
        EQUAL(result, cases[i].result);
        CHECK(scan.at >= text && scan.at <= scan.end);
        fd_scan_copy(&scan, (fd_span){text, scan.at}, &copy);
        fd_buffer_bytes(&copy, "", 1);
        OK(copy.status);
        if (cases[i].copy != NULL) {
            SAME(copy.bytes, cases[i].copy);
        }
        else if (result == FD_SCAN_OK) {
            EQUAL(memcmp(copy.bytes, text, copy.size - 1), 0);
            EQUAL(scan.repairs.count, 0);
        }
    }
}

/* Every byte at every position of a word, with its meaning. */
TEST(odd_bytes_at_any_position)
{
    for (int byte = 1; byte < 256; byte++) {
        for (size_t index = 1; index < 20; index++) {
            CLEAN(fd_scan_clear) fd_scan scan = {.forgets = true};
            char text[] = "\"....................\" ";
            text[index] = (char)byte;
            fd_scan_begin(&scan, text, text + sizeof text - 1);
            EQUAL(fd_scan_value(&scan), FD_SCAN_OK);
            EQUAL(scan.at - text, byte == '"' ? (long)index + 1 : 22);
        }
    }
}

TEST(nesting_has_a_limit)
{
    char text[2 * FD_SCAN_DEPTH + 2];
    for (size_t depth = FD_SCAN_DEPTH; depth <= FD_SCAN_DEPTH + 1; depth++) {
        fd_scan scan = {.at = NULL};
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        fd_scan_begin(&scan, text, text + 2 * depth);
        EQUAL(fd_scan_value(&scan),
              depth > FD_SCAN_DEPTH ? FD_SCAN_DEEP : FD_SCAN_OK);
    }
}

TEST(repairs_have_a_limit)
{
    CLEAN(fd_scan_clear) fd_scan scan = {.at = NULL};
    char text[FD_SCAN_REPAIRS + 8] = "\"";
    memset(text + 1, '\n', sizeof text - 2);
    text[sizeof text - 1] = '"';
    fd_scan_begin(&scan, text, text + sizeof text);
    fd_scan_result result = fd_scan_value(&scan);
    CHECK(result == (check_refused() ? FD_SCAN_ENOMEM : FD_SCAN_BAD));
}

TEST(members)
{
    static const char text[] = "{\"a\":{\"b\":1},\"b\" : 2 , \"b\":\"3\"} ";
    fd_span value;
    fd_span object = {text, text + sizeof text - 1};
    CHECK(fd_scan_find(object, "b", &value));
    CHECK(fd_span_is(value, "\"3\""));
    CHECK(fd_span_is(fd_span_inside(value), "3"));
    CHECK(fd_scan_find(object, "a", &value));
    CHECK(fd_span_is(value, "{\"b\":1}"));
    CHECK(fd_span_begins(value, "{\"b") && fd_span_begins(value, ""));
    CHECK(!fd_span_begins(value, "{\"c"));
    CHECK(!fd_span_begins(value, "{\"b\":1}}"));
    CHECK(!fd_scan_find(object, "c", &value));
    CHECK(!fd_scan_find(value, "a", &value));
}

TEST(unsigned_numbers)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t number;
    } cases[] = {
        {"0", true, 0},
        {"18446744073709551615", true, UINT64_MAX},
        {"18446744073709551616", false, 0},
        {"", false, 0},
        {"-1", false, 0},
        {"1.0", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        uint64_t number;
        bool good = fd_span_u64((fd_span){text, text + strlen(text)}, &number);
        EQUAL(good, cases[i].good);
        CHECK(!good || number == cases[i].number);
    }
}

TEST(words_of_values)
{
    static const char *const cases[][2] = {
        {"\"node7\"", "node7"},
        {"\"0123456789012345678901 3\"", "-"},
        {"\"01234567890123456789012\"", "01234567890123456789012"},
        {"{\"a\":12345678901,\"b\":12345678901}", "-"},
        {"17", "17"},
        {"{\"pipe\":1,\"data\":\"x\"}", "pipe 1, data x"},
        {"{}", "-"},
        {"[1]", "-"},
        {"{\"a\":1,\"b\":[]}", "-"},
        {"{\"a\":\"\\\"\"}", "-"},
        {"\"\\\"\"", "-"},
        {"", "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char to[24];
        const char *text = cases[i][0];
        bool any =
            fd_span_words((fd_span){text, text + strlen(text)}, to, sizeof to);
        SAME(any ? to : "-", cases[i][1]);
        CHECK(any || to[0] == '\0');
    }
}

TEST(elements_of_arrays)
{
    static const char text[] = "[ 1, \"a,]\" ,[2,3],{}]x";
    static const char *const values[] = {"1", "\"a,]\"", "[2,3]", "{}"};
    fd_scan scan = {.at = text, .end = text + strlen(text), .forgets = true};
    fd_span value;
    EQUAL(fd_scan_mark(&scan, '['), FD_SCAN_OK);
    for (size_t i = 0; i < 4; i++) {
        EQUAL(fd_scan_element(&scan, i == 0, &value), FD_SCAN_OK);
        CHECK(fd_span_is(value, values[i]));
    }
    EQUAL(fd_scan_element(&scan, false, &value), FD_SCAN_DONE);
    CHECK(*scan.at == 'x');
    scan = (fd_scan){.at = text + 2, .end = text + 3, .forgets = true};
    EQUAL(fd_scan_element(&scan, true, &value), FD_SCAN_CUT);
    scan = (fd_scan){.at = text + 2, .end = text + 4, .forgets = true};
    EQUAL(fd_scan_element(&scan, false, &value), FD_SCAN_BAD);
}

TEST(members_by_name)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char text[] = "{\"b\":[1],\"x\":0,\"a\":2,\"b\":3}";
    fd_span object = {text, text + strlen(text)};
    fd_span values[3];
    CHECK(fd_scan_members(object, names, 3, values));
    CHECK(fd_span_is(values[0], "2") && fd_span_is(values[1], "3"));
    CHECK(values[2].from == NULL);
    object.to--;
    CHECK(!fd_scan_members(object, names, 3, values));
    CHECK(!fd_scan_members((fd_span){NULL, NULL}, names, 3, values));
    CHECK(values[0].from == NULL);
}

TEST(doubles)
{
    static const struct {
        const char *text;
        double value;
        bool good;
    } cases[] = {
        {"0", 0, true},    {"-2.5", -2.5, true}, {"1e3", 1000, true},
        {"", 0, false},    {"1x", 0, false},     {"0x10", 0, false},
        {"nan", 0, false}, {"\"1\"", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        double value = 0;
        bool good =
            fd_span_double((fd_span){text, text + strlen(text)}, &value);
        EQUAL(good, cases[i].good);
        CHECK(!good || !(value < cases[i].value || value > cases[i].value));
    }
}
