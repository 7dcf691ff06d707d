/* Reading and writing of execution traces in all formats. */
#ifndef FD_ET_FILE_H
#define FD_ET_FILE_H

#include "et/et_graph.h"

/* Names of formats, by fd_et_format; the list ends with NULL. */
extern const char *const fd_et_format_names[];

/* Read the nodes and process groups of `path`, gzip or not; none of a Kineto
 * trace. Clear `et` also after a failure. */
fd_status fd_et_open(fd_et *et, const char *path, fd_error *error);

/* Read the recording of CallGraph(et=True), finished or truncated: nodes by id,
 * with times; process groups. Ids number nodes, tensors and storages together
 * in the order of their appearance, like PyTorch's: a new tensor has a new id.
 * FD_EFORMAT: not a recording, or one without calls for execution traces.
 * Clear `et` also after a failure.
 *
 * With `layers`, forwards of modules are among the nodes (`rf_id` is the
 * address of the instance), and operands have more facts
 * (et/readers/et_operands.h). */
fd_status fd_et_from_recording(fd_et *et, const char *path, bool layers,
                               fd_error *error);

/* In addition to the values of at::RecordScope. */
enum { FD_ET_SCOPE_MODULE = 100 };

/* Complete a trace whose nodes were read and whose communication is known:
 * times and edges of these kinds, in the order of fd_et_arrange. */
fd_status fd_et_complete(fd_et *et, uint32_t kinds);

/* Write a complete trace to a .et file of Chakra
 * (docs/formats/execution-trace.md), or .et.gz. FD_EINVAL: another suffix. */
fd_status fd_et_save(const fd_et *et, const char *path, fd_error *error);

#endif
