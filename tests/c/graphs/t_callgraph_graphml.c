#include "check.h"
#include "pictures.h"

static const picture_call run[] = {
    {OTHER(0, FD_NODE_THREAD, "main", 0, 5)},
    {USER(1, "a.py:<B>\\:f&g", 2, 10), .line = 7},
    {OP(2, "aten::mm", 3, 20), .resumes = 4},
    {OTHER(2, FD_NODE_RANGE, "evaluate", 1, 0)},
};

static void
functions_and_calls(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    p.options.ops = FD_OPS_ALL;
    OK(picture_write(&p, "graphml"));
    CHECK(picture_has(&p, "<data key=\"key\">a.py:[&lt;B&gt;\\]:f&amp;g</data>"
                          "<data key=\"kind\">python</data>"
                          "<data key=\"from\">project</data>"
                          "<data key=\"package\">project</data>"
                          "<data key=\"file\">a.py</data>"
                          "<data key=\"class\">&lt;B&gt;\\</data>"
                          "<data key=\"name\">f&amp;g</data>"
                          "<data key=\"line\">7</data>"
                          "<data key=\"calls\">2</data>"
                          "<data key=\"resumes\">0</data>"
                          "<data key=\"ops\">3</data>"
                          "<data key=\"self\">10</data>"
                          "<data key=\"total\">30</data>"));
    CHECK(picture_has(&p, "<data key=\"calls\">3</data>"
                          "<data key=\"resumes\">4</data>"
                          "<data key=\"total\">20</data></edge>\n"));
    CHECK(picture_has(&p, "<data key=\"kind\">range</data>"));
}

static void
python_only_by_default(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    OK(PICTURE(&p, run));
    OK(picture_write(&p, "graphml"));
    CHECK(picture_lacks(&p, "aten::mm"));
    CHECK(picture_has(&p, "<edge"));
}

static void
calls_without_times(void)
{
    CLEAN(picture_clear) picture p = {.trace = NULL};
    static const picture_call counted[] = {
        {OTHER(0, FD_NODE_THREAD, "main", 0, 0)},
        {USER(1, "a.py::f", 2, 0)},
        {USER(2, "a.py::g", 2, 0)},
    };
    OK(picture_make(&p, counted, 3, true));
    p.options.ops = FD_OPS_ALL;
    OK(picture_write(&p, "graphml"));
    CHECK(picture_lacks(&p, "<data key=\"total\">"));
    CHECK(picture_has(&p, "<edge source="));
}

RUN(TEST(functions_and_calls), TEST(python_only_by_default),
    TEST(calls_without_times))
