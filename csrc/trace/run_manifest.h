/* The files that the manifest.json of a run directory lists. */
#ifndef FD_RUN_MANIFEST_H
#define FD_RUN_MANIFEST_H

#include "trace/interned_texts.h"

#include <stdbool.h>

typedef struct fd_manifest {
    fd_text_pool files;
    bool names_any;
} fd_manifest;

/* Read the manifest, if the file exists. Clear it also after a failure. */
fd_status fd_manifest_read(fd_manifest *manifest, const char *path,
                           fd_error *error);
void fd_manifest_clear(fd_manifest *manifest);

/* Return whether a file is part of the run: false only if the manifest lists
 * files without this one. */
bool fd_manifest_names(const fd_manifest *manifest, const char *name);

#endif
