#include "traces.h"

#include "et/readers/operand_json.h"

#include <string.h>

#define HEAD(kind, number) ((uint64_t)(kind) | (uint64_t)(number) << 32)

static const char *
put(fd_et *et, const uint64_t *words, size_t count)
{
    static const uint32_t tensors[] = {5, 8};
    static const uint32_t storages[] = {6, 9};
    uint32_t text = fd_et_put_facts(et, (fd_words){words, words + count},
                                    (fd_operand_ids){tensors, storages});
    return fd_et_text(et, text);
}

/* Two columns of a matrix with four, from its second element on; the number
 * two. */
#define COLUMNS \
    HEAD(FD_OPERAND_TENSOR, 2) | 6 << 8, 0x10, 0x20, 1, 6, 3, 2, 4, 1
#define TWO \
    HEAD(FD_OPERAND_TENSOR, 0) | 4 << 8 | FD_OPERAND_VALUED, 0x11, 0x21, 0, \
        1, 2

ABSORBS(all_facts)
{
    double real = 3;
    double none = 0.0 / 0.0;
    uint64_t bits[2];
    EMPTY_TRACE(et);
    memcpy(&bits[0], &real, sizeof real);
    memcpy(&bits[1], &none, sizeof none);
    const uint64_t words[] = {COLUMNS,
                              TWO,
                              HEAD(FD_OPERAND_LIST, 2) | 2 << 8,
                              HEAD(FD_OPERAND_INT, 0),
                              (uint64_t)-3,
                              HEAD(FD_OPERAND_NONE, 0),
                              HEAD(FD_OPERAND_DICT, 2),
                              HEAD(FD_OPERAND_TEXT, 1),
                              'a',
                              HEAD(FD_OPERAND_LIST, 1),
                              HEAD(FD_OPERAND_BOOL, 1),
                              HEAD(FD_OPERAND_DOUBLE, 0),
                              bits[0],
                              HEAD(FD_OPERAND_DOUBLE, 0),
                              bits[1],
                              HEAD(FD_OPERAND_DEVICE, 0) | 0xffU << 24,
                              HEAD(FD_OPERAND_OTHER, 40),
                              1};
    SAME(put(&et, words, sizeof words / sizeof *words),
         "[{\"id\":5,\"storage\":6,\"at\":16,\"dtype\":\"float32\",\"shape\":["
         "3,2],"
         "\"bytes\":24,\"extent\":44},"
         "{\"id\":8,\"storage\":9,\"at\":17,\"dtype\":\"int64\",\"shape\":[],"
         "\"bytes\":8,\"extent\":8,\"value\":2},"
         "{\"tuple\":[-3,null]},{\"dict\":[[\"a\",[true]]]},3.0,{\"other\":5},"
         "{\"device\":\"cpu\"},{\"other\":10}]");
}

ABSORBS(damaged_words)
{
    EMPTY_TRACE(et);
    const uint64_t cut[] = {HEAD(FD_OPERAND_DICT, 9), HEAD(FD_OPERAND_NONE, 0),
                            COLUMNS};
    SAME(put(&et, cut, 4), "[{\"dict\":[[null,null]]}]");
    SAME(put(&et, cut, 0), "[]");
}
