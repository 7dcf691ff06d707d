#include "check.h"

#include "recording/operand_words.h"

TEST(malformed_words_end)
{
    const uint64_t cut[] = {FD_OPERAND_INT};
    const uint64_t unknown[] = {0xff, FD_OPERAND_NONE};
    fd_words words = {cut, cut + 1};
    fd_operand operand;
    CHECK(!fd_words_next(&words, &operand));
    words = (fd_words){unknown, unknown + 2};
    CHECK(!fd_words_next(&words, &operand));
    CHECK(!fd_words_next(&words, &operand));
}
