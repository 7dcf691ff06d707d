/* The paths of the modules below a module. A single walk collects the paths of
 * all of them, instead of one walk per module:
 *
 *     holder ── blocks ── 0 ── attention      names │blocks│0│attention│...
 *                                             list   1: name, below 0
 *     at   address of attention ──► 3                2: name, below 1
 *                                                    3: name, below 2
 *
 * The cache stores addresses only and keeps no object alive: each result is
 * verified against the current modules of the holder, and the walk is repeated
 * if they differ. The total cost of all walks is bounded. Requires the GIL. */
#ifndef FD_MODULE_FINDER_H
#define FD_MODULE_FINDER_H

#include "capture/python/pyframe.h"

#include "base/map.h"
#include "base/vector.h"

enum {
    FD_FINDER_HOLDERS = 16, /* maximum holders in the cache */
    FD_FINDER_DEPTH = 32,   /* maximum containers between two forwards */
    FD_FINDER_PATH = 512    /* maximum bytes of a path */
};

typedef struct fd_found_module {
    uintptr_t module; /* address of the module */
    uint32_t name;    /* offset in `names` */
    uint32_t below;   /* index of its parent; 0: the holder */
} fd_found_module;

/* The modules below one holder. */
typedef struct fd_found_modules {
    uintptr_t holder; /* address of the holder; 0: unused */
    uint64_t used;    /* number of the search that last used it */
    fd_map at;        /* address of a module -> index */
    FD_VECTOR(fd_found_module) list; /* index 0 is the holder */
    FD_VECTOR(char) names;           /* NUL-terminated names */
} fd_found_modules;

typedef struct fd_finder {
    fd_found_modules kept[FD_FINDER_HOLDERS];
    fd_found_modules
        small;     /* result of the latest walk, if it found few modules */
    PyObject *key; /* owned: "_modules"; NULL before the first walk */
    uint64_t searches;
    uint64_t visits; /* number of modules visited by all walks */
} fd_finder;

void fd_finder_clear(fd_finder *finder);

typedef enum fd_finding {
    FD_FOUND,
    FD_NOT_BELOW,   /* not found */
    FD_NOT_SEARCHED /* unknown: the limit of visits is reached */
} fd_finding;

/* Find the path from `holder` to `wanted`, with dots between names. */
fd_finding fd_finder_path(fd_finder *finder, PyObject *holder,
                          PyObject *wanted, char path[FD_FINDER_PATH]);

#endif
