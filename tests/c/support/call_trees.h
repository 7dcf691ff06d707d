/* Call trees as tables, and their exported files. */
#ifndef CALL_TREES_H
#define CALL_TREES_H

#include "fixtures.h"

#include "profile/totals.h"
#include "trace/export_options.h"

/* A row of a table: one context and its figures on one rank. Its caller is the
 * nearest row above with a depth of one less. */
typedef struct tree_call {
    uint32_t depth; /* 0: a root */
    uint8_t kind;
    const char *package; /* NULL: "" */
    const char *name;    /* for a Python function "file:Class:name" */
    uint64_t calls;
    uint64_t self;
    uint64_t resumes;
    uint32_t line;
    const char *qualified; /* NULL: "" */
    const char *module;    /* below the one root module "GPT"; NULL: none */
    uint32_t rank;
} tree_call;

/* The start of a row. */
#define OTHER(d, k, n, c, s) \
    .depth = (d), .kind = (k), .name = (n), .calls = (c), .self = (s)
#define OP(d, n, c, s) OTHER(d, FD_NODE_OP, n, c, s)
#define USER(d, n, c, s) \
    OTHER(d, FD_NODE_PYTHON, n, c, s), .package = "project"

typedef struct call_tree {
    fd_trace *trace; /* owned, sorted */
    fd_export_options options;
    fd_buffer text; /* followed by a NUL that is not part of the size */
} call_tree;

/* Create the trace and default options. Must be cleared, also on failure. */
fd_status call_tree_make(call_tree *t, const tree_call *calls, uint32_t count);
void call_tree_clear(call_tree *t);
#define CALL_TREE_OF(t, calls) \
    call_tree_make(t, calls, sizeof(calls) / sizeof *(calls))

/* Declare such a tree, which the end of the test clears. */
#define CALL_TREE(t, calls) \
    CLEAN(call_tree_clear) call_tree t; \
    OK(CALL_TREE_OF(&t, calls))

/* Write the text in a format, by the options. Can be called again. */
fd_status call_tree_write(call_tree *t, const char *format);

#endif
