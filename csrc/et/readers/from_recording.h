/* An execution trace from a recording of ours (CallGraph(et=True)), finished
 * or cut short. */
#ifndef FD_FROM_RECORDING_H
#define FD_FROM_RECORDING_H

#include "et/et_graph.h"
#include "trace/anonymize.h"

/* Read `path`: nodes by id, with times; process groups. Ids are numbers of
 * nodes, tensors and storages in one row, as they came up, like PyTorch's: a
 * tensor that is new has a new one. FD_EFORMAT: no recording, or one without
 * calls for execution traces. `privacy` NULL: names stay; there is none of a
 * file in it. Clear `et` in any case. */
fd_status fd_et_from_recording(fd_et *et, const char *path,
                               const fd_privacy *privacy, fd_error *error);

/* The same with forwards of modules among the nodes (`rf_id` is the address of
 * the instance), and operands as facts (et/readers/operand_json.h) in `values` alone. */
fd_status fd_et_layers_of_recording(fd_et *et, const char *path,
                                    fd_error *error);

enum { FD_ET_SCOPE_MODULE = 100 }; /* beside the values of at::RecordScope */

#endif
