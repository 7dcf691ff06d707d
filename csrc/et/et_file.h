/* Reading and writing of execution traces in all formats. */
#ifndef FD_ET_FILE_H
#define FD_ET_FILE_H

#include "et/et_graph.h"

/* Names of formats, by fd_et_format; the list ends with NULL. */
extern const char *const fd_et_format_names[];

/* Read the nodes and process groups of `path`, gzip or not; none of a Kineto
 * trace. Clear `et` also after a failure. */
fd_status fd_et_open(fd_et *et, const char *path, fd_error *error);

/* Complete a trace whose nodes were read: types, communication, edges of these
 * kinds, in the order of et/et_order.h. */
fd_status fd_et_complete(fd_et *et, uint32_t kinds);

/* Write a trace in the format of the suffix: .et, .json, each also
 * with .gz. FD_EINVAL: another suffix. */
fd_status fd_et_save(const fd_et *et, const char *path, fd_error *error);

#endif
