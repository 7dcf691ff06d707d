/* Cache from C functions called by Python code to their nodes. A function is
 * identified by its method definition and the class of its `self`. Requires
 * the GIL. */
#ifndef FD_C_FUNCTIONS_H
#define FD_C_FUNCTIONS_H

#include "capture/python/classes.h"

#include "base/status.h"

/* A called C function. */
typedef struct fd_c_target {
    const PyMethodDef *method;
    PyTypeObject *type; /* class of `self`, or `self` if it is a class; else
                           NULL */
    PyObject *module;   /* borrowed: its module, the module's name, or NULL */
} fd_c_target;

typedef struct fd_c_function {
    const PyMethodDef *method; /* NULL: a free slot */
    const char *name;          /* name stored in the recording */
    uint32_t receiver;         /* id of the class; 0: none */
    uint32_t node;
    uint32_t hash; /* of method and class */
    bool dropped;  /* rejected by the keep filter */
} fd_c_function;

typedef struct fd_c_functions {
    fd_c_function *slots; /* owned; NULL before the first function */
    uint32_t mask;
    uint32_t count;
} fd_c_functions;

void fd_c_functions_clear(fd_c_functions *functions);

/* Find a function, or return NULL. Names are compared too, because libraries
 * allocate and free method definitions. */
const fd_c_function *fd_c_functions_find(const fd_c_functions *functions,
                                         const fd_classes *classes,
                                         const fd_c_target *target);

/* Add a new function and set its hash. A table of maximum size is emptied
 * first. If there is no memory, the function is not added. */
void fd_c_functions_add(fd_c_functions *functions, fd_c_function function,
                        const fd_c_target *target);

#endif
