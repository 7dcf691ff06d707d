#include "check.h"

#include "base/utf8.h"

#include <string.h>

/* An independent decoder, from the definition: every code point has exactly
 * one encoding. */
static size_t
encode(uint32_t code, unsigned char to[4])
{
    if (code < 0x80) {
        to[0] = (unsigned char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (unsigned char)(0xC0 | code >> 6);
        to[1] = (unsigned char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (unsigned char)(0xE0 | code >> 12);
        to[1] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (unsigned char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (unsigned char)(0xF0 | code >> 18);
    to[1] = (unsigned char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (unsigned char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (unsigned char)(0x80 | (code & 0x3F));
    return 4;
}

TEST(all_code_points)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code += code < 0x3000 ? 1 : 37) {
        unsigned char bytes[4];
        size_t size = encode(code, bytes);
        bool surrogate = code >= 0xD800 && code <= 0xDFFF;
        EQUAL(fd_utf8_length((const char *)bytes, size), surrogate ? 0 : size);
        CHECK(size == 1 || fd_utf8_length((const char *)bytes, size - 1) == 0);
    }
}

/* All pairs of bytes: only ASCII and valid first bytes are accepted. */
TEST(broken_sequences)
{
    static const char *const broken[] = {"\x80",
                                         "\xBF",
                                         "\xC0\x80",
                                         "\xC1\xBF",
                                         "\xE0\x80\x80",
                                         "\xE0\x9F\xBF",
                                         "\xF0\x8F\xBF\xBF",
                                         "\xED\xA0\x80",
                                         "\xED\xBF\xBF",
                                         "\xF4\x90\x80\x80",
                                         "\xF5\x80\x80\x80",
                                         "\xFF",
                                         "\xC3(",
                                         "\xE2\x82(",
                                         "\xF0\x9F\x98("};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        EQUAL(fd_utf8_length(broken[i], strlen(broken[i])), 0);
    }
    EQUAL(fd_utf8_length("", 0), 0);
    EQUAL(fd_utf8_length("\xF4\x8F\xBF\xBF", 4), 4);
    EQUAL(fd_utf8_length("\xED\x9F\xBF", 3), 3);
    EQUAL(fd_utf8_length("a\xFF", 2), 1);
}
