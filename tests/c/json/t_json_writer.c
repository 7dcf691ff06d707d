#include "check.h"

#include "json/decimal.h"
#include "json/json_writer.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void
expect(const fd_buffer *text, const char *json)
{
    OK(text->status);
    EQUAL(text->size, strlen(json));
    CHECK(memcmp(text->bytes, json, text->size) == 0);
}

TEST(members_and_elements)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    fd_json_begin_object(&w, NULL);
    fd_json_put_u64(&w, "a", UINT64_MAX);
    fd_json_begin_array(&w, "b");
    fd_json_put_i64(&w, NULL, INT64_MIN);
    fd_json_put_i64(&w, NULL, -1);
    fd_json_put_null(&w, NULL);
    fd_json_begin_object(&w, NULL);
    fd_json_end_object(&w);
    fd_json_begin_array(&w, NULL);
    fd_json_end_array(&w);
    fd_json_end_array(&w);
    fd_json_put_bool(&w, "c", true);
    fd_buffer_text(fd_json_put(&w, "d"), "[1]");
    fd_buffer_text(fd_json_put(&w, "e"), "2");
    fd_json_end_object(&w);
    expect(&text, "{\"a\":18446744073709551615,\"b\":["
                  "-9223372036854775808,-1,null,{},[]],\"c\":true,\"d\":[1],"
                  "\"e\":2}");
}

TEST(strings_and_keys)
{
    char name[200];
    char json[300];
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    memset(name, 'k', sizeof name);
    name[sizeof name - 1] = '\0';
    fd_json_begin_object(&w, NULL);
    fd_json_key(&w, "\"\xFF\0", 3);
    fd_json_put_text(&w, NULL, "\\\n");
    fd_json_put_bytes(&w, name, "\x01", 1);
    fd_json_end_object(&w);
    snprintf(json, sizeof json,
             "{\"\\\"\xEF\xBF\xBD\\u0000\":\"\\\\\\n\",\"%s\":\"\\u0001\"}",
             name);
    expect(&text, json);
}

TEST(numbers)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    fd_json_writer w = {.to = &text};
    setlocale(LC_NUMERIC, "de_DE.UTF-8");
    fd_json_begin_array(&w, NULL);
    fd_json_put_double(&w, NULL, 0.5);
    fd_json_put_double(&w, NULL, -2e300);
    fd_json_put_double(&w, NULL, (double)INFINITY);
    fd_json_put_double(&w, NULL, (double)NAN);
    fd_json_put_double(&w, NULL, -12);
    fd_json_put_double(&w, NULL, 0);
    fd_json_put_double(&w, NULL, -0.0);
    fd_json_put_double(&w, NULL, 9007199254740991);
    fd_json_put_double(&w, NULL, 1e17);
    fd_decimal_milli(1234567, fd_json_put(&w, NULL));
    fd_decimal_milli(-7, fd_json_put(&w, NULL));
    fd_decimal_milli(INT64_MIN, fd_json_put(&w, NULL));
    fd_json_end_array(&w);
    setlocale(LC_NUMERIC, "C");
    expect(&text, "[0.5,-2.0000000000000001e+300,null,null,-12,0,-0,"
                  "9007199254740991,1e+17,1234.567,-0.007,"
                  "-9223372036854775.808]");
}
