#include "traces.h"

#include "et/process_group_table.h"

#include <string.h>

static void
listed(void)
{
    LOADED(et);
    EQUAL(et.groups.count, 1);
    SAME(fd_et_text(&et, et.groups.list[0].name), "0");
    SAME(fd_et_text(&et, et.groups.list[0].about), "default_pg");
    SAME(fd_et_text(&et, et.groups.list[0].ranks), "[]");
    EQUAL(et.groups.list[0].size, 2);
}

static void
odd(void)
{
    static const char *const lists[] = {
        "", "5", "[", "[5,{}]", "[{\"pg_name\"", "[{\"pg_name\":\"\"}]"};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        OK(fd_et_add_groups(&et,
                            (fd_span){lists[i], lists[i] + strlen(lists[i])}));
        EQUAL(et.groups.count, 0);
    }
    static const char twice[] = "[{\"pg_name\":\"a\",\"pg_size\":4,\"ranks\":"
                                "[0,2]},{\"pg_name\":\"a\"}]";
    OK(fd_et_add_groups(&et, (fd_span){twice, twice + sizeof twice - 1}));
    EQUAL(et.groups.count, 1);
    EQUAL(et.groups.list[0].size, 4);
    SAME(fd_et_text(&et, et.groups.list[0].ranks), "[0,2]");
}

/* A call of c10d's takes a group, which has a name if it is listed. */
static void
given(void)
{
    static const char list[] = "[{\"pg_name\":\"a\"},"
                               "{\"pg_name\":\"b\",\"fd_address\":4096}]";
    const struct {
        const char *name;
        uint64_t word;
        const char *group;
    } calls[] = {{"c10d::send", 4096, "b"},
                 {"c10d::send", 0, ""},
                 {"c10d::send", 8, ""},
                 {"aten::send", 4096, ""}};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    OK(fd_et_add_groups(&et, (fd_span){list, list + sizeof list - 1}));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const uint64_t words[] = {FD_OPERAND_INT, 4096, FD_OPERAND_OTHER,
                                  calls[i].word};
        fd_et_node *node = fd_et_add(&et);
        CHECK(node != NULL || check_refused());
        if (node == NULL) {
            return;
        }
        OK(fd_text_pool_add(&et.texts, calls[i].name, strlen(calls[i].name),
                            &node->name));
        OK(fd_et_give_group(&et, node, (fd_words){words, words + 4}));
        SAME(fd_et_attr_text(&et, node, "pg_name"), calls[i].group);
    }
}

RUN(TEST(listed), TEST(odd), TEST(given))
