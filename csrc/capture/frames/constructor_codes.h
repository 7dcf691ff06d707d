/* The code objects of constructors (see constructors.h), and whether they
 * report their calls. Empty before Python 3.13. Requires the GIL. */
#ifndef FD_CONSTRUCTOR_CODES_H
#define FD_CONSTRUCTOR_CODES_H

#include "capture/python/pyframe.h"

struct fd_code;

/* Whether CPython may enter the function without the evaluator hook. */
bool fd_constructor_is(const PyCodeObject *code);

/* Add a code object if it is a constructor, which is returned; it reports its
 * calls if the others do. */
bool fd_constructor_codes_add(PyCodeObject *code, const struct fd_code *known);

/* The code object is being freed. */
void fd_constructor_codes_remove(const struct fd_code *known);

/* Make all of them report these events to the tool of sys.monitoring; 0:
 * report nothing. */
void fd_constructor_codes_report(int new_tool, long new_events);

#endif
