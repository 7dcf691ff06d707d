#include "traces.h"

#include "et/et_writers.h"

#include <string.h>

static void
nodes_and_edges(void)
{
    LOADED(et);
    fd_status status;
    fd_bytes_out *out = fd_bytes_out_open("a.graphml", &status, NULL);
    OK(status);
    status = fd_et_write_graphml(&et, out, NULL);
    fd_buffer *text = fd_bytes_out_text(out);
    fd_buffer_bytes(text, "", 1);
    bool written = text->status == FD_OK;
    bool node = written
             && strstr(text->bytes, "<data key=\"name\">aten::relu_</data>"
                                    "<data key=\"type\">COMP</data>"
                                    "<data key=\"parent\">2</data>"
                                    "<data key=\"cpu\">true</data>"
                                    "<data key=\"tid\">1</data></node>\n")
                    != NULL;
    bool comm = written
             && strstr(text->bytes, "<data key=\"comm\">ALL_REDUCE</data>"
                                    "<data key=\"bytes\">24</data>"
                                    "<data key=\"group\">0</data></node>\n")
                    != NULL;
    bool edge = written
             && strstr(text->bytes, "<data key=\"kinds\">order,data</data>"
                                    "</edge>\n")
                    != NULL;
    fd_bytes_out_drop(out);
    OK(written ? status : FD_ENOMEM);
    CHECK(node);
    CHECK(comm);
    CHECK(edge);
}

RUN(TEST(nodes_and_edges))
