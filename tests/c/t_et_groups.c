#include "traces.h"

#include "et/groups.h"

#include <string.h>

static void
listed(void)
{
    CLEAN(fd_et_clear) fd_et et;
    OK(traces_loaded(&et));
    EQUAL(et.groups.count, 1);
    SAME(fd_et_text(&et, et.groups.list[0].name), "0");
    SAME(fd_et_text(&et, et.groups.list[0].about), "default_pg");
    SAME(fd_et_text(&et, et.groups.list[0].ranks), "[]");
    EQUAL(et.groups.list[0].size, 2);
}

static void
odd(void)
{
    static const char *const lists[] = {"", "5", "[", "[5,{}]", "[{\"pg_name\"",
                                        "[{\"pg_name\":\"\"}]"};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        OK(fd_et_add_groups(&et, (fd_span){lists[i],
                                           lists[i] + strlen(lists[i])}));
        EQUAL(et.groups.count, 0);
    }
    static const char twice[] = "[{\"pg_name\":\"a\",\"pg_size\":4,\"ranks\":"
                                "[0,2]},{\"pg_name\":\"a\"}]";
    OK(fd_et_add_groups(&et, (fd_span){twice, twice + sizeof twice - 1}));
    EQUAL(et.groups.count, 1);
    EQUAL(et.groups.list[0].size, 4);
    SAME(fd_et_text(&et, et.groups.list[0].ranks), "[0,2]");
}

RUN(TEST(listed), TEST(odd))
