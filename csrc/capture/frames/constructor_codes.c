#include "capture/frames/constructor_codes.h"

#if FD_HAS_HIDDEN_CONSTRUCTORS

#include "base/vector.h"
#include "capture/python/monitoring.h"

typedef struct constructor {
    PyCodeObject *code; /* borrowed; removed from the list when it is freed */
    const struct fd_code *known;
} constructor;

typedef FD_VECTOR(constructor) constructor_list;

static constructor_list constructors;
static int tool = -1;
static long events; /* events to report; 0: none */

/* A constructor is a simple __init__ that meets the conditions of CPython's
 * specializer. */
bool
fd_constructor_is(const PyCodeObject *code)
{
    enum { KINDS = CO_VARARGS | CO_VARKEYWORDS | CO_OPTIMIZED };
    return (code->co_flags & KINDS) == CO_OPTIMIZED
        && code->co_kwonlyargcount == 0
        && PyUnicode_CompareWithASCIIString(code->co_name, "__init__") == 0;
}

/* Enable the events of a code object. If there is no memory, its calls are not
 * reported, and are inferred from their callees. */
static void
report_code(PyCodeObject *code)
{
    if (fd_monitoring_set_local(tool, code, events) < 0) {
        PyErr_Clear();
    }
}

bool
fd_constructor_codes_add(PyCodeObject *code, const struct fd_code *known)
{
    if (!fd_constructor_is(code)
        || fd_vector_push(&constructors, (constructor){code, known})
               != FD_OK) {
        return false;
    }
    if (events != 0) {
        report_code(code);
    }
    return true;
}

void
fd_constructor_codes_remove(const struct fd_code *known)
{
    for (uint32_t i = constructors.count; i-- > 0;) {
        if (constructors.list[i].known == known) {
            constructors.list[i] = constructors.list[--constructors.count];
            return;
        }
    }
}

void
fd_constructor_codes_report(int new_tool, long new_events)
{
    tool = new_tool;
    events = new_events;
    for (uint32_t i = 0; i < constructors.count; i++) {
        report_code(constructors.list[i].code);
    }
}

#else

bool
fd_constructor_is(const PyCodeObject *code)
{
    (void)code;
    return false;
}

bool
fd_constructor_codes_add(PyCodeObject *code, const struct fd_code *known)
{
    (void)code;
    (void)known;
    return false;
}

void
fd_constructor_codes_remove(const struct fd_code *known)
{
    (void)known;
}

void
fd_constructor_codes_report(int new_tool, long new_events)
{
    (void)new_tool;
    (void)new_events;
}

#endif
