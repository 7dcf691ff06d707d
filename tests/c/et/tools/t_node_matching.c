#include "traces.h"

#include "et/tools/node_matching.h"

static fd_status
load(fd_et *et, const char *first, const char *second)
{
    fd_buffer text = {.bytes = NULL};
    traces_begin(&text);
    traces_more(&text, 2, 1, "[pytorch|profiler|execution_trace|thread]", "");
    traces_more(&text, 3, 2, "step", "");
    traces_more(&text, 4, 3, first, "");
    traces_more(&text, 5, 3, second, "");
    traces_more(&text, 6, 4, "below", "");
    traces_more(&text, 7, 5, "below", "");
    traces_end(&text);
    fd_status status = traces_load(et, "a.json", &text, 0, NULL);
    fd_buffer_clear(&text);
    return status;
}

/* Names by their first letter, signatures by their last. */
static void
number(fd_et_match_side *side)
{
    for (uint32_t i = 0; i < side->et->nodes.count; i++) {
        const char *name = fd_et_text(side->et, side->et->nodes.list[i].name);
        side->names[i] = (unsigned char)name[0];
        while (name[1] != '\0') {
            name++;
        }
        side->signatures[i] = side->names[i] * 256 + (unsigned char)*name;
    }
}

static uint64_t
match_of(const fd_et_match_side sides[2], uint64_t id)
{
    uint32_t match = sides[0].matches[fd_et_index(sides[0].et, id) - 1];
    return match == 0 ? 0 : sides[1].et->nodes.list[match - 1].id;
}

static void
clear_sides(fd_et_match_side (*sides)[2])
{
    fd_et_match_side_clear(&(*sides)[0]);
    fd_et_match_side_clear(&(*sides)[1]);
}

static void
found(void)
{
    static const struct {
        const char *names[2];
        uint64_t matches[2];
    } cases[] = {{{"a1", "a2"}, {4, 5}}, /* the same */
                 {{"a2", "a1"}, {5, 4}}, /* by signature */
                 {{"a3", "a1"}, {5, 4}}, /* the rest, by name */
                 {{"a3", "a4"}, {4, 5}},
                 {{"b1", "a2"}, {0, 5}}, /* and what they call */
                 {{"b1", "b2"}, {0, 0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_et_clear) fd_et a;
        CLEAN(fd_et_clear) fd_et b = {.rank = -1};
        CLEAN(clear_sides) fd_et_match_side sides[2] = {{.et = NULL}};
        OK(load(&a, "a1", "a2"));
        OK(load(&b, cases[i].names[0], cases[i].names[1]));
        OK(fd_et_match_side_make(&sides[0], &a));
        OK(fd_et_match_side_make(&sides[1], &b));
        number(&sides[0]);
        number(&sides[1]);
        OK(fd_et_match_nodes(sides));
        EQUAL(match_of(sides, 3), 3);
        EQUAL(match_of(sides, 4), cases[i].matches[0]);
        EQUAL(match_of(sides, 5), cases[i].matches[1]);
        EQUAL(match_of(sides, 6),
              cases[i].matches[0] == 0 ? 0 : cases[i].matches[0] + 2);
    }
}

RUN(TEST(found))
