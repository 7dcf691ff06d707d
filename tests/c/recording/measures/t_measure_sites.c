#include "check.h"

#include "recording/measures/measure_sites.h"

ABSORBS(sites_are_found_in_any_order)
{
    CLEAN(fd_sites_clear) fd_measure_sites sites = {0};
    static const uint32_t contexts[] = {7, 9, 7, 8, 9, 9, 7, 8, 8, 7, 9};
    for (uint32_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        fd_measure_site *site = fd_sites_at(&sites, contexts[i]);
        OK(site->spare ? FD_ENOMEM : FD_OK);
        EQUAL(site->context, contexts[i]);
        site->elements++;
    }
    EQUAL(sites.all.count, 3);
    EQUAL(fd_sites_at(&sites, 7)->elements, 4);
    EQUAL(fd_sites_at(&sites, 8)->elements, 3);
    EQUAL(fd_sites_at(&sites, 9)->elements, 4);
}

ABSORBS(new_sites_have_no_key_and_no_shape)
{
    CLEAN(fd_sites_clear) fd_measure_sites sites = {0};
    for (uint32_t context = 1; context < 40; context++) {
        fd_measure_site *site = fd_sites_at(&sites, context);
        CHECK(site->key[0] == FD_NO_KEY && site->shape == NULL);
        site->key[0] = 0;
        OK(site->spare ? FD_ENOMEM : FD_OK);
    }
}

TEST(sites_beyond_the_bound_keep_nothing)
{
    CLEAN(fd_sites_clear) fd_measure_sites sites = {0};
    for (uint32_t context = 1; context <= FD_MAX_SITES; context++) {
        OK(fd_sites_at(&sites, context)->spare ? FD_ENOMEM : FD_OK);
    }
    for (uint32_t i = 0; i < 2; i++) {
        fd_measure_site *site = fd_sites_at(&sites, FD_MAX_SITES + 1);
        CHECK(site->spare && site->key[0] == FD_NO_KEY && !site->resolved);
        site->key[0] = 0;
        site->resolved = true;
    }
    EQUAL(sites.all.count, FD_MAX_SITES);
    CHECK(!fd_sites_at(&sites, FD_MAX_SITES)->spare);
}
