#include "traces.h"

#include "et/tools/et_collapse.h"

#include <string.h>

static const fd_et_box *
box_of(const fd_et_collapsed *collapsed, const fd_et *et, const char *name)
{
    for (uint32_t i = 0; i < collapsed->boxes.count; i++) {
        const fd_et_box *box = &collapsed->boxes.list[i];
        if (!box->others
            && strcmp(fd_et_text(et, et->nodes.list[box->node].name), name)
                   == 0) {
            return box;
        }
    }
    return NULL;
}

/* Two steps: each calls `a` and `b`, and `b` calls `a`. */
static fd_status
load(fd_et *et)
{
    fd_buffer text = {.bytes = NULL};
    traces_begin(&text);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    for (unsigned step = 0; step < 2; step++) {
        unsigned id = 3 + 4 * step;
        traces_more(&text, id, 2, "step", "");
        traces_more(&text, id + 1, id, "a",
                    ", \"ts\": 1, "
                    "\"inclusive_dur\": 2");
        traces_more(&text, id + 2, id, "b", "");
        traces_more(&text, id + 3, id + 2, "a",
                    ", \"ts\": 4, "
                    "\"inclusive_dur\": 3");
    }
    traces_end(&text);
    fd_status status = traces_load(et, "a.json", &text, FD_ET_ALL_KINDS, NULL);
    fd_buffer_clear(&text);
    return status;
}

static void
folded(void)
{
    static const struct {
        uint32_t most;
        fd_et_collapse_mode mode;
        uint32_t boxes;
        uint64_t count; /* of the first box of `a` */
        int64_t ns;
        uint64_t names;
    } cases[] = {{100, FD_ET_EACH, 9, 1, 2000, 0},
                 {8, FD_ET_BY_PARENT, 5, 2, 4000, 0},
                 {4, FD_ET_BY_NAME, 4, 4, 10000, 0},
                 {3, FD_ET_BY_SIZE, 3, 4, 10000, 2},
                 {2, FD_ET_BY_SIZE, 2, 0, 0, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et et;
        CLEAN(fd_et_collapsed_clear) fd_et_collapsed collapsed = {.names = 0};
        uint64_t nodes = 0;
        OK(load(&et));
        OK(fd_et_collapse(&collapsed, &et, cases[i].most));
        EQUAL(collapsed.mode, cases[i].mode);
        EQUAL(collapsed.boxes.count, cases[i].boxes);
        EQUAL(collapsed.names, cases[i].names);
        for (uint32_t k = 0; k < collapsed.boxes.count; k++) {
            nodes += collapsed.boxes.list[k].count;
        }
        EQUAL(nodes, et.nodes.count);
        const fd_et_box *box = box_of(&collapsed, &et, "a");
        EQUAL(box == NULL ? 0 : box->count, cases[i].count);
        EQUAL(box == NULL ? 0 : box->ns, cases[i].ns);
        for (uint32_t k = 0; k < collapsed.lines.count; k++) {
            CHECK(collapsed.lines.list[k].from != collapsed.lines.list[k].to);
        }
    }
}

static void
lines(void)
{
    CLEAN(fd_et_clear) fd_et et;
    CLEAN(fd_et_collapsed_clear) fd_et_collapsed collapsed = {.names = 0};
    uint64_t calls = 0;
    uint64_t order = 0;
    OK(load(&et));
    OK(fd_et_collapse(&collapsed, &et, 8));
    for (uint32_t i = 0; i < collapsed.lines.count; i++) {
        calls += collapsed.lines.list[i].calls;
        order += collapsed.lines.list[i].counts[FD_ET_ORDER];
    }
    EQUAL(calls, 8); /* two of each line: step, a, b, a below b */
    CHECK(order > 0);
}

RUN(TEST(folded), TEST(lines))
