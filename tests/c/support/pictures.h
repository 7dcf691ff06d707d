/* Call trees as tables, and their graphs and exported files. */
#ifndef PICTURES_H
#define PICTURES_H

#include "fixtures.h"

#include "graphs/dot_styles.h"

/* A row of a table: one context and its figures on one rank. Its caller is the
 * nearest row above with a depth of one less. */
typedef struct picture_call {
    uint32_t depth; /* 0: a root */
    uint8_t kind;
    uint8_t from;
    const char *package; /* NULL: "" */
    const char *name;    /* for a Python function "file:Class:name" */
    uint64_t calls;
    uint64_t self;
    uint64_t resumes;
    uint32_t line;
    const char *qualified; /* NULL: "" */
    const char *module;    /* below the one root module "GPT"; NULL: none */
    uint32_t origin;       /* row, from 1; then this row has no callees */
    uint32_t rank;
    uint8_t flags; /* FD_CONTEXT_* */
} picture_call;

/* The start of a row. */
#define OTHER(d, k, n, c, s) \
    .depth = (d), .kind = (k), .name = (n), .calls = (c), .self = (s)
#define OP(d, n, c, s) OTHER(d, FD_NODE_OP, n, c, s)
#define SITE(d, p, n, c, s) \
    OTHER(d, FD_NODE_PYTHON, n, c, s), .from = FD_FROM_SITE, .package = (p)
#define TORCH(d, n, c, s) SITE(d, "torch", n, c, s)
#define USER(d, n, c, s) \
    OTHER(d, FD_NODE_PYTHON, n, c, s), .package = "project"
#define STDLIB(d, n, c, s) \
    OTHER(d, FD_NODE_PYTHON, n, c, s), .from = FD_FROM_STDLIB, \
                                       .package = "stdlib"

typedef struct picture {
    fd_trace *trace; /* owned, sorted */
    fd_export_options options;
    fd_graph graph;
    fd_buffer text; /* followed by a NUL that is not part of the size */
} picture;

/* Create the trace and the default options of the command line; `turned`: add
 * everything in another order. Must be cleared, also on failure. */
fd_status picture_make(picture *p, const picture_call *calls, uint32_t count,
                       bool turned);
void picture_clear(picture *p);
#define PICTURE_OF(p, calls) \
    picture_make(p, calls, sizeof(calls) / sizeof *(calls), false)

/* Declare such a picture, which the end of the test clears. */
#define PICTURE(p, calls) \
    CLEAN(picture_clear) picture p; \
    OK(PICTURE_OF(&p, calls))

/* Create the graph, or the text in a format, by the options. Can be called
 * again. */
fd_status picture_graph(picture *p);
fd_status picture_write(picture *p, const char *format);

/* The picture for the functions of a style that write text. */
fd_dot_picture picture_begin(picture *p);
fd_status picture_end(picture *p);

/* Declare such a picture with its graph, or with its text in a dot style. */
#define GRAPHED(p, calls) \
    PICTURE(p, calls); \
    OK(picture_graph(&p))
#define DRAWN(p, calls, drawn_as) \
    PICTURE(p, calls); \
    p.options.style = (drawn_as); \
    OK(picture_write(&p, "dot"))

/* Find a box or an edge of the graph; without one, calls is -1. */
const fd_box *picture_box(const picture *p, const char *key);
int64_t picture_calls(const picture *p, const char *key);
fd_edge picture_edge(const picture *p, const char *caller, const char *callee);
int picture_visibility(const picture *p, const char *key);

/* Whether the text contains this once, or not at all. */
bool picture_has(const picture *p, const char *part);
bool picture_lacks(const picture *p, const char *part);

#endif
