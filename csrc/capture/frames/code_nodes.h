/* Facts about a code object, stored in the slot CPython gives to tools
 * (co_extra) and freed with it. Needs the GIL. */
#ifndef FD_CODE_NODES_H
#define FD_CODE_NODES_H

#include "capture/process/process.h"
#include "capture/rules/code_flags.h"

#include <stdint.h>

/* The place of the object whose class goes into the key. */
enum {
    FD_RECEIVER_NONE,
    FD_RECEIVER_LOCAL,      /* a parameter `self` */
    FD_RECEIVER_CELL,       /* the same, boxed once a generator has started */
    FD_RECEIVER_FREE,       /* a free variable `self` */
    FD_RECEIVER_CLASS,      /* a parameter `cls`: its value is the class */
    FD_RECEIVER_FREE_CLASS, /* a free variable `cls` */
    FD_RECEIVER_FIRST       /* a first parameter of any other name */
};

typedef struct fd_code {
    uint32_t id;              /* never 0, never used again */
    int16_t slot;             /* of the receiver; -1 for FD_RECEIVER_NONE */
    uint16_t special;         /* FD_CODE_*; 0 for nearly all code */
    uint8_t receiver;         /* FD_RECEIVER_* */
    bool constructor;         /* see constructors.h */
    PyCodeObject *code;       /* borrowed: it frees us */
    struct fd_job_site *jobs; /* owned; where FD_CODE_JOB is set */
    struct fd_code *next;     /* of all that are known */
    struct fd_code **link;    /* what points here */
} fd_code;

/* Reserve the slot. -1 with an exception. */
int fd_code_init(void);

/* What is known already; NULL before the first sight. */
static inline const fd_code *
fd_code_known(const PyCodeObject *code)
{
    return fd_frame_code_extra(code, fd_process.code_index);
}

/* Look at a code object for the first time. NULL when memory is out. Keeps a
 * pending exception. */
const fd_code *fd_code_add(PyCodeObject *code);

/* There are other rules about jobs now: look at all known code once more. */
void fd_code_look_again(void);

/* The object that decides the class, borrowed; NULL when it is unbound. */
PyObject *fd_receiver_value(const fd_code *known, const fd_frame *frame);

/* Whether that object is an instance of the class, and not the class. */
static inline bool
fd_receiver_is_instance(const fd_code *known)
{
    return known->receiver != FD_RECEIVER_CLASS
        && known->receiver != FD_RECEIVER_FREE_CLASS;
}

/* The class that a call of this frame belongs to, NULL for none. */
PyTypeObject *fd_receiver_type(const fd_code *known, const fd_frame *frame);

/* Whether that class goes into the key: always, except for a first parameter
 * of another name, whose class must be one that the method's own qualified
 * name mentions. */
bool fd_receiver_counts(const fd_code *known, const PyCodeObject *code,
                        const PyTypeObject *type);

#endif
