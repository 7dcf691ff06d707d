#include "recording/measures/measure_sites.h"

void
fd_sites_clear(fd_measure_sites *sites)
{
    fd_vector_clear(&sites->all);
    fd_map_clear(&sites->index);
    sites->latest = 0;
}

static fd_measure_site
make_site(uint32_t context)
{
    return (fd_measure_site){.context = context, .key = {FD_NO_KEY}};
}

/* Add a site and return its index + 1, or 0 if there is no space. */
static uint32_t
add_site(fd_measure_sites *sites, uint32_t context)
{
    if (sites->all.count >= FD_MAX_SITES
        || fd_vector_reserve(&sites->all, 1) != FD_OK
        || fd_map_put(&sites->index, context, sites->all.count + 1) != FD_OK) {
        return 0;
    }
    sites->all.list[sites->all.count++] = make_site(context);
    return sites->all.count;
}

fd_measure_site *
fd_sites_find(fd_measure_sites *sites, uint32_t context)
{
    uint32_t found = fd_map_get(&sites->index, context);
    if (found == 0) {
        found = add_site(sites, context);
    }
    if (found == 0) {
        sites->none = make_site(context);
        sites->none.spare = true;
        return &sites->none;
    }
    sites->all.list[sites->latest].next = found - 1;
    sites->latest = found - 1;
    return &sites->all.list[found - 1];
}
