/* Execution traces for tests. */
#ifndef TRACES_H
#define TRACES_H

#include "check.h"

#include "et/et_file.h"
#include "et/et_link.h"

/* Write a document of PyTorch node by node. `schema` "" is a label; inputs and
 * outputs are JSON lists. */
void traces_begin(fd_buffer *to);
void traces_node(fd_buffer *to, unsigned id, unsigned parent, const char *name,
                 const char *schema, const char *in, const char *out);
/* The same with `more` members, each after a comma. */
void traces_more(fd_buffer *to, unsigned id, unsigned parent, const char *name,
                 const char *more);
void traces_end(fd_buffer *to);

/* The roots, 1 and 2, and below the thread
 *
 *     3 ## process_group:init ##
 *     4 aten::linear (x 10, w 11) -> y 12
 *     5   aten::addmm (x, w) -> y
 *     6 aten::relu_ (y) -> y, written according to the schema
 *     7 aten::view (y) -> a view of y
 *     8 c10d::allreduce_ (y)
 *     9   gloo:all_reduce (y)
 *    20 c10d::send (y, to rank 1, tag 7) */
void traces_small(fd_buffer *to);

/* Write the text to `name` and load it. */
fd_status traces_load(fd_et *et, const char *name, const fd_buffer *text,
                      uint32_t kinds, fd_error *error);

/* Declare a trace and a text to load it from, which the end of the test
 * clears; the text is empty, or has its begin. */
#define TRACE_TEXT(text, et) \
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL}; \
    CLEAN(fd_et_clear) fd_et et
#define TRACE_BEGUN(text, et) \
    TRACE_TEXT(text, et); \
    traces_begin(&text)

static inline fd_span
traces_span(const char *text)
{
    return (fd_span){text, text + strlen(text)};
}

/* Declare an empty trace to build in the test, which the end clears. */
#define EMPTY_TRACE(et) \
    CLEAN(fd_et_clear) fd_et et = {.rank = -1}; \
    ENTER(&et.arena)

/* Read a file with edges of these kinds; read both files of a rank, and add
 * the kernels, with all edges. Clear `et` also after a failure. */
fd_status traces_read(fd_et *et, const char *path, uint32_t kinds,
                      fd_error *error);
fd_status traces_link(fd_et *et, const char *path, const char *kineto,
                      fd_error *error);

/* traces_small, loaded. */
fd_status traces_loaded(fd_et *et);

/* Declare such a trace, which the end of the test clears. */
#define LOADED(et) \
    CLEAN(fd_et_clear) fd_et et; \
    OK(traces_loaded(&et))

/* The node of an id; aborts the test if it is missing. */
const fd_et_node *traces_find(const fd_et *et, uint64_t id);

/* The attribute of a node, empty if it is missing. */
const fd_et_attr *traces_attr(const fd_et *et, const fd_et_node *node,
                              const char *name);

/* The first node of a name; aborts the test if it is missing. */
const fd_et_node *traces_named(const fd_et *et, const char *name);

/* The kinds of the edge between ids; 0: no edge. */
uint32_t traces_edge(const fd_et *et, uint64_t from, uint64_t to);

#endif
