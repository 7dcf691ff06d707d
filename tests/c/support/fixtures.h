/* Small, reproducible recordings and traces for tests. Only fixture_work
 * advances the clock, so all times are known. */
#ifndef FIXTURES_H
#define FIXTURES_H

#include "check.h"

#include "recording/context_tree.h"
#include "recording/recording.h"
#include "recording/steps/step_table.h"
#include "trace/trace.h"

/* A recording in progress. Ticks are nanoseconds. */
typedef struct fixture {
    fd_recording *recording; /* owned */
    fd_steps steps;
    fd_tree *main; /* the tree of the thread "main" */
} fixture;

/* In memory if `path` is NULL. */
fd_status fixture_open(fixture *f, const char *path, size_t max_mb);

/* In memory, with a timeline. */
fd_status fixture_open_timeline(fixture *f, const fd_timeline *timeline);

void fixture_clear(fixture *f);

/* Declare such a recording, which the end of the test clears. */
#define FIXTURE(f, path, max_mb) \
    CLEAN(fixture_clear) fixture f; \
    OK(fixture_open(&f, path, max_mb))
#define FIXTURE_AND_TRACE(f, trace) \
    FIXTURE(f, NULL, 4); \
    CLEAN(fixture_trace_free) fd_trace *trace = NULL
#define FIXTURE_TIMELINE(f, ...) \
    CLEAN(fixture_clear) fixture f; \
    OK(fixture_open_timeline(&f, &(fd_timeline){__VA_ARGS__}))

/* Stop the recording and close its file. */
void fixture_stop(fixture *f);

uint32_t fixture_node(fixture *f, uint8_t kind, const char *name);
uint32_t fixture_function(fixture *f, const char *name, uint32_t flags);

/* Attach a thread and start its clock; NULL without room. */
fd_tree *fixture_thread(fixture *f, const char *role);

/* Count a call by the running function of `tree`; returns its context. */
fd_context *fixture_enter(fd_tree *tree, fd_callee callee);
fd_context *fixture_enter_node(fd_tree *tree, uint32_t node);
void fixture_leave(fd_tree *tree);

/* A whole call of this duration. */
fd_context *fixture_call(fd_tree *tree, uint32_t node, uint64_t ns);

/* Advance the clock. */
void fixture_work(uint64_t ns);

/* The size of the file up to the end of the last chunk. */
size_t fixture_bytes(const fixture *f);

/* The recording, read from memory, without or with its timeline. */
fd_status fixture_reload(const fixture *f, fd_trace **trace);
fd_status fixture_reload_timeline(const fixture *f, fd_trace **trace);

/* Record two steps of training on rank `rank` of 2, 475 ns each:
 *
 *   main          train 200+                          self ns per step
 *                 ├─ [GPT]:forward 20                 module of class GPT
 *                 │   ├─ aten::embedding 30
 *                 │   └─ [Block]:forward 40 twice     blocks.0, blocks.1
 *                 │       └─ aten::linear 50, 60
 *                 └─ [Adam]:step 35
 *   autograd:0    AddmmBackward0 70 / 80              origin: the two linears
 *                 │   └─ aten::mm 25                  below the first only
 *                 └─ AccumulateGrad 15
 *
 * train waits for the autograd thread, which is idle for 300 ns per step.
 * train is left open. */
fd_status fixture_train(fixture *f, uint32_t rank);

/* fixture_train to a finished file. `run` may be NULL. */
fd_status fixture_recorded(const char *path, uint32_t rank, const char *run);

/* The same as a trace. */
fd_status fixture_trace(fd_trace **trace, uint32_t rank, const char *run);

/* Declare such a trace, which the end of the test frees. */
#define TRAINED_TRACE(trace, rank, run) \
    CLEAN(fixture_trace_free) fd_trace *trace = NULL; \
    OK(fixture_trace(&trace, rank, run))
void fixture_trace_free(fd_trace **trace);

/* Declare an empty trace, which the end of the test frees. */
#define NEW_TRACE(trace) \
    CLEAN(fixture_trace_free) fd_trace *trace = fd_trace_new(); \
    OK(trace != NULL ? FD_OK : FD_ENOMEM)

/* Add a text, and a fact of a rank with its JSON. */
fd_status fixture_text(fd_trace *trace, const char *text, uint32_t *id);
fd_status fixture_fact(fd_trace *trace, fd_trace_rank *rank, const char *key,
                       const char *json);

/* Set file, class and name of a node from "file:Class:name". */
fd_status fixture_split_name(fd_trace *trace, const char *name,
                             fd_trace_node *node);

/* Add a context of a new or known node below `parent` to a trace, with figures
 * on the first rank (which is added if missing). The name of a Python node may
 * be "file:Class:name". */
fd_status fixture_add(fd_trace *trace, uint32_t parent, uint8_t kind,
                      const char *name, uint64_t calls, uint64_t self,
                      uint32_t *id);

/* Whether the tables of two sorted traces are the same. */
bool fixture_same(const fd_trace *a, const fd_trace *b);

/* The first context of a sorted trace whose node has this name, or 0; and its
 * figure on a rank, or zero. */
uint32_t fixture_find(const fd_trace *trace, const char *name);
fd_figure fixture_figure(const fd_trace *trace, uint32_t rank,
                         uint32_t context);

/* Merge a copy of a trace (fd_merge_take). */
fd_status fixture_merge(fd_trace *into, const fd_trace *from, const char *name,
                        fd_error *error);

/* Whether the invariants of a trace hold: ids in range, parents first, names
 * for all values, texts in UTF-8. */
bool fixture_sound(const fd_trace *trace);

/* Whole files. */
fd_status fixture_read(const char *path, fd_buffer *to);
fd_status fixture_write(const char *path, const void *bytes, size_t size);
fd_status fixture_write_text(const char *path, const char *text);

/* Create and publish a file by its path; NULL: in memory. */
fd_status fixture_file_create(fd_file *file, const char *path,
                              size_t max_bytes, fd_error *error);

#endif
