#include "pipeline/cuts/state_family.h"

#include "base/hash.h"

#include <string.h>

static void
release_index(void *index)
{
    fd_index_clear(index);
}

fd_state_family
fd_family_make(fd_arena *arena, const fd_model *model, const fd_layers *layers)
{
    return (fd_state_family){
        .model = model,
        .layers = layers,
        .arena = arena,
        .index = fd_arena_owned(arena, sizeof(fd_index), release_index),
        .next = fd_arena_new(arena, layers->words, sizeof(uint64_t))};
}

uint32_t
fd_family_put(fd_state_family *f)
{
    uint32_t words = f->layers->words;
    size_t bytes = words * sizeof *f->next;
    uint64_t hash = fd_hash_bytes(f->next, bytes);
    fd_probe probe = fd_index_probe(f->index, hash);
    uint32_t found;
    while ((found = fd_index_next(f->index, &probe)) != 0) {
        if (memcmp(fd_family_row(f, found - 1), f->next, bytes) == 0) {
            return found - 1;
        }
    }
    fd_arena_reserve(f->arena, &f->rows, words);
    memcpy(&f->rows.list[f->rows.count], f->next, bytes);
    f->rows.count += words;
    f->count++;
    fd_arena_check(f->arena, fd_index_add(f->index, hash, f->count));
    return f->count - 1;
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

uint32_t
fd_family_begin(fd_state_family *f)
{
    memset(f->next, 0, f->layers->words * sizeof *f->next);
    uint32_t source = fd_family_source(f, f->next);
    fd_family_join(f, f->next, source);
    return fd_family_put(f);
}
