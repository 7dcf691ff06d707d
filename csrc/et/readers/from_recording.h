/* An execution trace from a recording (CallGraph(et=True)), finished or
 * truncated. */
#ifndef FD_FROM_RECORDING_H
#define FD_FROM_RECORDING_H

#include "et/et_graph.h"

/* Read `path`: nodes by id, with times; process groups. Ids number nodes,
 * tensors and storages together in the order of their appearance, like
 * PyTorch's: a new tensor has a new id. FD_EFORMAT: not a recording, or one
 * without calls for execution traces. Clear `et` also after a failure.
 *
 * With `layers`, forwards of modules are among the nodes (`rf_id` is the
 * address of the instance), and operands are facts
 * (et/readers/operand_json.h), only in `values`. */
fd_status fd_et_from_recording(fd_et *et, const char *path, bool layers,
                               fd_error *error);

/* In addition to the values of at::RecordScope. */
enum { FD_ET_SCOPE_MODULE = 100 };

#endif
