#include "capture/operators/shape_calls.h"

#include "capture/operands/operand_shapes.h"
#include "capture/torch/record_layout.h"

#include <string.h>

/* Shapes may use 1 / STRINGS_PART of the space for strings. */
enum { STRINGS_PART = 4 };

/* Return whether an operator belongs to neither PyTorch nor one of its
 * libraries. */
static bool
operator_is_custom(const char *name)
{
    static const char *const known[] = {"aten::",     "prim::",   "c10d",
                                        "profiler::", "mkldnn::", "_c10d"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(name, known[i], strlen(known[i])) == 0) {
            return false;
        }
    }
    return strstr(name, "::") != NULL;
}

/* Determine what to record of the operator of a new site. */
static __attribute__((noinline)) void
resolve_site(const fd_tree *tree, const fd_measure_plan *plan,
             fd_measure_site *site)
{
    const fd_file *file = &tree->recording->file;
    const fd_node *node = fd_file_record(file, tree->current->node);
    const char *name = fd_strings_text(file, node->name);
    uint32_t known = operator_is_custom(name)
                       ? FD_OPERANDS_NUMBERS
                       : fd_measure_plan_operands(plan, name);
    bool every = (plan->kinds & FD_MEASURING_SHAPES) != 0;
    site->resolved = true;
    site->wanted = every || known != 0;
    site->values = known == FD_OPERANDS_NUMBERS;
}

/* Return the string of operands, or 0 if there is no space. */
static uint32_t
add_text(fd_recording *recording, const char *text)
{
    size_t size = strlen(text);
    pthread_mutex_lock(&recording->lock);
    uint32_t id = fd_strings_find(&recording->strings, text, size);
    if (id == 0
        && recording->shape_bytes + size
               <= recording->limits.max_strings / STRINGS_PART) {
        id = fd_strings_add(&recording->strings, text, size);
        recording->shape_bytes += id != 0 ? size : 0;
    }
    pthread_mutex_unlock(&recording->lock);
    return id;
}

/* Return the record of operands that are new for the path, or the record with
 * detail 0 beyond the limit. */
static fd_measure *
add_shapes(fd_tree *tree, fd_measure_key key, uint64_t hash,
           fd_measure_site *site, fd_operand_list inputs)
{
    char text[FD_SHAPES_TEXT];
    if (site->spare || site->shapes >= FD_SHAPES_PER_PATH) {
        return fd_measures_at(tree, key);
    }
    fd_operand_shapes_text(inputs, site->values, text);
    key.detail = add_text(tree->recording, text[0] != '\0' ? text : "_");
    fd_measure *made = fd_measures_at(tree, key);
    if (made != NULL && key.detail != 0) {
        site->shapes++;
        fd_map_put(&tree->measures.shapes, hash,
                   fd_file_id(&tree->recording->file, made));
    }
    return made;
}

/* Find the record of a call whose inputs differ from the last ones of this
 * site. It is kept for the next call if it only depends on the key. */
static __attribute__((noinline)) void
renew_site(fd_tree *tree, fd_measure_site *site, uint16_t flags,
           fd_operand_list inputs)
{
    fd_operand_shapes shapes = fd_operand_shapes_of(inputs, site->values);
    fd_measure_key key = {
        .context = site->context, .kind = FD_MEASURE_SHAPES, .flags = flags};
    uint64_t hash = fd_hash_next(shapes.hash, key.context);
    hash += hash == 0;
    uint32_t id = fd_map_get(&tree->measures.shapes, hash);
    site->shape = id != 0
                    ? (fd_measure *)(tree->base + (size_t)id * FD_ID_UNIT)
                    : add_shapes(tree, key, hash, site, inputs);
    site->elements = shapes.elements;
    site->bytes = shapes.bytes;
    site->key[0] = FD_NO_KEY;
    if (!site->spare && !site->values && site->shape != NULL) {
        fd_operand_key_store(site->key, inputs);
    }
}

void
fd_shape_call_start(fd_thread *thread, const void *record)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    const fd_measure_plan *plan = &thread->session->measures;
    if (depth == 0 || tree->stack[depth - 1].owner != (uintptr_t)record
        || tree->stack[depth - 1].flags != FD_ENTRY_OP
        || !fd_record_has_schema(record)) {
        return;
    }
    fd_measure_site *site =
        fd_sites_at(&tree->measures.sites, fd_tree_id(tree, tree->current));
    if (__builtin_expect(!site->resolved, false)) {
        resolve_site(tree, plan, site);
    }
    if (!site->wanted) {
        return;
    }
    fd_operand_list inputs = fd_operands_of(record);
    if (!fd_operand_key_is(site->key, inputs)) {
        bool every = (plan->kinds & FD_MEASURING_SHAPES) != 0;
        renew_site(tree, site, every ? 0 : FD_MEASURE_PART, inputs);
    }
    fd_measure_add(site->shape, site->elements, site->bytes);
}
