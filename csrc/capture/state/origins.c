#include "capture/state/origins.h"

#include "base/alloc.h"
#include "recording/node_table.h"

#include <ctype.h>
#include <string.h>

enum {
    MAX_RINGS = 9, /* 8 MB in total, part of the quarter of max_mb */
    MAX_NAME = 128
};

void
fd_origins_clear(fd_origins *origins)
{
    for (int i = 0; i < FD_RINGS; i++) {
        fd_free(origins->rings[i]);
        origins->rings[i] = NULL;
    }
}

/* Create a ring. The caller holds the lock. */
static fd_ring *
new_ring(fd_origins *origins, uint64_t thread)
{
    if (origins->count >= MAX_RINGS) {
        return NULL;
    }
    uint32_t size = origins->count == 0 ? FD_RING_MAIN : FD_RING_OTHER;
    size_t words = origins->keeps_starts ? 2 * (size_t)size : size;
    fd_ring *ring =
        fd_calloc(1, sizeof *ring + words * sizeof ring->entries[0]);
    if (ring != NULL) {
        ring->mask = size - 1;
        ring->starts = origins->keeps_starts ? &ring->entries[size] : NULL;
        origins->first = origins->count++ == 0 ? thread : origins->first;
        atomic_store_explicit(&origins->rings[thread], ring,
                              memory_order_release);
    }
    return ring;
}

fd_ring *
fd_origins_ring(fd_origins *origins, pthread_mutex_t *lock, uint64_t thread)
{
    if (thread >= FD_RINGS) {
        return NULL;
    }
    pthread_mutex_lock(lock);
    fd_ring *ring = origins->rings[thread];
    if (ring == NULL) {
        ring = new_ring(origins, thread);
    }
    pthread_mutex_unlock(lock);
    return ring;
}

/* Copy the lower-case letters and digits of the last component, without a
 * trailing "Backward0": "aten::native_layer_norm" and
 * "NativeLayerNormBackward0" both become "nativelayernorm". */
static size_t
plain_name(const char *name, char plain[MAX_NAME])
{
    const char *colon = strrchr(name, ':');
    size_t size = 0;
    for (const char *at = colon != NULL ? colon + 1 : name;
         *at != '\0' && size < MAX_NAME - 1; at++) {
        if (isalnum((unsigned char)*at)) {
            plain[size++] = (char)tolower((unsigned char)*at);
        }
    }
    plain[size] = '\0';
    char *suffix = strstr(plain, "backward");
    if (suffix != NULL && suffix > plain) {
        *suffix = '\0';
        size = (size_t)(suffix - plain);
    }
    return size;
}

/* Return whether an operator with this name may have created this autograd
 * node: one plain name is a prefix of the other. In-place operations on views
 * create nodes with two fixed names. */
static bool
name_fits(const char *autograd, const char *operator_name)
{
    char a[MAX_NAME];
    char b[MAX_NAME];
    size_t size = plain_name(autograd, a);
    size_t other = plain_name(operator_name, b);
    if (strcmp(a, "copyslices") == 0 || strcmp(a, "asstrided") == 0) {
        return true;
    }
    return strncmp(a, b, size < other ? size : other) == 0;
}

bool
fd_origins_fit(const fd_file *file, uint32_t id, const char *name)
{
    const fd_context *context = fd_file_record(file, id);
    const fd_node *node = fd_file_record(file, context->node);
    const char *text = fd_kind_is_function(node->kind)
                         ? fd_strings_text(file, node->class_name)
                         : fd_strings_text(file, node->name);
    return name_fits(name, text);
}

/* Return the origin stored under exactly this number. */
static fd_origin
exact_origin(const fd_ring *ring, uint64_t number)
{
    uint64_t index = number & ring->mask;
    uint64_t entry =
        atomic_load_explicit(&ring->entries[index], memory_order_acquire);
    if ((uint32_t)(entry >> 32) != (uint32_t)number) {
        return (fd_origin){0, 0};
    }
    uint64_t start =
        ring->starts == NULL
            ? 0
            : atomic_load_explicit(&ring->starts[index], memory_order_relaxed);
    return (fd_origin){(uint32_t)entry, start};
}

static fd_origin
nearest_origin(const fd_ring *ring, const fd_file *file, uint64_t number,
               const char *name)
{
    fd_origin first = {0, 0};
    for (uint64_t back = 1; back <= FD_ORIGIN_REACH && back <= number;
         back++) {
        fd_origin origin = exact_origin(ring, number - back);
        if (origin.context != 0
            && fd_origins_fit(file, origin.context, name)) {
            return origin;
        }
        first = first.context != 0 ? first : origin;
    }
    return first;
}

static int
miss_counter(const fd_ring *ring, uint64_t number)
{
    uint64_t entry = ring->entries[number & ring->mask];
    bool overwritten = (uint32_t)(entry >> 32) > (uint32_t)number;
    return overwritten ? FD_COUNT_ORIGIN_OLD : FD_COUNT_ORIGIN_NONE;
}

fd_origin
fd_origins_find(const fd_origins *origins, const fd_file *file,
                uint64_t thread, uint64_t number, const char *name)
{
    const fd_ring *ring = thread < FD_RINGS ? atomic_load_explicit(
                              &origins->rings[thread], memory_order_acquire)
                                            : NULL;
    if (ring == NULL) {
        fd_file_count(file, FD_COUNT_ORIGIN_THREAD);
        return (fd_origin){0, 0};
    }
    fd_origin origin = exact_origin(ring, number);
    if (origin.context != 0) {
        return origin;
    }
    origin = nearest_origin(ring, file, number, name);
    fd_file_count(file, origin.context != 0 ? FD_COUNT_ORIGIN_NEAR
                                            : miss_counter(ring, number));
    return origin;
}
