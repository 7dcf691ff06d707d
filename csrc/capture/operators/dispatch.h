/* The `dispatch` back end: PyTorch passes every operator below autograd to a
 * mode object, with its arguments as Python objects. Requires the GIL. */
#ifndef FD_DISPATCH_H
#define FD_DISPATCH_H

#include "base/vector.h"
#include "capture/state/session_state.h"

/* A known operator. Its address is constant: Python code, which can add other
 * operators, runs while it is in use. */
typedef struct fd_dispatched {
    PyObject *function; /* owned: the OpOverload; its address is the key */
    PyObject *call;     /* owned: runs the operator without a Python frame */
    PyObject *name;     /* owned: "aten::add" */
    uint64_t calls;
    uint32_t serial; /* serial of the session of `node` */
    uint32_t node;
    int8_t range; /* 1: begins a range, -1: ends one */
} fd_dispatched;

typedef struct fd_dispatch {
    FD_VECTOR(fd_dispatched *) list; /* owned */
    fd_map by_address;               /* function -> index in list + 1 */
    PyObject *autograd_node;  /* owned: torch._C._current_autograd_node */
    uint64_t number;          /* number of the next autograd node, at the last
                                 operator */
    uint64_t autograd_number; /* number of the node of the last backward
                                 operator */
    uintptr_t autograd_address; /* address of that node */
} fd_dispatch;

/* Return -1 with an exception if PyTorch is not imported. */
int fd_dispatch_init(fd_dispatch *dispatch);
void fd_dispatch_clear(fd_dispatch *dispatch);
int fd_dispatch_traverse(fd_dispatch *dispatch, visitproc visit, void *arg);

/* The implementation of __torch_dispatch__: record the call, run it, return
 * its result. */
PyObject *fd_dispatch_call(fd_dispatch *dispatch, PyObject *function,
                           PyObject *args, PyObject *kwargs);

#endif
