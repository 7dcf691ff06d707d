/* What calls say of their data, as numbers that two traces share. */
#ifndef FD_ET_FORMS_H
#define FD_ET_FORMS_H

#include "et/diff.h"
#include "et/twins.h"

/* Fill `names` and `forms` of a side. Lists that differ in spaces and quotes
 * alone are the same, and so are numbers of steps in ProfilerStep#N. */
fd_status fd_et_find_forms(fd_et_diff *diff, fd_et_twin_side *side);

#endif
