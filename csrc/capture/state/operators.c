#include "capture/state/operators.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "capture/process/thread_names.h"

#include <string.h>

enum { FIRST_SLOTS = 1024, MAX_NAME = 256 };

void
fd_operators_clear(fd_operators *operators)
{
    fd_operator_table *table = operators->table;
    while (table != NULL) {
        fd_operator_table *older = table->older;
        fd_free(table);
        table = older;
    }
    fd_map_clear(&operators->families);
    *operators = (fd_operators){.table = NULL};
}

static void
place_schema(fd_operator_table *table, uintptr_t schema, uint32_t node)
{
    uint32_t at = (uint32_t)fd_hash_word(schema);
    while (table->slots[at & table->mask].schema != 0) {
        at++;
    }
    fd_operator *slot = &table->slots[at & table->mask];
    slot->node = node;
    atomic_store_explicit(&slot->schema, schema, memory_order_release);
    table->count++;
}

/* Publish a table of twice the size; readers use it from their next lookup
 * on. */
static fd_operator_table *
publish_larger(fd_operators *operators)
{
    fd_operator_table *before = operators->table;
    uint32_t slots = before == NULL ? FIRST_SLOTS : 2 * (before->mask + 1);
    fd_operator_table *table =
        fd_calloc(1, sizeof *table + slots * sizeof(fd_operator));
    if (table == NULL) {
        return NULL;
    }
    table->mask = slots - 1;
    table->older = before;
    for (uint32_t i = 0; before != NULL && i <= before->mask; i++) {
        if (before->slots[i].schema != 0) {
            place_schema(table, before->slots[i].schema,
                         before->slots[i].node);
        }
    }
    atomic_store_explicit(&operators->table, table, memory_order_release);
    return table;
}

static void
remember_schema(fd_operators *operators, uintptr_t schema, uint32_t id)
{
    fd_operator_table *table = operators->table;
    if (table == NULL || 2 * table->count > table->mask) {
        table = publish_larger(operators);
    }
    if (id != 0 && table != NULL) {
        place_schema(table, schema, id);
    }
}

uint32_t
fd_operators_add(fd_operators *operators, fd_recording *recording,
                 uintptr_t schema, const char *name)
{
    pthread_mutex_lock(&recording->lock);
    uint32_t node = fd_operators_find(operators, schema);
    if (node == 0) {
        fd_node_spec spec = {.kind = FD_NODE_OP, .name = name};
        node = fd_nodes_add(&recording->nodes, &spec, NULL);
        remember_schema(operators, schema, node);
    }
    pthread_mutex_unlock(&recording->lock);
    return node;
}

uint32_t
fd_operators_add_text(fd_operators *operators, fd_recording *recording,
                      uintptr_t schema, const char *text)
{
    pthread_mutex_lock(&recording->lock);
    uint32_t id = fd_operators_find(operators, schema);
    if (id == 0) {
        id = fd_strings_add(&recording->strings, text, strlen(text));
        remember_schema(operators, schema, id);
    }
    pthread_mutex_unlock(&recording->lock);
    return id;
}

/* Return whether the family of this name already has too many names. The
 * caller holds the lock. */
static bool
too_many(fd_operators *operators, const fd_recording *recording, uint8_t kind,
         const char *folded)
{
    uint64_t family = (fd_hash_bytes(folded, strlen(folded)) ^ kind) | 1;
    uint32_t names = fd_map_get(&operators->families, family);
    if (names >= FD_RANGE_NAMES) {
        fd_file_count(&recording->file, FD_COUNT_RANGES_FOLDED);
        return true;
    }
    fd_map_put(&operators->families, family, names + 1);
    return false;
}

/* Return the phase of a kind of job. */
static uint32_t
phase_of(uint8_t kind, const char *name)
{
    static const struct {
        const char *name;
        uint32_t phase;
    } phases[] = {{"forward", FD_PHASE_FORWARD},
                  {"backward", FD_PHASE_BACKWARD},
                  {"optimizer", FD_PHASE_OPTIMIZER},
                  {"load", FD_PHASE_DATA}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (kind == FD_NODE_JOB && strcmp(phases[i].name, name) == 0) {
            return phases[i].phase;
        }
    }
    return FD_PHASE_OTHER;
}

uint32_t
fd_operators_range(fd_operators *operators, fd_recording *recording,
                   uint8_t kind, const char *name)
{
    char folded[MAX_NAME];
    fd_fold_digits(name, folded, sizeof folded);
    fd_node_spec spec = {
        .kind = kind, .name = name, .flags = phase_of(kind, name)};
    pthread_mutex_lock(&recording->lock);
    uint32_t node = fd_nodes_find(&recording->nodes, &spec);
    if (node == 0) {
        if (strcmp(folded, name) != 0
            && too_many(operators, recording, kind, folded)) {
            spec.name = folded;
        }
        node = fd_nodes_add(&recording->nodes, &spec, NULL);
    }
    pthread_mutex_unlock(&recording->lock);
    return node;
}
