#include "traces.h"

#include "et/call_signatures.h"
#include "et/tools/et_diff.h"

static void
numbers(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_et_diff_clear) fd_et_diff diff = {.threshold = 0};
    CLEAN(fd_et_match_side_clear) fd_et_match_side side = {.et = NULL};
    CLEAN(fd_et_match_side_clear) fd_et_match_side again = {.et = NULL};
    OK(traces_loaded(&et));
    OK(fd_et_match_side_make(&side, &et));
    OK(fd_et_match_side_make(&again, &et));
    OK(fd_et_find_signatures(&diff, &side));
    uint32_t signatures = diff.signatures.count;
    OK(fd_et_find_signatures(&diff, &again));
    EQUAL(diff.signatures.count, signatures);
    uint32_t sum = fd_et_index(&et, 9) - 1;
    EQUAL(side.signatures[sum], again.signatures[sum]);
    const fd_et_signature *signature =
        &diff.signatures.list[side.signatures[sum] - 1];
    EQUAL(signature->name, side.names[sum]);
    SAME(fd_text_pool_get(&diff.texts, signature->name), "gloo:all_reduce");
    SAME(fd_text_pool_get(&diff.texts, signature->shapes[1]), "[]");
    SAME(fd_text_pool_get(&diff.texts, signature->comm),
         "ALL_REDUCE 24 bytes, group 0");
    signature =
        &diff.signatures.list[side.signatures[fd_et_index(&et, 20) - 1] - 1];
    SAME(fd_text_pool_get(&diff.texts, signature->comm),
         "SEND 24 bytes, group 0, to rank 1");
}

RUN(TEST(numbers))
