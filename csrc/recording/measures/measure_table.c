#include "recording/measures/measure_table.h"

static fd_measure *
reserve_measure(fd_tree *tree)
{
    fd_recording *recording = tree->recording;
    return fd_recording_reserve(recording, &tree->measures.pool, 1,
                                &recording->measure_bytes,
                                recording->limits.max_measures);
}

static fd_measure *
publish_measure(fd_tree *tree, fd_measure *made, fd_measure_key key)
{
    if (made == NULL) {
        fd_file_count(&tree->recording->file, FD_COUNT_MEASURES_FULL);
        return NULL;
    }
    *made = (fd_measure){.context = key.context,
                         .kind = key.kind,
                         .flags = key.flags,
                         .detail = key.detail};
    fd_pool_publish(&tree->measures.pool, 1);
    return made;
}

fd_measure *
fd_measures_append(fd_tree *tree, fd_measure_key key)
{
    return publish_measure(tree, reserve_measure(tree), key);
}

fd_measure *
fd_measures_add(fd_tree *tree, fd_measure_key key)
{
    fd_map *index = &tree->measures.index;
    uint64_t word = fd_measure_word(key);
    bool refused = fd_map_get(index, word) == UINT32_MAX;
    fd_measure *made = refused ? NULL : reserve_measure(tree);
    uint32_t id =
        made != NULL ? fd_file_id(&tree->recording->file, made) : UINT32_MAX;
    if (!refused && fd_map_put(index, word, id) != FD_OK) {
        made = NULL;
    }
    return publish_measure(tree, made, key);
}
