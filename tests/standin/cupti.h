/* Functions of the stand-in CUPTI (cupti.c) for tests. Python calls them
 * through ctypes. */
#ifndef STANDIN_CUPTI_H
#define STANDIN_CUPTI_H

#include <stddef.h>
#include <stdint.h>

/* Forget everything; version 130001. */
void standin_cupti_reset(void);
void standin_cupti_version(uint32_t version);

/* Let another tool of this name hold the subscription; NULL: none. */
void standin_cupti_hold(const char *name);

/* Let another tool register its buffers: it gets all later records. */
void standin_cupti_take_over(void);

/* Let a function return `result`; 0: work again. */
void standin_cupti_fail(const char *function, int result);

/* Let records wait: flushes return no buffers, except forced ones. */
void standin_cupti_delay(int on);

/* Cut the last record of the next buffer. */
void standin_cupti_tear(void);

/* A call of the program: the callback of this function, if it is enabled. */
void standin_cupti_call(int domain, uint32_t function, uint32_t correlation);

/* A call of the runtime that calls a function of the driver. */
void standin_cupti_nested(uint32_t function, uint32_t correlation,
                          uint32_t of_driver, uint32_t inner);

/* A new node of a CUDA graph, by a launch that is captured, or a copy of
 * `original`, if that is not 0. The ids are those of the nodes. */
void standin_cupti_node(uint64_t node, uint64_t original);

/* Launch a kernel on a thread of this name that has no Python code. */
void standin_cupti_thread(const char *thread, const char *name, uint64_t ns);

/* Records as CUPTI has stored them in a buffer, for the next flush, of the
 * kinds that are enabled. */
void standin_cupti_records(const uint8_t *bytes, size_t size);

/* Let kernel records with the pointer `name` in them have this name. */
void standin_cupti_name(uint64_t name, const char *text);

/* Launch a kernel, or a copy of `bytes` if `name` is NULL: the call, and a
 * record of `ns` from now or from the end of the last one. */
void standin_cupti_launch(const char *name, uint64_t ns, uint64_t bytes);

/* The same for a copy: direction, kinds of memory, as in CUPTI's records. */
void standin_cupti_copy(int direction, int from, int to, uint64_t ns,
                        uint64_t bytes);

/* Sleep until all that was launched has run. */
void standin_cupti_wait(void);

/* The correlation id of the next launch. */
void standin_cupti_next(uint32_t correlation);

/* Number of calls of a function; kinds that are enabled, a bit for each. */
uint64_t standin_cupti_calls(const char *function);
uint32_t standin_cupti_kinds(void);

#endif
