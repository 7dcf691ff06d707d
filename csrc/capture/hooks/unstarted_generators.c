#include "capture/hooks/unstarted_generators.h"

static PyTypeObject *const types[] = {&PyGen_Type, &PyCoro_Type,
                                      &PyAsyncGen_Type};
enum { TYPES = sizeof types / sizeof *types };

/* Kept after the end: another tool may call the finalizer below. */
static destructor previous[TYPES];
static fd_unstarted_call *count_call;

static destructor
previous_of(const PyTypeObject *type)
{
    int at = 0;
    while (at < TYPES - 1 && types[at] != type) {
        at++;
    }
    return previous[at];
}

/* The finalizer of the three types, in all interpreters. */
static void
finalize_generator(PyObject *generator)
{
    fd_frame *frame = fd_frame_unstarted(generator);
    if (frame != NULL && count_call != NULL
        && PyInterpreterState_Get() == PyInterpreterState_Main()) {
        count_call(frame);
    }
    previous_of(Py_TYPE(generator))(generator);
}

void
fd_unstarted_watch(fd_unstarted_call *count)
{
    count_call = count;
    for (int i = 0; i < TYPES; i++) {
        if (types[i]->tp_finalize != finalize_generator) {
            previous[i] = types[i]->tp_finalize;
            types[i]->tp_finalize = finalize_generator;
        }
    }
}

void
fd_unstarted_ignore(void)
{
    count_call = NULL;
    for (int i = 0; i < TYPES; i++) {
        if (types[i]->tp_finalize == finalize_generator) {
            types[i]->tp_finalize = previous[i];
        }
    }
}
