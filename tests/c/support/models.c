#include "models.h"

#include "pipeline/planner/layer_graph_text.h"

#include <string.h>

fd_status
model_of(fd_model *model, const char *text, fd_error *error)
{
    return fd_model_read_text(model, text, strlen(text), "g.txt", error);
}
