#include "traces.h"

#include "et/call_forms.h"

static void
numbers(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_et_diff_clear) fd_et_diff diff = {.threshold = 0};
    CLEAN(fd_et_twin_side_clear) fd_et_twin_side side = {.et = NULL};
    CLEAN(fd_et_twin_side_clear) fd_et_twin_side again = {.et = NULL};
    OK(traces_loaded(&et));
    OK(fd_et_twin_side_make(&side, &et));
    OK(fd_et_twin_side_make(&again, &et));
    OK(fd_et_find_forms(&diff, &side));
    uint32_t forms = diff.forms.count;
    OK(fd_et_find_forms(&diff, &again));
    EQUAL(diff.forms.count, forms);
    uint32_t sum = fd_et_place(&et, 9) - 1;
    EQUAL(side.forms[sum], again.forms[sum]);
    const fd_et_form *form = &diff.forms.list[side.forms[sum] - 1];
    EQUAL(form->name, side.names[sum]);
    SAME(fd_text_pool_get(&diff.texts, form->name), "gloo:all_reduce");
    SAME(fd_text_pool_get(&diff.texts, form->shapes[1]), "[]");
    SAME(fd_text_pool_get(&diff.texts, form->comm),
         "ALL_REDUCE 24 bytes, group 0");
    form = &diff.forms.list[side.forms[fd_et_place(&et, 20) - 1] - 1];
    SAME(fd_text_pool_get(&diff.texts, form->comm),
         "SEND 24 bytes, group 0, to rank 1");
}

RUN(TEST(numbers))
