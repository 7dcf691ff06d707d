#include "capture/operators/shape_calls.h"

#include "capture/operands/flop_formulas.h"
#include "capture/operands/operand_shapes.h"
#include "capture/torch/record_layout.h"

#include <string.h>

/* A path in the map of the thread: bits, and its number of shapes above. */
enum { KNOWN = 1, VALUES = 2, ONE_SHAPE = 4 };

/* Part of the room for strings that shapes may use. */
enum { STRINGS_PART = 4 };

/* Operators whose numbers are kept: those of padding, and custom ones, for
 * formulas of their FLOPs. */
static bool
keeps_values(const char *name)
{
    return strcmp(name, "aten::constant_pad_nd") == 0
        || fd_flop_is_custom(name);
}

static uint32_t
path_of(fd_tree *tree, uint32_t context)
{
    uint32_t path = fd_map_get(&tree->measures.paths, context);
    if (path == 0) {
        const fd_file *file = &tree->recording->file;
        const fd_node *node = fd_file_record(file, tree->current->node);
        bool values = keeps_values(fd_strings_text(file, node->name));
        path = KNOWN | (values ? VALUES : 0);
        fd_map_put(&tree->measures.paths, context, path);
    }
    return path;
}

/* The string of operands; 0 without room. */
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

/* The record of operands that the path had not yet; that of detail 0 beyond a
 * bound. */
static fd_measure *
add_shapes(fd_tree *tree, fd_measure_key key, uint64_t hash, uint32_t path,
           fd_operand_list inputs)
{
    fd_measures *measures = &tree->measures;
    char text[FD_SHAPES_TEXT];
    if (path / ONE_SHAPE >= FD_SHAPES_PER_PATH) {
        return fd_measures_at(tree, key);
    }
    fd_operand_shapes_text(inputs, (path & VALUES) != 0, text);
    key.detail = add_text(tree->recording, text[0] != '\0' ? text : "_");
    fd_measure *made = fd_measures_at(tree, key);
    if (made != NULL && key.detail != 0) {
        fd_map_put(&measures->paths, key.context, path + ONE_SHAPE);
        fd_map_put(&measures->shapes, hash,
                   fd_file_id(&tree->recording->file, made));
    }
    return made;
}

void
fd_shape_call_start(fd_thread *thread, const void *record)
{
    fd_tree *tree = thread->tree;
    uint32_t depth = fd_tree_depth(tree);
    if (depth == 0 || tree->stack[depth - 1].owner != (uintptr_t)record
        || tree->stack[depth - 1].flags != FD_ENTRY_OP
        || !fd_record_has_schema(record)) {
        return;
    }
    bool every = (thread->session->measures.kinds & FD_MEASURING_SHAPES) != 0;
    fd_measure_key key = {.context = fd_tree_id(tree, tree->current),
                          .kind = FD_MEASURE_SHAPES,
                          .flags = every ? 0 : FD_MEASURE_CUSTOM};
    uint32_t path = path_of(tree, key.context);
    fd_operand_list inputs = fd_operands_of(record);
    fd_operand_shapes shapes =
        fd_operand_shapes_of(inputs, (path & VALUES) != 0);
    uint64_t hash = fd_hash_next(shapes.hash, key.context);
    hash += hash == 0;
    uint32_t id = fd_map_get(&tree->measures.shapes, hash);
    fd_measure *to = id != 0
                       ? (fd_measure *)(tree->base + (size_t)id * FD_ID_UNIT)
                       : add_shapes(tree, key, hash, path, inputs);
    fd_measure_add(to, shapes.elements, shapes.bytes);
}
