/* All states of a model, divided into regions. The states of a region contain
 * the layers of `inside`, lack those of `outside`, and take from `least_time`
 * to `most_time`:
 *
 *     time  0      least   most                  all layers
 *           |--------|=======|---------------------|
 *            inside    free        outside
 *
 * Layers that all of these states contain are inside, layers that none of them
 * contains are outside. A region is divided by time, or by a layer that one
 * half contains and the other one lacks. */
#ifndef FD_CUT_REGIONS_H
#define FD_CUT_REGIONS_H

#include "pipeline/cuts/minimum_cuts.h"

typedef struct fd_cut_region {
    double least_time; /* seconds */
    double most_time;
    double least_parameters; /* bytes */
    double most_parameters;
    double bytes; /* lower bound of the bytes at a cut; INFINITY: the region is
                   * empty */
    bool single;  /* the region has exactly one state */
} fd_cut_region;

/* The sets of a region. */
enum {
    FD_CUT_REGION_INSIDE,
    FD_CUT_REGION_OUTSIDE,
    FD_CUT_REGION_CUT,
    FD_CUT_REGION_SETS
};

typedef struct fd_cut_regions {
    const fd_layers *layers; /* borrowed */
    fd_cut_flow flow;
    double *times;      /* owned; per layer, seconds */
    double *parameters; /* owned; per layer, bytes */
    double time;        /* seconds of all layers */
    double bytes;       /* bytes of the parameters of all layers */
    uint64_t *after;    /* owned; a row per layer: itself and the layers that
                         * depend on it */
    uint64_t *sets;     /* owned; FD_CUT_REGION_SETS rows per region */
    uint32_t capacity;  /* capacity of `sets` in regions */
    FD_VECTOR(fd_cut_region) list;
} fd_cut_regions;

/* Make one region of all states. Clear the regions also after a failure. */
fd_status fd_cut_regions_make(fd_cut_regions *regions, const fd_model *model,
                              const fd_layers *layers);
void fd_cut_regions_clear(fd_cut_regions *regions);

static inline uint64_t *
fd_cut_region_set(const fd_cut_regions *regions, uint32_t region, int set)
{
    return &regions->sets[((size_t)region * FD_CUT_REGION_SETS + (size_t)set)
                          * regions->layers->words];
}

/* Weights for the choice of a division: seconds, and bytes of parameters that
 * count as much. */
typedef struct fd_cut_region_scale {
    double time;
    double parameters;
} fd_cut_region_scale;

/* Divide a region of more than one state: it becomes the first part, and the
 * second part is appended. Parts longer than the time of the scale are divided
 * by time. */
fd_status fd_cut_regions_divide(fd_cut_regions *regions, uint32_t region,
                                fd_cut_region_scale scale);

/* Return whether a state of region `before` can be a subset of one of region
 * `after`. */
bool fd_cut_regions_in_order(const fd_cut_regions *regions, uint32_t before,
                             uint32_t after);

#endif
