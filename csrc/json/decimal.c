#include "json/decimal.h"

enum { MOST_DIGITS = 36, MOST_PLACES = 21, NS_PLACES = 3 };

typedef __int128 wide;

/* The number value * 10^-places. */
typedef struct decimal {
    wide value;
    int places;
    int digits;
    bool negative;
} decimal;

static bool
is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

static bool
take_digits(decimal *d, const char **at, const char *end)
{
    for (; is_digit(*at, end); (*at)++) {
        d->value = d->value * 10 + (**at - '0');
        d->digits += d->digits > 0 || d->value > 0;
        if (d->digits > MOST_DIGITS) {
            return false;
        }
    }
    return true;
}

static bool
take_exponent(decimal *d, const char *at, const char *end)
{
    bool down = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    int exponent = 0;
    for (; is_digit(at, end); at++) {
        exponent = exponent * 10 + (*at - '0');
        if (exponent > 2 * MOST_DIGITS) {
            return d->value == 0;
        }
    }
    d->places += down ? exponent : -exponent;
    return at == end;
}

/* Rescale to at least nanoseconds and at most MOST_PLACES. */
static bool
rescale_decimal(decimal *d)
{
    for (; d->places > MOST_PLACES; d->places--) {
        d->value /= 10;
    }
    for (; d->places < NS_PLACES; d->places++) {
        d->digits += d->value > 0;
        if (d->digits > MOST_DIGITS) {
            return false;
        }
        d->value *= 10;
    }
    return true;
}

static bool
parse_decimal(fd_span number, decimal *d)
{
    const char *at = number.from;
    if (at == number.to) {
        return false; /* both are NULL for an event without a time */
    }
    *d = (decimal){.negative = at < number.to && *at == '-'};
    at += d->negative;
    if (!is_digit(at, number.to) || !take_digits(d, &at, number.to)) {
        return false;
    }
    if (at < number.to && *at == '.') {
        const char *point = ++at;
        if (!take_digits(d, &at, number.to)) {
            return false;
        }
        d->places = (int)(at - point);
    }
    if (at < number.to && (*at == 'e' || *at == 'E')) {
        if (!take_exponent(d, at + 1, number.to)) {
            return false;
        }
        at = number.to;
    }
    if (at != number.to || !rescale_decimal(d)) {
        return false;
    }
    d->value = d->negative ? -d->value : d->value;
    return true;
}

static void
print_decimal(fd_buffer *to, wide value, int places)
{
    char text[64];
    size_t at = sizeof text;
    bool negative = value < 0;
    value = negative ? -value : value;
    for (; places > 0 || value > 0 || at == sizeof text || text[at] == '.';
         places--) {
        /* 64-bit division is several times faster than 128-bit division. */
        uint64_t low = (uint64_t)value;
        bool small = value == (wide)low;
        text[--at] =
            (char)('0' + (small ? (int)(low % 10) : (int)(value % 10)));
        value = small ? (wide)(low / 10) : value / 10;
        if (places == 1) {
            text[--at] = '.';
        }
    }
    if (negative) {
        text[--at] = '-';
    }
    fd_buffer_bytes(to, text + at, sizeof text - at);
}

bool
fd_decimal_shift(fd_span number, int64_t ns, fd_buffer *to)
{
    decimal d;
    if (!parse_decimal(number, &d)) {
        return false;
    }
    wide shift = ns;
    for (int index = NS_PLACES; index < d.places; index++) {
        shift *= 10;
    }
    print_decimal(to, d.value + shift, d.places);
    return true;
}

bool
fd_decimal_whole(fd_span value, uint64_t *number)
{
    decimal d;
    fd_span inside = fd_span_inside(value);
    *number = 0;
    if (fd_span_u64(inside, number)) {
        return true;
    }
    if (fd_span_begins(inside, "0x")) {
        return fd_span_hex(inside, number);
    }
    if (!parse_decimal(inside, &d)) {
        return false;
    }
    for (; d.places > 0 && d.value % 10 == 0; d.places--) {
        d.value /= 10;
    }
    bool whole = d.places == 0 && d.value >= 0 && d.value <= UINT64_MAX;
    *number = whole ? (uint64_t)d.value : 0;
    return whole;
}

void
fd_decimal_milli(int64_t value, fd_buffer *to)
{
    uint64_t number = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    unsigned rest = (unsigned)(number % 1000);
    const char decimals[] = {'.', (char)('0' + rest / 100),
                             (char)('0' + rest / 10 % 10),
                             (char)('0' + rest % 10)};
    fd_buffer_bytes(to, "-", value < 0);
    fd_buffer_u64(to, number / 1000);
    fd_buffer_bytes(to, decimals, sizeof decimals);
}

bool
fd_decimal_ns(fd_span number, int64_t *ns)
{
    decimal d;
    if (!parse_decimal(number, &d)) {
        return false;
    }
    for (; d.places > NS_PLACES; d.places--) {
        d.value = (d.value - (d.negative && d.value % 10 != 0 ? 10 : 0)) / 10;
    }
    *ns = (int64_t)d.value;
    return d.value == (wide)*ns;
}
