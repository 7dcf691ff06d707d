#include "traces.h"

#include "et/readers/et_operands.h"

#include <string.h>

#define HEAD(kind, number) ((uint64_t)(kind) | (uint64_t)(number) << 32)

static void
put(fd_et *et, const uint64_t *words, size_t count, bool layers, fd_et_io *io)
{
    static const uint32_t tensors[] = {5, 8};
    static const uint32_t storages[] = {6, 6};
    fd_et_put_operands(et, (fd_words){words, words + count},
                       (fd_operand_ids){tensors, storages}, layers, io);
}

/* A matrix of floats on cuda:1. */
#define TENSOR \
    HEAD(FD_OPERAND_TENSOR, 2) | 6 << 8 | 1 << 16 | 1 << 24, 0x1000, 0x2000, \
        4, 6, 2, 3, 3, 1

TEST(lists_like_pytorch)
{
    double half = 0.5;
    double nan = 0.0 / 0.0;
    uint64_t bits[2];
    EMPTY_TRACE(et);
    fd_et_io io;
    memcpy(&bits[0], &half, sizeof half);
    memcpy(&bits[1], &nan, sizeof nan);
    const uint64_t words[] = {TENSOR,
                              HEAD(FD_OPERAND_LIST, 2),
                              TENSOR,
                              HEAD(FD_OPERAND_INT, 0),
                              (uint64_t)-3,
                              HEAD(FD_OPERAND_DOUBLE, 0),
                              bits[0],
                              HEAD(FD_OPERAND_DOUBLE, 0),
                              bits[1],
                              HEAD(FD_OPERAND_BOOL, 1),
                              HEAD(FD_OPERAND_NONE, 0),
                              HEAD(FD_OPERAND_TEXT, 2),
                              '"' | '\n' << 8,
                              HEAD(FD_OPERAND_DEVICE, 0) | 0xffU << 24,
                              HEAD(FD_OPERAND_OTHER, 40),
                              1,
                              HEAD(FD_OPERAND_UNDEFINED, 0),
                              9};
    put(&et, words, sizeof words / sizeof *words, false, &io);
    SAME(fd_et_text(&et, io.values),
         "[[5,6,4,6,4,\"cuda:1\"],[[8,6,4,6,4,\"cuda:1\"],-3],0.5,\"nan\","
         "true,\"<None>\",\"\\\"\\n\",\"cpu\",\"<Object>\",[0,0,0,0,0,\"\"]]");
    SAME(fd_et_text(&et, io.shapes),
         "[[2,3],[[2,3],[]],[],[],[],[],[],[],[],[]]");
    SAME(fd_et_text(&et, io.strides),
         "[[3,1],[[3,1],[]],[],[],[],[],[],[],[],[]]");
    SAME(fd_et_text(&et, io.types),
         "[\"Tensor(float)\",\"GenericList[Tensor(float),Int]\",\"Double\","
         "\"Double\",\"Bool\",\"None\",\"String\",\"Device\",\"Object\","
         "\"Tensor(nullptr (uninitialized))\"]");
}

TEST(facts_for_layers)
{
    double three = 3;
    uint64_t bits;
    EMPTY_TRACE(et);
    fd_et_io io;
    memcpy(&bits, &three, sizeof bits);
    const uint64_t words[] = {HEAD(FD_OPERAND_TENSOR, 0) | 6 << 8
                                  | FD_OPERAND_VALUED,
                              0x10,
                              0x20,
                              0,
                              1,
                              bits,
                              HEAD(FD_OPERAND_LIST, 2) | 2 << 8,
                              HEAD(FD_OPERAND_TENSOR, 0) | 4 << 8,
                              0x11,
                              0x21,
                              0,
                              1,
                              HEAD(FD_OPERAND_NONE, 0),
                              HEAD(FD_OPERAND_DICT, 2),
                              HEAD(FD_OPERAND_TEXT, 1),
                              'a',
                              HEAD(FD_OPERAND_LIST, 0)};
    put(&et, words, sizeof words / sizeof *words, true, &io);
    SAME(fd_et_text(&et, io.values),
         "[[5,6,0,1,4,\"cpu:0\",16,3],[[8,6,0,1,8,\"cpu:0\",17],\"<None>\"],"
         "[\"a\",[]]]");
    SAME(fd_et_text(&et, io.types),
         "[\"Tensor(float32)\",\"Tuple[Tensor(int64),None]\","
         "\"Dict[String,GenericList[]]\"]");
}

/* Lists of random words are JSON. */
TEST(damaged_words)
{
    EMPTY_TRACE(et);
    fd_et_io io;
    const uint64_t cut[] = {TENSOR};
    put(&et, cut, 5, false, &io);
    SAME(fd_et_text(&et, io.values), "[[]]");
    const uint64_t unknown[] = {HEAD(FD_OPERAND_NONE, 0), 77, 3};
    put(&et, unknown, 3, false, &io);
    SAME(fd_et_text(&et, io.values), "[\"<None>\",[]]");
    const uint64_t short_list[] = {HEAD(FD_OPERAND_LIST, 900),
                                   HEAD(FD_OPERAND_BOOL, 0)};
    put(&et, short_list, 2, false, &io);
    SAME(fd_et_text(&et, io.values), "[[false]]");
    uint64_t deep[40];
    for (int i = 0; i < 40; i++) {
        deep[i] = HEAD(FD_OPERAND_LIST, 1);
    }
    put(&et, deep, 40, false, &io);
    CHECK(strlen(fd_et_text(&et, io.values)) < 200);
}
