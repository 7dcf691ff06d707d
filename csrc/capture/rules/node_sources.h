/* Numbers read from the arguments of a call, in the notation of a rule:
 *
 *     arg:NAME         a parameter             arg:schedule.stages
 *     attr:NAME        of the first parameter  attr:stage_index
 *     !arg:NAME        1 if false, else 0
 *     count            number of earlier jobs of the kind
 *     7                the number
 *
 * No code of the program runs: attributes are read from the instance or its
 * class, never through a property, another descriptor or __getattr__. Numbers
 * are integers; any value has a truth value. Requires the GIL. */
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
    int32_t slot;   /* index of the local variable; -1: the code has no such
                       parameter */
    int64_t number; /* value of FD_SOURCE_NUMBER */
    PyObject *path[FD_SOURCE_DEPTH]; /* owned; names of attributes */
} fd_source;

/* Return the source for calls of `code`; NULL: none. The text is valid. If the code has no such parameter,
 * the value of the source is unknown. */
fd_source fd_source_of(const char *text, const PyCodeObject *code);
void fd_source_clear(fd_source *source);

/* Return the object as a new reference, or NULL. Sets no exception. */
PyObject *fd_source_object(const fd_source *source, const fd_frame *frame);

/* Return the number, or -1 if it is unknown or for FD_SOURCE_COUNT. */
int64_t fd_source_number(const fd_source *source, const fd_frame *frame);

/* Return the bytes that a call moves, from a number or from the sizes of
 * tensors (program_objects.h), or 0 if unknown. */
uint64_t fd_source_bytes(const fd_source *source, const fd_frame *frame);

/* Return whether the value is true, or `otherwise` if it is unknown. */
bool fd_source_holds(const fd_source *source, const fd_frame *frame,
                     bool otherwise);

#endif
