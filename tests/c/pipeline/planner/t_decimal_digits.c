#include "check.h"

#include "pipeline/planner/decimal_digits.h"

#include <string.h>

static const char *
written(void (*write)(fd_buffer *to, double value), double value,
        fd_buffer *text)
{
    text->size = 0;
    write(text, value);
    fd_buffer_bytes(text, "", 1);
    return text->status == FD_OK ? text->bytes : "";
}

static void
fewest_digits(void)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.0"},
                 {4, "4.0"},
                 {6291456, "6291456.0"},
                 {0.1, "0.1"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {1e16, "1e+16"},
                 {123456789.25, "123456789.25"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = written(fd_digits_write, cases[i].value, &text);
        OK(text.status);
        SAME(got, cases[i].text);
        double back = -1;
        CHECK(fd_digits_read(got, strlen(got), &back));
        CHECK(memcmp(&back, &cases[i].value, sizeof back) == 0);
    }
}

static void
three_decimals_where_they_are_enough(void)
{
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    const char *got = written(fd_digits_write_thousandths, 6.949, &text);
    OK(text.status);
    SAME(got, "6.949");
    got = written(fd_digits_write_thousandths, 0, &text);
    SAME(got, "0.000");
    got = written(fd_digits_write_thousandths, 0.00012, &text);
    SAME(got, "0.00012");
    got = written(fd_digits_write_thousandths, 1e300, &text);
    SAME(got, "1e+300");
}

static void
invalid_numbers(void)
{
    static const char *const texts[] = {"",      "nan", "inf", "0x10",
                                        "1e999", "1,5", "1 ",  " 1",
                                        "-",     "12x", "--1", "1.2.3"};
    double value;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CHECK(!fd_digits_read(texts[i], strlen(texts[i]), &value));
    }
}

RUN(TEST(fewest_digits), TEST(three_decimals_where_they_are_enough),
    TEST(invalid_numbers))
