#include "check.h"

#include "trace/known_names.h"

#include <string.h>

static void
whose_names_are_known(void)
{
    CHECK(fd_names_operator("aten::add"));
    CHECK(!fd_names_operator("mine::add") && !fd_names_operator("add"));
    CHECK(fd_names_autograd("AddmmBackward0"));
    CHECK(fd_names_autograd("torch::autograd::AccumulateGrad"));
    CHECK(!fd_names_autograd("MineBackward"));
    CHECK(!fd_names_autograd("MineBackward0x"));
    static const char own[] = "autograd::engine::evaluate_function: Mine";
    CHECK(!fd_names_operator(own) && !fd_names_autograd(own));
    CHECK(fd_names_operator("autograd::engine::evaluate_function: "
                            "AddBackward0"));
    CHECK(fd_names_class("AdamW") && !fd_names_class("AdamWMine"));
    CHECK(fd_names_job("F") && !fd_names_job("mine"));
    CHECK(fd_names_role("autograd:0") && !fd_names_role("loader"));
    CHECK(fd_names_fact("torch") && !fd_names_fact("command"));
}

static void
ranges(void)
{
    static const struct {
        const char *name;
        size_t known;
        size_t owner;
    } cases[] = {
        {"Optimizer.step#AdamW.step", 15, 5},
        {"Optimizer.step#Mine", 15, 4},
        {"ProfilerStep#12", 13, 0},
        {"ProfilerStep#*", 13, 0},
        {"gloo:all_reduce", 5, 0},
        {"mine", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fd_range_name found = fd_names_range(cases[i].name);
        EQUAL(found.known, cases[i].known);
        EQUAL(found.owner, cases[i].owner);
    }
}

static void
equal_salts_hide_alike(void)
{
    CLEAN(fd_buffer_clear) fd_buffer one = {.bytes = NULL};
    CLEAN(fd_buffer_clear) fd_buffer two = {.bytes = NULL};
    fd_names_hide(fd_names_key("salt", 4), &one, "name", 4);
    fd_names_hide(fd_names_key("salt", 4), &one, "name", 4);
    fd_names_hide(fd_names_key("salts", 5), &two, "name", 4);
    OK(one.status);
    OK(two.status);
    EQUAL(one.size, 28);
    CHECK(memcmp(one.bytes, one.bytes + 14, 14) == 0);
    CHECK(memcmp(one.bytes, "f_", 2) == 0);
    CHECK(memcmp(one.bytes, two.bytes, 14) != 0);
}

RUN(TEST(whose_names_are_known), TEST(ranges), TEST(equal_salts_hide_alike))
