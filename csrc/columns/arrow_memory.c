#include "columns/arrow_memory.h"

#include "base/alloc.h"

#include <string.h>

typedef struct owned_buffers {
    const void *list[FD_ARROW_BUFFERS];
} owned_buffers;

/* Children and dictionary may have been moved away. */
static void
release(struct ArrowArray *array)
{
    owned_buffers *owned = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
        fd_free(array->children[i]);
    }
    if (array->dictionary != NULL) {
        if (array->dictionary->release != NULL) {
            array->dictionary->release(array->dictionary);
        }
        fd_free(array->dictionary);
    }
    for (int i = 0; owned != NULL && i < FD_ARROW_BUFFERS; i++) {
        fd_free((void *)(uintptr_t)owned->list[i]);
    }
    fd_free(owned);
    fd_free(array->children);
    array->release = NULL;
}

static fd_status
add_children(struct ArrowArray *array, size_t count)
{
    array->children =
        count == 0 ? NULL : fd_calloc(count, sizeof(struct ArrowArray *));
    for (size_t i = 0; i < count && array->children != NULL; i++) {
        array->children[i] = fd_calloc(1, sizeof(struct ArrowArray));
        if (array->children[i] == NULL) {
            return FD_ENOMEM;
        }
        array->n_children++;
    }
    return count == 0 || array->children != NULL ? FD_OK : FD_ENOMEM;
}

fd_status
fd_arrow_begin(struct ArrowArray *array, int64_t length, int count,
               size_t children)
{
    *array = (struct ArrowArray){
        .length = length, .n_buffers = count, .release = release};
    owned_buffers *owned = fd_calloc(1, sizeof *owned);
    if (owned == NULL) {
        release(array);
        return FD_ENOMEM;
    }
    array->private_data = owned;
    array->buffers = owned->list;
    if (add_children(array, children) != FD_OK) {
        release(array);
        return FD_ENOMEM;
    }
    return FD_OK;
}

void *
fd_arrow_buffer(struct ArrowArray *array, int index, size_t size)
{
    void *made = fd_calloc(size + 1, 1);
    array->buffers[index] = made;
    return made;
}

static size_t
size_of_texts(uint32_t count, fd_arrow_text *text, const void *context)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        text(context, i, &size);
        sum += size;
    }
    return sum;
}

fd_status
fd_arrow_texts(struct ArrowArray *array, uint32_t count, fd_arrow_text *text,
               const void *context)
{
    size_t bytes = size_of_texts(count, text, context);
    if (bytes > INT32_MAX
        || fd_arrow_begin(array, count, FD_ARROW_BUFFERS, 0) != FD_OK) {
        return FD_ENOMEM;
    }
    int32_t *ends =
        fd_arrow_buffer(array, 1, ((size_t)count + 1) * sizeof *ends);
    char *to = fd_arrow_buffer(array, 2, bytes);
    if (ends == NULL || to == NULL) {
        release(array);
        return FD_ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const char *from = text(context, i, &size);
        memcpy(to + ends[i], from, size);
        ends[i + 1] = ends[i] + (int32_t)size;
    }
    return FD_OK;
}
