/* Where the modules below a module are. One walk finds the places of all of
 * them, instead of one walk for each:
 *
 *     holder ── blocks ── 0 ── attention      names │blocks│0│attention│...
 *                                             list   1: name, below 0
 *     at   address of attention ──► 3                2: name, below 1
 *                                                    3: name, below 2
 *
 * Addresses only, nothing is kept alive: an answer is checked against the
 * holder as it is now, and where it does not fit the walk is done again. The
 * sum of all walks is bounded. Needs the GIL. */
#ifndef FD_PLACES_H
#define FD_PLACES_H

#include "capture/pyframe.h"

#include "base/map.h"
#include "base/vector.h"

enum {
    FD_PLACES = 16,       /* holders whose places are kept */
    FD_PLACE_DEPTH = 32,  /* of containers between two forwards */
    FD_PLACE_NAME = 512   /* bytes of a path */
};

typedef struct fd_place_below {
    uint32_t name;  /* where it begins in `names` */
    uint32_t below; /* place of what it is an attribute of; 0: the holder */
} fd_place_below;

/* The places below one holder. */
typedef struct fd_places {
    uintptr_t holder; /* 0: of none */
    uint64_t used;    /* when it was asked last */
    fd_map at;        /* address of a module -> place */
    FD_VECTOR(fd_place_below) list; /* place 0 is the holder */
    FD_VECTOR(char) names;          /* each with its NUL */
} fd_places;

typedef struct fd_finder {
    fd_places kept[FD_PLACES];
    fd_places small; /* of the latest holder with few modules below it */
    PyObject *key;    /* owned: "_modules"; NULL before the first walk */
    uint64_t asked;
    uint64_t visits; /* modules that walks have looked at */
} fd_finder;

void fd_finder_clear(fd_finder *finder);

typedef enum fd_finding {
    FD_FOUND,
    FD_NOT_BELOW, /* it is not there */
    FD_NOT_SOUGHT /* it may be there: walks have cost too much */
} fd_finding;

/* The path from `holder` to `wanted`, attributes with points between them. */
fd_finding fd_finder_path(fd_finder *finder, PyObject *holder,
                          PyObject *wanted, char path[FD_PLACE_NAME]);

#endif
