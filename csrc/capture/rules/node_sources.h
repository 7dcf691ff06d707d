/* Numbers read from the arguments of a call, as a rule names them:
 *
 *     arg:NAME         a parameter             arg:schedule.stages
 *     attr:NAME        of the first parameter  attr:stage_index
 *     !arg:NAME        0 for what is true, 1 for what is not
 *     count            number of jobs of the kind before
 *     7                itself
 *
 * Reading is plain: attributes from the instance or its class, never a
 * property, a descriptor of the program or __getattr__. Only whole
 * numbers are numbers; any value has a truth value. Needs the GIL. */
#ifndef FD_NODE_SOURCES_H
#define FD_NODE_SOURCES_H

#include "capture/python/pyframe.h"

#include <stdint.h>

enum { FD_SOURCE_DEPTH = 2 };

typedef struct fd_source {
    enum {
        FD_SOURCE_NONE,
        FD_SOURCE_NUMBER,
        FD_SOURCE_COUNT,
        FD_SOURCE_VALUE
    } from;
    bool negated;
    int16_t slot;   /* local; -1: the code has no such parameter */
    int64_t number; /* FD_SOURCE_NUMBER */
    PyObject *path[FD_SOURCE_DEPTH]; /* owned: names of attributes */
} fd_source;

/* Whether a text is a valid source; NULL is. */
bool fd_source_is_valid(const char *text);

/* The source for calls of `code`. Without such a parameter nothing is
 * read. */
fd_source fd_source_of(const char *text, const PyCodeObject *code);
void fd_source_clear(fd_source *source);

/* Whether the code has what the source names. */
static inline bool
fd_source_is_there(const fd_source *source)
{
    return source->from != FD_SOURCE_VALUE || source->slot >= 0;
}

/* The object, a new reference; NULL when it is not there. No exception. */
PyObject *fd_source_object(const fd_source *source, const fd_frame *frame);

/* The number, -1 when there is none; FD_SOURCE_COUNT has none. */
int64_t fd_source_number(const fd_source *source, const fd_frame *frame);

/* How many bytes a call moves: the number, or those of the tensors there
 * (tensors.h); 0: not known. */
uint64_t fd_source_bytes(const fd_source *source, const fd_frame *frame);

/* Whether it is true; `otherwise` when that is unknown. */
bool fd_source_holds(const fd_source *source, const fd_frame *frame,
                     bool otherwise);

#endif
