#include "recording/module_table.h"

#include "base/hash.h"

#include <string.h>

enum { FIRST_CHUNK = 4 * 1024 };

void
fd_modules_init(fd_modules *modules, fd_file *file, fd_strings *strings,
                uint32_t max_count)
{
    *modules = (fd_modules){
        .pool =
            fd_pool_of(file, FD_CHUNK_MODULES, sizeof(fd_module), FIRST_CHUNK),
        .strings = strings,
        .max_count = max_count,
    };
}

void
fd_modules_clear(fd_modules *modules)
{
    fd_index_clear(&modules->index);
}

static uint32_t
find_module(const fd_modules *modules, const fd_module *wanted, uint64_t hash)
{
    fd_probe probe = fd_index_probe(&modules->index, hash);
    uint32_t id;
    while ((id = fd_index_next(&modules->index, &probe)) != 0) {
        const fd_module *module = fd_file_record(modules->pool.file, id);
        if (module->parent == wanted->parent && module->name == wanted->name
            && module->class_name == wanted->class_name) {
            return id;
        }
    }
    return 0;
}

uint32_t
fd_modules_add(fd_modules *modules, uint32_t parent, const char *name,
               const char *class_name)
{
    fd_module module = {
        .parent = parent,
        .name = fd_strings_add(modules->strings, name, strlen(name)),
        .class_name =
            fd_strings_add(modules->strings, class_name, strlen(class_name)),
    };
    uint64_t hash = fd_hash_next(
        fd_hash_word(parent), (uint64_t)module.name << 32 | module.class_name);
    uint32_t id = find_module(modules, &module, hash);
    if (id == 0 && modules->pool.count < modules->max_count) {
        id = fd_pool_add(&modules->pool, &modules->index, hash, &module);
    }
    if (id == 0) {
        fd_file_count(modules->pool.file, FD_COUNT_MODULES_FULL);
    }
    return id;
}

void
fd_modules_measure(const fd_modules *modules, uint32_t id, uint64_t parameters,
                   uint64_t bytes)
{
    fd_module *module = fd_file_record(modules->pool.file, id);
    module->parameters = parameters;
    module->parameter_bytes = bytes;
}
