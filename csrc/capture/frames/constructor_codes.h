/* The code objects of constructors (see constructors.h), and whether they
 * report their calls. None on Python before 3.13. Needs the GIL. */
#ifndef FD_CONSTRUCTOR_CODES_H
#define FD_CONSTRUCTOR_CODES_H

#include "capture/python/pyframe.h"

struct fd_code;

/* Whether CPython may enter the function without asking the evaluator hook. */
bool fd_constructor_is(const PyCodeObject *code);

/* Add a code object, which reports its calls if the others do; returns whether
 * it is a constructor. */
bool fd_constructor_codes_add(PyCodeObject *code, const struct fd_code *known);

/* The code object is being freed. */
void fd_constructor_codes_remove(const struct fd_code *known);

/* From now on all of them report these events to the tool of sys.monitoring;
 * no events: they report nothing. */
void fd_constructor_codes_report(int new_tool, long new_events);

#endif
