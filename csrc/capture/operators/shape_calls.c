#include "capture/operators/shape_calls.h"

#include "capture/operands/flop_formulas.h"
#include "capture/operands/operand_shapes.h"
#include "capture/torch/record_layout.h"

#include <string.h>

/* Shapes may use 1 / STRINGS_PART of the space for strings. */
enum { STRINGS_PART = 4 };

bool
fd_shapes_keep_values(const char *name)
{
    return strcmp(name, "aten::constant_pad_nd") == 0
        || fd_flop_is_custom(name);
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

bool
fd_shapes_renew(fd_tree *tree, fd_measure_site *site, uint16_t flags,
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
    return !shapes.partial;
}
