/* Functions recognised by name, as data: those that open a phase, end a step,
 * fold their callees, or belong to a tracer. */
#ifndef FD_NAME_RULES_H
#define FD_NAME_RULES_H

#include "capture/python/pyframe.h"

#include <stdint.h>

/* Return the FD_CODE_* bits of a code object, and set the FD_NODE_* bits
 * (phase, fold) of its functions. Requires the GIL. */
uint16_t fd_rules_code(const PyCodeObject *code, uint16_t *node);

#endif
