#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
must(bool holds)
{
    if (!holds) {
        abort(); /* the text of the test is wrong */
    }
}

static uint32_t
named(const made_model *made, uint32_t count, const char *name)
{
    uint32_t i = 0;
    while (i < count && strcmp(made->names[i], name) != 0) {
        i++;
    }
    must(i < count);
    return i;
}

fd_model
model_of(made_model *made, const char *text)
{
    fd_model model = {
        .ids = made->ids, .layers = made->layers, .edges = made->edges};
    for (; *text != '\0'; text = strchr(text, '\n') + 1) {
        char from[8];
        char to[8];
        if (*text == '\t') {
            must(sscanf(text, "\t%7s -- %7s", from, to) == 2);
            made->edges[model.edge_count++] = (fd_layer_edge){
                named(made, model.count, from), named(made, model.count, to)};
            continue;
        }
        fd_layer *layer = &made->layers[model.count];
        *layer = (fd_layer){.saved = -1};
        made->ids[model.count] = made->names[model.count];
        must(sscanf(text, "%7s %lf %lf %lf %lf", made->names[model.count++],
                    &layer->forward, &layer->backward, &layer->activation,
                    &layer->parameters)
             == 5);
    }
    return model;
}
