#include "pipeline/planner/decimal_digits.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DIGITS = 128 };

bool
fd_digits_read(const char *text, size_t size, double *value)
{
    char copy[MOST_DIGITS];
    char *end = NULL;
    if (size == 0 || size >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (strspn(copy, "0123456789+-.eE") < size) {
        return false;
    }
    char *point = strchr(copy, '.');
    if (point != NULL) {
        *point = *localeconv()->decimal_point;
    }
    *value = strtod(copy, &end);
    return end == copy + size && isfinite(*value);
}

static void
with_point(char *text)
{
    char *point = strchr(text, *localeconv()->decimal_point);
    if (point != NULL) {
        *point = '.';
    }
}

/* printf's %g writes an exponent if there are fewer digits than positions
 * before the point; Python does so from 1e16 on. */
void
fd_digits_write(fd_buffer *to, double value)
{
    char text[MOST_DIGITS];
    double back = 0;
    if (fabs(value) < 1e16 && trunc(value) == value) {
        snprintf(text, sizeof text, "%.1f", value);
    }
    else {
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, value);
            back = strtod(text, NULL);
            if (memcmp(&back, &value, sizeof back) == 0) {
                break;
            }
        }
    }
    with_point(text);
    fd_buffer_text(to, text);
}

void
fd_digits_write_thousandths(fd_buffer *to, double value)
{
    char text[MOST_DIGITS];
    snprintf(text, sizeof text, "%.3f", fabs(value) < 1e16 ? value : 0.0);
    double back = strtod(text, NULL);
    if (memcmp(&back, &value, sizeof back) != 0) {
        fd_digits_write(to, value);
        return;
    }
    with_point(text);
    fd_buffer_text(to, text);
}
