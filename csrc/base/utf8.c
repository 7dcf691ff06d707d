#include "base/utf8.h"

#include <stdbool.h>

static bool
bytes_continue(const unsigned char *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return false;
        }
    }
    return true;
}

size_t
fd_utf8_length(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    if (size == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || length > size
        || !bytes_continue(p + 1, length - 1)) {
        return 0;
    }
    bool overlong =
        (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool surrogate = p[0] == 0xED && p[1] >= 0xA0;
    bool too_large = p[0] == 0xF4 && p[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : length;
}
