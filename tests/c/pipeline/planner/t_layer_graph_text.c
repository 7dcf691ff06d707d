#include "models.h"

#include "pipeline/planner/layer_graph_text.h"

static const char document[] = "node1 -- Input0 -- " FIGURES(
    0.000, 0.000, 0.0,
    0.000) "\n"
           "node7 -- LSTM(2048, 1024) -- " FIGURES(
               3.190, 5.348, [6291456.0; 131072.0],
               50364416.000) " -- stage_id=2\n"
                             "node8 -- odd -- name, a=b -- " FIGURES(
                                 0.00012, 0.000, 4.0,
                                 0.000) " -- stage_id=10\n"
                                        "\tnode1 -- node7\n"
                                        "\tnode7 -- node8\n"
                                        "\tnode7 -- node8";

static void
round_trip(void)
{
    MODEL(model, document);
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    EQUAL(model.nodes.list[1].outputs, 2);
    EQUAL(model.nodes.list[1].activation, 6422528);
    EQUAL(model.nodes.list[1].stage, 2);
    EQUAL(model.nodes.list[0].stage, FD_NO_STAGE);
    SAME(fd_model_text(&model, model.nodes.list[2].name), "odd -- name, a=b");
    fd_model_write_text(&model, &text);
    WRITTEN(&text, document);
}

static void
lines_of_other_systems(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    OK(model_of(&model,
                "\ta -- b\r\n\r\n"
                "a -- x -- " FIGURES(1, 2, 4, 8) "\r\n"
                                                 "b -- y -- " FIGURES(
                                                     1, 2, 4, 8) "\r\n",
                NULL));
    EQUAL(model.nodes.count, 2);
    EQUAL(model.edges.count, 1);
}

static void
invalid_lines(void)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {NODE("a", FIGURES(1, 2, 4, 8)) "what\n",
         "g.txt:2: neither a node 'ID -- NAME -- forward_compute_time=...' "
         "nor an edge '<TAB>ID -- ID': 'what'"},
        {"a -- forward_compute_time=1\n",
         "g.txt:1: a node has a name between its id and its figures: 'a -- "
         "forward_compute_time=1'"},
        {"a -- -- forward_compute_time=1\n", /* one space for both */
         "g.txt:1: a node has a name between its id and its figures: 'a -- -- "
         "forward_compute_time=1'"},
        {NODE("a", FIGURES(1, two, 4, 8)),
         "g.txt:1: backward_compute_time is not a finite number: 'two'"},
        {NODE("a", FIGURES(-1, 2, 4, 8)),
         "g.txt:1: forward_compute_time is negative: '-1'"},
        {NODE("a", FIGURES(nan, 2, 4, 8)),
         "g.txt:1: forward_compute_time is not a finite number: 'nan'"},
        {NODE("a", FIGURES(1, 2, [4; inf], 8)),
         "g.txt:1: activation_size is not a finite number: 'inf'"},
        {NODE("a", "forward_compute_time=1, activation_size=4"),
         "g.txt:1: expected backward_compute_time=: 'activation_size=4'"},
        {NODE("a", FIGURES(1, 2, 4, 8) ", more=1"),
         "g.txt:1: too many figures: 'more=1'"},
        {NODE("a", FIGURES(1, 2, 4, 8) " -- stage_id=1048577"),
         "g.txt:1: node 'a': stage_id is 1048577: a number from 0 to 1048576"},
        {NODE("a", FIGURES(1, 2, 4, 8) " -- stage_id=-3"),
         "g.txt:1: stage_id is not a non-negative number: '-3'"},
        {NODE("a", FIGURES(1, 2, 4, 8)) NODE("a", FIGURES(1, 2, 4, 8)),
         "g.txt:2: node 'a': duplicate id"},
        {NODE("", FIGURES(1, 2, 4, 8)), "g.txt:1: a node has no id"},
        {NODE("a\tb", FIGURES(1, 2, 4, 8)),
         "g.txt:1: node 'a\tb': an id has no tab, newline or ' -- '"},
        {NODE("\xff", FIGURES(1, 2, 4, 8)), "g.txt:1: a text is not UTF-8"},
        {NODE("a", FIGURES(1, 2, 4, 8)) "\ta -- b\n",
         "g.txt:2: an edge of an unknown node: 'b'"},
        {NODE("a", FIGURES(1, 2, 4, 8)) "\ta b\n",
         "g.txt:2: an edge is '<TAB>ID -- ID': 'a b'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_model_clear) fd_model model = {.about = 0};
        fd_error error = {""};
        STATUS(model_of(&model, cases[i].text, &error), FD_EFORMAT);
        SAME(error.text, cases[i].message);
    }
}

static void
byte_0_is_reported(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    fd_error error = {""};
    static const char text[] = "\n\ta -- \0b";
    STATUS(fd_model_read_text(&model, text, sizeof text - 1, "g.txt", &error),
           FD_EFORMAT);
    HAS(error.text, "g.txt:2: a byte 0");
}

RUN(TEST(round_trip), TEST(lines_of_other_systems), TEST(invalid_lines),
    TEST(byte_0_is_reported))
