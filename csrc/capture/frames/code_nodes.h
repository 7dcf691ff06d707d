/* Facts about a code object, stored in its co_extra word and freed with it.
 * Requires the GIL. */
#ifndef FD_CODE_NODES_H
#define FD_CODE_NODES_H

#include "capture/process/process.h"
#include "capture/rules/code_flags.h"

#include <stdint.h>

/* The location of the object whose class is part of the key. */
enum {
    FD_RECEIVER_NONE,
    FD_RECEIVER_LOCAL,      /* a parameter `self` */
    FD_RECEIVER_CELL,       /* `self`, in a cell after a generator starts */
    FD_RECEIVER_FREE,       /* a free variable `self` */
    FD_RECEIVER_CLASS,      /* a parameter `cls`: its value is the class */
    FD_RECEIVER_FREE_CLASS, /* a free variable `cls` */
    FD_RECEIVER_FIRST       /* a first parameter of any other name */
};

typedef struct fd_code {
    uint32_t id;        /* never 0, never reused */
    int32_t slot;       /* slot of the receiver; -1 for FD_RECEIVER_NONE */
    uint16_t special;   /* FD_CODE_*; 0 for nearly all code */
    uint16_t node;      /* FD_NODE_* of its functions; 0 for nearly all */
    uint8_t receiver;   /* FD_RECEIVER_* */
    bool constructor;   /* see constructors.h */
    bool quiet;         /* with some classes: session/quiet_calls.h */
    uint32_t seen;      /* serial of the latest session that recorded it */
    uint32_t class_id;  /* class of its latest recorded call */
    uint32_t returned;  /* serial of the session in which it has returned since
                           its first watched step */
    PyCodeObject *code; /* borrowed; the code object owns this struct */
    struct fd_job_site *jobs; /* owned; set with FD_CODE_JOB */
    struct fd_code *next;     /* next in the list of all known code */
    struct fd_code **link;    /* pointer that points to this struct */
} fd_code;

/* Reserve the co_extra index. Return -1 with an exception on failure. */
int fd_code_init(void);

/* Return the facts of a known code object, or NULL. */
static inline const fd_code *
fd_code_known(const PyCodeObject *code)
{
    return fd_frame_code_extra(code, fd_process.code_index);
}

/* Note that a session has recorded a known code object with this class. */
static inline void
fd_code_saw(const PyCodeObject *code, uint32_t serial, uint32_t class_id)
{
    fd_code *known = fd_frame_code_extra(code, fd_process.code_index);
    if (known != NULL) {
        known->seen = serial;
        known->class_id = class_id;
    }
}

/* Note that a known code object has returned. */
static inline void
fd_code_returned(const PyCodeObject *code)
{
    fd_code *known = fd_frame_code_extra(code, fd_process.code_index);
    if (known != NULL) {
        known->returned = fd_process_serial();
    }
}

/* Collect the facts of a new code object. Return NULL if there is no memory.
 * Keeps a pending exception. */
const fd_code *fd_code_add(PyCodeObject *code);

/* Return whether CPython may enter the function without the evaluator hook: see
 * constructors.h. */
bool fd_constructor_is(const PyCodeObject *code);

/* Make all such functions, also those to come, report these events to the tool
 * of sys.monitoring; 0: report nothing. */
void fd_constructors_report(int tool, long events);

/* Apply changed job rules to all known code. */
void fd_code_refresh(void);

/* Set the function whose ends are ends of steps: "NAME" or "FILE:NAME", the
 * end of its qualified name and of its path; NULL: none. Return false if there
 * is no memory. */
bool fd_code_set_step(const char *function);

/* Return the object that determines the class, borrowed, or NULL if it is
 * unbound. */
PyObject *fd_receiver_value(const fd_code *known, const fd_frame *frame);

/* Return whether that object is an instance of the class, as opposed to the
 * class itself. */
static inline bool
fd_receiver_is_instance(const fd_code *known)
{
    return known->receiver != FD_RECEIVER_CLASS
        && known->receiver != FD_RECEIVER_FREE_CLASS;
}

/* Return the class of the call of this frame, or NULL. */
PyTypeObject *fd_receiver_type(const fd_code *known, const fd_frame *frame);

/* Return whether the class is part of the key. For a first parameter with
 * another name than `self` or `cls`, it is only if the qualified name of the
 * method names the class or one of its bases. */
bool fd_receiver_counts(const fd_code *known, const PyCodeObject *code,
                        const PyTypeObject *type);

#endif
