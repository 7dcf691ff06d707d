#include "pipeline/cuts/state_family.h"

#include "base/hash.h"

#include <string.h>

void
fd_family_clear(fd_state_family *f)
{
    fd_free(f->rows);
    fd_free(f->next);
    fd_index_clear(&f->index);
}

fd_status
fd_family_put(fd_state_family *f, uint32_t *index)
{
    uint32_t words = f->layers->words;
    uint64_t hash = fd_hash_bytes(f->next, words * sizeof *f->next);
    fd_probe probe = fd_index_probe(&f->index, hash);
    uint32_t found;
    while ((found = fd_index_next(&f->index, &probe)) != 0) {
        if (memcmp(fd_family_row(f, found - 1), f->next,
                   words * sizeof *f->next)
            == 0) {
            *index = found - 1;
            return FD_OK;
        }
    }
    if (f->count == f->capacity) {
        size_t capacity = f->capacity > 0 ? (size_t)f->capacity * 2 : 64;
        uint64_t *rows =
            capacity > UINT32_MAX
                ? NULL
                : fd_realloc(f->rows, capacity * words * sizeof *rows);
        if (rows == NULL) {
            return FD_ENOMEM;
        }
        f->rows = rows;
        f->capacity = (uint32_t)capacity;
    }
    memcpy(&f->rows[(size_t)f->count * words], f->next,
           words * sizeof *f->next);
    *index = f->count++;
    return fd_index_add(&f->index, hash, f->count);
}

bool
fd_family_follows(const fd_state_family *f, const uint64_t *state,
                  uint32_t layer)
{
    return !fd_bits_has(state, layer)
        && fd_layers_parent_in(f->layers, layer, state);
}

uint32_t
fd_family_source(const fd_state_family *f, const uint64_t *state)
{
    const fd_layers *layers = f->layers;
    uint32_t layer = 0;
    for (; layer < layers->count; layer++) {
        const uint64_t *within = fd_layers_row(layers, layers->within, layer);
        bool source = true;
        for (uint32_t i = 0; i < layers->words; i++) {
            source = source
                  && (i == layer / 64 ? within[i] == UINT64_C(1) << layer % 64
                                      : within[i] == 0);
        }
        if (source && !fd_bits_has(state, layer)) {
            break;
        }
    }
    return layer;
}

void
fd_family_join(const fd_state_family *f, const uint64_t *state, uint32_t layer)
{
    uint32_t words = f->layers->words;
    memcpy(f->next, state, words * sizeof *f->next);
    fd_bits_join(f->next, fd_layers_row(f->layers, f->layers->within, layer),
                 words);
}

fd_status
fd_family_begin(fd_state_family *f, uint32_t *index)
{
    memset(f->next, 0, f->layers->words * sizeof *f->next);
    uint32_t source = fd_family_source(f, f->next);
    fd_family_join(f, f->next, source);
    return fd_family_put(f, index);
}
