/* The code objects of constructors (constructors.h), and the switch for
 * reporting their calls. Empty before Python 3.13. Requires the GIL. */
#ifndef FD_CONSTRUCTOR_CODES_H
#define FD_CONSTRUCTOR_CODES_H

#include "capture/python/pyframe.h"

struct fd_code;

/* Return whether CPython may enter the function without the evaluator hook. */
bool fd_constructor_is(const PyCodeObject *code);

/* Add a code object if it is a constructor, and return whether it was added.
 * It reports its calls if the others do. */
bool fd_constructor_codes_add(PyCodeObject *code, const struct fd_code *known);

/* Remove a code object that is being freed. */
void fd_constructor_codes_remove(const struct fd_code *known);

/* Make all constructors report these events to the tool of sys.monitoring; 0:
 * report nothing. */
void fd_constructor_codes_report(int new_tool, long new_events);

#endif
