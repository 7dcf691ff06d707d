#include "recording/shared_tables.h"

#include <string.h>

void
fd_recording_note(fd_recording *recording, const char *key, const char *json)
{
    pthread_mutex_lock(&recording->lock);
    fd_meta *meta = fd_pool_reserve(&recording->meta, 1);
    if (meta != NULL) {
        meta->key = fd_strings_add(&recording->strings, key, strlen(key));
        meta->value = fd_strings_add(&recording->strings, json, strlen(json));
        fd_pool_publish(&recording->meta, 1);
    }
    pthread_mutex_unlock(&recording->lock);
}

void
fd_recording_schema(fd_recording *recording, const char *name,
                    const char *text)
{
    pthread_mutex_lock(&recording->lock);
    fd_schema *schema = fd_pool_reserve(&recording->schemas, 1);
    if (schema != NULL) {
        schema->name = fd_strings_add(&recording->strings, name, strlen(name));
        schema->text = fd_strings_add(&recording->strings, text, strlen(text));
        fd_pool_publish(&recording->schemas, 1);
    }
    pthread_mutex_unlock(&recording->lock);
}

uint32_t
fd_recording_text(fd_recording *recording, const char *text)
{
    pthread_mutex_lock(&recording->lock);
    uint32_t id = fd_strings_add(&recording->strings, text, strlen(text));
    pthread_mutex_unlock(&recording->lock);
    return id;
}

uint32_t
fd_recording_node(fd_recording *recording, const fd_node_spec *spec,
                  bool *added)
{
    pthread_mutex_lock(&recording->lock);
    uint32_t id = fd_nodes_add(&recording->nodes, spec, added);
    pthread_mutex_unlock(&recording->lock);
    return id;
}

uint32_t
fd_recording_module(fd_recording *recording, uint32_t parent, const char *name,
                    const char *class_name)
{
    pthread_mutex_lock(&recording->lock);
    uint32_t id =
        fd_modules_add(&recording->modules, parent, name, class_name);
    pthread_mutex_unlock(&recording->lock);
    return id;
}

void
fd_recording_measure(fd_recording *recording, uint32_t module,
                     uint64_t parameters, uint64_t bytes)
{
    pthread_mutex_lock(&recording->lock);
    fd_modules_measure(&recording->modules, module, parameters, bytes);
    pthread_mutex_unlock(&recording->lock);
}

void *
fd_recording_reserve(fd_recording *recording, fd_pool *pool, uint32_t count,
                     size_t *spent, size_t most)
{
    const fd_chunk *chunk = pool->chunk;
    if (chunk != NULL && chunk->capacity - chunk->used >= count) {
        return fd_pool_reserve(pool, count);
    }
    void *made = NULL;
    size_t need = (size_t)count * pool->record_bytes + sizeof(fd_chunk);
    size_t bytes = pool->next_bytes < need ? need : pool->next_bytes;
    pthread_mutex_lock(&recording->lock);
    if (*spent + bytes <= most) {
        made = fd_pool_reserve(pool, count);
        *spent += made != NULL ? bytes : 0;
    }
    pthread_mutex_unlock(&recording->lock);
    return made;
}
