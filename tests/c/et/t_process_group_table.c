#include "traces.h"

#include "et/process_group_table.h"

#include <string.h>

TEST(listed)
{
    LOADED(et);
    EQUAL(et.groups.count, 1);
    SAME(fd_et_text(&et, et.groups.list[0].name), "0");
    SAME(fd_et_text(&et, et.groups.list[0].description), "default_pg");
    SAME(fd_et_text(&et, et.groups.list[0].ranks), "[]");
    EQUAL(et.groups.list[0].size, 2);
}

TEST(odd)
{
    static const char *const lists[] = {
        "", "5", "[", "[5,{}]", "[{\"pg_name\"", "[{\"pg_name\":\"\"}]"};
    EMPTY_TRACE(et);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        fd_et_add_groups(&et, traces_span(lists[i]));
        EQUAL(et.groups.count, 0);
    }
    static const char twice[] = "[{\"pg_name\":\"a\",\"pg_size\":4,\"ranks\":"
                                "[0,2]},{\"pg_name\":\"a\"}]";
    fd_et_add_groups(&et, traces_span(twice));
    EQUAL(et.groups.count, 1);
    EQUAL(et.groups.list[0].size, 4);
    SAME(fd_et_text(&et, et.groups.list[0].ranks), "[0,2]");
}

static void
give(fd_et *et, fd_et_node *node, const uint64_t *words)
{
    fd_et_give_group(et, node, (fd_words){words, words + 4});
}

/* A call of c10d's takes a group, which has a name if it is listed. */
TEST(given)
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
    EMPTY_TRACE(et);
    fd_et_add_groups(&et, traces_span(list));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const uint64_t words[] = {FD_OPERAND_INT, 4096, FD_OPERAND_OTHER,
                                  calls[i].word};
        fd_et_node *node = fd_et_add(&et);
        node->name = fd_et_add_word(&et, calls[i].name);
        give(&et, node, words);
        SAME(fd_et_text(&et, traces_attr(&et, node, "pg_name")->text),
             calls[i].group);
    }
}
