#include "check.h"

#include "recording/operand_words.h"

static void
one_after_the_other(void)
{
    const uint64_t list[] = {FD_OPERAND_LIST | UINT64_C(2) << 32,
                             FD_OPERAND_INT,
                             7,
                             FD_OPERAND_TEXT | UINT64_C(9) << 32,
                             1,
                             2,
                             FD_OPERAND_NONE};
    fd_words words = {list, list + sizeof list / sizeof *list};
    fd_operand operand;
    CHECK(fd_words_next(&words, &operand));
    EQUAL(operand.kind, FD_OPERAND_LIST);
    EQUAL(operand.number, 2);
    CHECK(fd_words_next(&words, &operand));
    EQUAL(operand.kind, FD_OPERAND_INT);
    EQUAL(operand.more[0], 7);
    CHECK(fd_words_next(&words, &operand));
    EQUAL(operand.kind, FD_OPERAND_TEXT);
    EQUAL(operand.number, 9);
    CHECK(fd_words_next(&words, &operand));
    EQUAL(operand.kind, FD_OPERAND_NONE);
    CHECK(!fd_words_next(&words, &operand));
}

static void
malformed_words_end(void)
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

RUN(TEST(one_after_the_other), TEST(malformed_words_end))
