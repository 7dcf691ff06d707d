#include "random_models.h"

#include "pipeline/cuts/cut_regions.h"

#include <math.h>

/* Whether a set has, of each layer, all its dependencies. */
static bool
is_closed(const fd_layers *layers, uint64_t set)
{
    for (uint32_t i = 0; i < layers->count; i++) {
        if (fd_bits_has(&set, i)
            && (*fd_layers_row(layers, layers->within, i) & ~set) != 0) {
            return false;
        }
    }
    return true;
}

static double
sum_of(const double *of, uint64_t set)
{
    double sum = 0;
    for (; set != 0; set &= set - 1) {
        sum += of[__builtin_ctzll(set)];
    }
    return sum;
}

static bool
contains(const fd_cut_regions *r, uint32_t at, uint64_t set)
{
    const fd_cut_region *region = &r->list.list[at];
    uint64_t inside = *fd_cut_region_set(r, at, FD_CUT_REGION_INSIDE);
    uint64_t outside = *fd_cut_region_set(r, at, FD_CUT_REGION_OUTSIDE);
    double time = sum_of(r->times, set);
    return isfinite(region->bytes) && (inside & ~set) == 0
        && (outside & set) == 0 && time >= region->least_time
        && time <= region->most_time;
}

static void
check_bounds(const fd_cut_regions *r, uint32_t at, uint64_t set)
{
    const fd_cut_region *region = &r->list.list[at];
    double parameters = sum_of(r->parameters, set);
    uint64_t work;
    double bytes = fd_cut_bytes(r->flow.model, r->layers, &set, &work, false);
    CHECK(parameters >= region->least_parameters);
    CHECK(parameters <= region->most_parameters);
    CHECK(bytes >= region->bytes);
    if (region->single) {
        EQUAL(set, *fd_cut_region_set(r, at, FD_CUT_REGION_INSIDE));
        CHECK(bytes == region->bytes);
    }
}

/* Every state is in a region, whose bounds hold for it. */
static void
check_all(const fd_cut_regions *r)
{
    for (uint64_t set = 1; set < UINT64_C(1) << r->layers->count; set++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < r->list.count; i++) {
            if (is_closed(r->layers, set) && contains(r, i, set)) {
                check_bounds(r, i, set);
                found++;
            }
        }
        CHECK(found > 0 || !is_closed(r->layers, set));
    }
}

static void
regions_contain_all_states(void)
{
    for (uint32_t seed = 0; seed < 12; seed++) {
        CLEAN(fd_model_clear) fd_model model = {.about = 0};
        CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
        CLEAN(fd_cut_regions_clear) fd_cut_regions regions = {.capacity = 0};
        OK(random_model(&model, seed, 8));
        OK(fd_layers_make(&layers, &model, NULL));
        OK(fd_cut_regions_make(&regions, &model, &layers));
        fd_cut_region_scale scale = {regions.time / 4, 1e6};
        check_all(&regions);
        for (uint32_t i = 0; i < regions.list.count; i++) {
            while (isfinite(regions.list.list[i].bytes)
                   && !regions.list.list[i].single) {
                OK(fd_cut_regions_divide(&regions, i, scale));
            }
        }
        check_all(&regions);
    }
}

static void
order_of_regions(void)
{
    CLEAN(fd_model_clear) fd_model model = {.about = 0};
    CLEAN(fd_layers_clear) fd_layers layers = {.count = 0};
    CLEAN(fd_cut_regions_clear) fd_cut_regions regions = {.capacity = 0};
    OK(random_model(&model, 1, 8));
    OK(fd_layers_make(&layers, &model, NULL));
    OK(fd_cut_regions_make(&regions, &model, &layers));
    /* Once by a layer: the first part contains it. */
    OK(fd_cut_regions_divide(&regions, 0, (fd_cut_region_scale){1e9, 1e9}));
    EQUAL(regions.list.count, 2);
    CHECK(fd_cut_regions_in_order(&regions, 1, 0));
    CHECK(!fd_cut_regions_in_order(&regions, 0, 1));
}

RUN(TEST(regions_contain_all_states), TEST(order_of_regions))
