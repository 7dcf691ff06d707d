/* CUPTI, the tracing library of CUDA, as a table of functions, and the layout
 * of its records. The program has loaded it (PyTorch needs it); this folder
 * never loads it and needs no headers.
 *
 * Records grow only at their ends, so the offsets are the same in all known
 * versions; a version that is not known is refused. */
#ifndef FD_CUPTI_LIBRARY_H
#define FD_CUPTI_LIBRARY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FD_CUPTI_SUCCESS = 0,
    FD_CUPTI_INVALID = 1,  /* invalid parameter */
    FD_CUPTI_REFUSED = 35, /* insufficient privileges */
    FD_CUPTI_TAKEN = 39    /* another tool is subscribed */
};

/* Kinds of records. */
enum { FD_CUPTI_COPY = 1, FD_CUPTI_FILL = 2, FD_CUPTI_KERNEL = 10 };

typedef void fd_cupti_called(void *user, int domain, uint32_t function,
                             const void *call);
typedef void fd_cupti_requested(uint8_t **buffer, size_t *size,
                                size_t *records);
typedef void fd_cupti_completed(void *context, uint32_t stream,
                                uint8_t *buffer, size_t size, size_t valid);

typedef struct fd_cupti {
    int (*version)(uint32_t *version);
    int (*subscribe)(void **subscriber, fd_cupti_called *called, void *user);
    int (*subscribe_named)(void **subscriber, fd_cupti_called *called,
                           void *user, void *names); /* NULL before 13.0 */
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t on, void *subscriber, int domain,
                           uint32_t function);
    int (*enable)(int kind);
    int (*disable)(int kind);
    int (*register_buffers)(fd_cupti_requested *requested,
                            fd_cupti_completed *completed);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*dropped)(void *context, uint32_t stream, size_t *count);
    int (*flush)(uint32_t forced);
    int (*graph_node)(const void *node, uint64_t *id); /* may be NULL */
    const char *library;                               /* file name */
    uint32_t number; /* version of the interface */
} fd_cupti;

/* A record of a kernel, a copy or a fill. */
typedef struct fd_cupti_record {
    int kind; /* FD_CUPTI_KERNEL, _COPY or _FILL */
    uint32_t device;
    uint32_t stream;
    uint32_t correlation;
    uint64_t start; /* ns of CLOCK_REALTIME; 0: not measured */
    uint64_t end;
    uint64_t bytes;   /* of a copy or fill */
    uint64_t node;    /* of a CUDA graph; 0: none */
    const char *name; /* of a kernel; memory of CUPTI */
    uint8_t copy;     /* direction of a copy */
    uint8_t from;     /* kind of memory */
    uint8_t to;       /* the same, also of a fill */
} fd_cupti_record;

/* Find the library that the program has loaded. FD_EINVAL, with a sentence
 * without a full stop: no library is loaded, or its records are not known. */
fd_status fd_cupti_find(fd_cupti *cupti, fd_error *error);

/* Subscribe and return CUPTI's result. If another tool is subscribed, `holder`
 * becomes its name, or "" if it is unknown. */
int fd_cupti_subscribe(const fd_cupti *cupti, void **subscriber,
                       fd_cupti_called *called, char holder[64]);

/* What CUPTI calls: at launches, to get a buffer, and with a full one. */
typedef struct fd_cupti_functions {
    fd_cupti_called *called;
    fd_cupti_requested *requested;
    fd_cupti_completed *completed;
} fd_cupti_functions;

enum { FD_PROBLEM = 160 }; /* size of a sentence */

/* Subscribe, and enable records and callbacks. If CUPTI refuses any of it,
 * undo it, set `problem` to a sentence without a full stop, and return false. */
bool fd_cupti_take(const fd_cupti *cupti, const fd_cupti_functions *functions,
                   void **subscriber, char problem[FD_PROBLEM]);

/* Disable the records. */
void fd_cupti_disable(const fd_cupti *cupti);

/* Enable the callbacks of functions that launch (fd_launch_function), and of
 * nodes of CUDA graphs. Return the
 * number of functions whose callback is enabled. */
uint32_t fd_cupti_listen(const fd_cupti *cupti, void *subscriber);

/* Return the correlation id of a call, at its begin or its end. */
uint32_t fd_cupti_launched(const void *call, bool *begins);

/* Callbacks of nodes of CUDA graphs: the domain, a new node, a copied one. */
enum { FD_CUPTI_RESOURCE = 3, FD_CUPTI_NEW_NODE = 13, FD_CUPTI_COPIED = 20 };

/* Return the id of the node of a callback of this domain, or of the node that
 * it is a copy of; 0: not known. */
uint64_t fd_cupti_node(const fd_cupti *cupti, const void *resource,
                       bool original);

/* Decode a record, of which `room` bytes can be read. Return false if it is of
 * another kind or too short. */
bool fd_cupti_decode(const void *record, size_t room, fd_cupti_record *to);

#endif
