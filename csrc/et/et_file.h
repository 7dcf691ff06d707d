/* Reading and writing of execution traces in all formats. */
#ifndef FD_ET_FILE_H
#define FD_ET_FILE_H

#include "et/et_graph.h"

/* The formats of inputs. */
typedef enum fd_et_format {
    FD_ET_PYTORCH, /* JSON, linked or not */
    FD_ET_CHAKRA,  /* .et */
    FD_ET_KINETO,  /* a Kineto trace, which only et link reads */
    FD_ET_UNKNOWN
} fd_et_format;

const char *fd_et_format_name(fd_et_format format);

/* Read `path`, gzip or not: nodes, types, communication and the edges of these
 * kinds, in the order of et/et_order.h. Clear `et` also after a failure. */
fd_status fd_et_load(fd_et *et, const char *path, uint32_t kinds,
                     fd_et_format *format, fd_error *error);

/* Complete a trace whose nodes were read: types, communication, edges of these
 * kinds, order. */
fd_status fd_et_complete(fd_et *et, uint32_t kinds);

/* The two parts of fd_et_load, within a request: read only the nodes of
 * `path`, sorted by id, none of a Kineto trace; complete the trace. */
fd_et_format fd_et_read(fd_et *et, const char *path);
void fd_et_derive(fd_et *et, uint32_t kinds);

/* Write a trace in the format of the suffix: .et, .json, each also
 * with .gz. FD_EINVAL: another suffix. */
fd_status fd_et_save(const fd_et *et, const char *path, fd_error *error);

#endif
