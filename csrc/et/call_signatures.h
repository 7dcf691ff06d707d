/* Names and signatures of calls as numbers that two traces share. */
#ifndef FD_CALL_SIGNATURES_H
#define FD_CALL_SIGNATURES_H

#include "et/tools/et_diff_rows.h"
#include "et/tools/node_matching.h"

/* Fill `names` and `signatures` of a side. Lists that differ only in spaces
 * and quotes are equal, and so are all numbers of ProfilerStep#N. */
fd_status fd_et_find_signatures(fd_et_diff *diff, fd_et_match_side *side);

#endif
