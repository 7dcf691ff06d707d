/* Execution traces in files of any kind. */
#ifndef FD_ET_FILE_H
#define FD_ET_FILE_H

#include "et/et_graph.h"

typedef enum fd_et_format {
    FD_ET_PYTORCH,  /* JSON, linked or not */
    FD_ET_CHAKRA,   /* .et */
    FD_ET_WORKLOAD, /* JSON for Chakra's feeder */
    FD_ET_CHROME,   /* a timeline; this and those below for output only */
    FD_ET_KINETO,   /* a Kineto trace as of torch.profiler */
    FD_ET_GRAPHML,
    FD_ET_DOT, /* a picture */
    FD_ET_UNKNOWN
} fd_et_format;

const char *fd_et_format_name(fd_et_format format);

/* Read `path`, gzip or not: nodes, types, communication and the edges of these
 * kinds, arranged (et/et_order.h). Clear `et` in any case. */
fd_status fd_et_load(fd_et *et, const char *path, uint32_t kinds,
                     fd_et_format *format, fd_error *error);

/* Read `path` without the other steps: nodes by id. Clear `et` in any case. */
fd_status fd_et_read(fd_et *et, const char *path, fd_et_format *format,
                     fd_error *error);

/* The remaining steps for nodes from other sources. */
fd_status fd_et_complete(fd_et *et, uint32_t kinds);

/* As a Kineto trace, independent of the name; gzip by ".gz". */
fd_status fd_et_save_kineto(const fd_et *et, const char *path,
                            fd_error *error);

/* As JSON for Chakra's feeder; FD_EINVAL: a name without .json. */
fd_status fd_et_save_workload(const fd_et *et, const char *path,
                              fd_error *error);

/* By the suffix of the name, ".gz" aside: .et, .json, .graphml, .dot; with
 * `timeline` only .json, a Chrome trace. FD_EINVAL: another suffix. */
fd_status fd_et_save(const fd_et *et, const char *path, bool timeline,
                     fd_error *error);

#endif
