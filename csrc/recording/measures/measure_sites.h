/* Caches of the recorded shapes of each operator at each call path, one per
 * thread: nothing is recomputed for the same inputs as last time.
 *
 *     context ──► is it the site that followed last time? ──► fd_map ──► site
 *
 * Their number is limited; beyond the limit, and if there is no memory, the
 * result is a site that keeps nothing. Only the owner of the tree uses
 * them. */
#ifndef FD_MEASURE_SITES_H
#define FD_MEASURE_SITES_H

#include "base/map.h"
#include "base/vector.h"
#include "recording/measures/measure_format.h"

#include <stdbool.h>

enum { FD_SITE_KEY = 30, FD_MAX_SITES = 1 << 16 };

/* A cache for one context; its figures are those of inputs with `key`
 * (capture/operands). */
typedef struct fd_measure_site {
    uint32_t context;
    uint32_t next;   /* index of the site after the latest call of this one */
    uint32_t shapes; /* number of recorded shapes of the path */
    bool resolved;   /* whether the next two are known */
    bool wanted;     /* whether shapes of this operator are recorded */
    bool values;     /* whether the shapes include numbers */
    bool spare;      /* whether the site keeps nothing */
    uint64_t elements;
    uint64_t bytes;
    fd_measure *shape; /* NULL: no space */
    uint64_t key[FD_SITE_KEY];
} fd_measure_site;

#define FD_NO_KEY UINT64_MAX /* in the first word: the site has no key */

typedef struct fd_measure_sites {
    FD_VECTOR(fd_measure_site) all;
    fd_map index;         /* context -> index in `all` + 1 */
    uint32_t latest;      /* index of the site called last */
    fd_measure_site none; /* returned if there is no space */
} fd_measure_sites;

void fd_sites_clear(fd_measure_sites *sites);

/* Find or add the site of a context if the prediction was wrong. */
fd_measure_site *fd_sites_find(fd_measure_sites *sites, uint32_t context);

/* Return the site of a context, valid until the next call. */
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
