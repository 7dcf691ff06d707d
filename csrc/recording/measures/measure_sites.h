/* What a thread keeps about the measured calls of each operator at each call
 * path: of the same inputs as last time, nothing is computed again.
 *
 *     context ──► is it the site that followed last time? ──► fd_map ──► site
 *
 * Of bounded number; beyond it, and without memory, a site that keeps
 * nothing. Only the owner of the tree uses them. */
#ifndef FD_MEASURE_SITES_H
#define FD_MEASURE_SITES_H

#include "base/map.h"
#include "base/vector.h"
#include "recording/measures/measure_format.h"

#include <stdbool.h>

enum { FD_SITE_KEY = 30, FD_MAX_SITES = 1 << 16 };

/* The figures are those of inputs with this key (capture/operands). */
typedef struct fd_measure_site {
    uint32_t context;
    uint32_t next;    /* the site after the latest call of this one */
    uint32_t figures; /* of the operator; FD_NO_FIGURES: not yet known */
    uint32_t shapes;  /* shapes of the path that are kept */
    bool values;      /* of which numbers are kept too */
    bool spare;       /* keeps nothing */
    uint16_t kind;    /* of its FLOPs: FD_MEASURE_*; 0: not counted */
    const void *formula;
    uint64_t elements;
    uint64_t bytes;
    uint64_t flops;
    uint64_t flop_bytes;
    fd_measure *shape;     /* NULL: not recorded, or no room */
    fd_measure *counts[2]; /* of `kind`, without and with autograd; the same */
    uint64_t key[FD_SITE_KEY];
} fd_measure_site;

#define FD_NO_FIGURES UINT32_MAX
#define FD_NO_KEY UINT64_MAX /* in the first word of a key */

typedef struct fd_measure_sites {
    FD_VECTOR(fd_measure_site) all;
    fd_map index;         /* context -> place in `all` + 1 */
    uint32_t latest;      /* place of the latest call */
    fd_measure_site none; /* for a site without room */
} fd_measure_sites;

void fd_sites_clear(fd_measure_sites *sites);

/* The site of a context that did not follow last time. */
fd_measure_site *fd_sites_find(fd_measure_sites *sites, uint32_t context);

/* The site of a context, valid until the next call. */
static inline fd_measure_site *
fd_sites_at(fd_measure_sites *sites, uint32_t context)
{
    fd_measure_site *all = sites->all.list;
    if (__builtin_expect(sites->all.count != 0, true)) {
        uint32_t next = all[sites->latest].next;
        if (all[next].context == context) {
            sites->latest = next;
            return &all[next];
        }
    }
    return fd_sites_find(sites, context);
}

#endif
