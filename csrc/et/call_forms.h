/* What calls say of their data, as numbers that two traces share. */
#ifndef FD_CALL_FORMS_H
#define FD_CALL_FORMS_H

#include "et/tools/et_diff.h"
#include "et/tools/node_matching.h"

/* Fill `names` and `forms` of a side. Lists that differ in spaces and quotes
 * alone are the same, and so are numbers of steps in ProfilerStep#N. */
fd_status fd_et_find_forms(fd_et_diff *diff, fd_et_twin_side *side);

#endif
