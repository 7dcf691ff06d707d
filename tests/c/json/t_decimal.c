#include "check.h"
#include "spans.h"

#include "json/decimal.h"

TEST(shifted)
{
    static const struct {
        const char *from;
        int64_t ns;
        const char *to; /* NULL: none */
    } cases[] = {
        {"0", 0, "0.000"},
        {"1", 1, "1.001"},
        {"1.5", 500, "2.000"},
        {"0.001", -1, "0.000"},
        {"0.001", -2, "-0.001"},
        {"-1.5", 1500, "0.000"},
        {"-1.5", 499, "-1.001"},
        {"4445637156231.570", 1790857026000000123, "1795302663156231.693"},
        {"9007199254740993.001", 1, "9007199254740993.002"},
        {"12345.6789012345", 1, "12345.6799012345"},
        {"1e3", 1, "1000.001"},
        {"1.5E-2", 0, "0.015"},
        {"1e-30", 1, "0.001000000000000000000"},
        {"123456789012345678901234567890", 1,
         "123456789012345678901234567890.001"},
        {"0", INT64_MAX, "9223372036854775.807"},
        {"0", INT64_MIN, "-9223372036854775.808"},
        {"0e999", 1, "0.001"},
        {"1e40", 1, NULL},
        {"1e999", 1, NULL},
        {"1234567890123456789012345678901234567890", 1, NULL},
        {"", 1, NULL},
        {"-", 1, NULL},
        {"x", 1, NULL},
        {"1x", 1, NULL},
        {"null", 1, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        bool good = fd_decimal_shift(span(cases[i].from), cases[i].ns, &to);
        WRITTEN(&to, cases[i].to != NULL ? cases[i].to : "");
        EQUAL(good, cases[i].to != NULL);
    }
}

TEST(in_nanoseconds)
{
    static const struct {
        const char *from;
        bool good;
        int64_t ns;
    } cases[] = {
        {"1.0019", true, 1001},
        {"-1.0011", true, -1002},
        {"-1.001", true, -1001},
        {"9223372036854775.807", true, INT64_MAX},
        {"9223372036854775.808", false, 0},
        {"\"1\"", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns;
        bool good = fd_decimal_ns(span(cases[i].from), &ns);
        EQUAL(good, cases[i].good);
        CHECK(!good || ns == cases[i].ns);
    }
    int64_t ns;
    CHECK(!fd_decimal_ns((fd_span){NULL, NULL}, &ns));
}

TEST(nanoseconds_as_microseconds)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0.000"},
                 {-1, "-0.001"},
                 {1234567, "1234.567"},
                 {INT64_MIN, "-9223372036854775.808"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_decimal_milli(cases[i].ns, &to);
        WRITTEN(&to, cases[i].text);
    }
}

TEST(whole_numbers)
{
    static const struct {
        const char *from;
        uint64_t number; /* UINT64_MAX: not a whole number */
    } cases[] = {{"7", 7},
                 {"\"7\"", 7},
                 {"7.000", 7},
                 {"0.7e1", 7},
                 {"70e-1", 7},
                 {"1.767189312e+18", 1767189312000000000},
                 {"18446744073709551614", UINT64_MAX - 1},
                 {"18446744073709551616", UINT64_MAX},
                 {"7.5", UINT64_MAX},
                 {"-7", UINT64_MAX},
                 {"\"\"", UINT64_MAX},
                 {"null", UINT64_MAX},
                 {"\"0x5aF0\"", 0x5AF0},
                 {"\"0x\"", UINT64_MAX},
                 {"\"0xg\"", UINT64_MAX},
                 {"\"0x10000000000000000\"", UINT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t number;
        bool good = fd_decimal_whole(span(cases[i].from), &number);
        EQUAL(good ? number : UINT64_MAX, cases[i].number);
    }
}
