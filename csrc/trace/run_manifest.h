/* The files that the manifest.json of a run directory names. */
#ifndef FD_RUN_MANIFEST_H
#define FD_RUN_MANIFEST_H

#include "trace/interned_texts.h"

#include <stdbool.h>

typedef struct fd_manifest {
    fd_text_pool files;
    bool names_any;
} fd_manifest;

/* Read the manifest, if the file exists. Clear it in any case. */
fd_status fd_manifest_read(fd_manifest *manifest, const char *path,
                           fd_error *error);
void fd_manifest_clear(fd_manifest *manifest);

/* Whether this file is part of the run: true unless the manifest names other
 * files only. */
bool fd_manifest_names(const fd_manifest *manifest, const char *name);

#endif
