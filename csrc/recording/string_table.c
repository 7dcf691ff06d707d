#include "recording/string_table.h"

#include "base/hash.h"

#include <string.h>

enum { FIRST_CHUNK = 16 * 1024 };

void
fd_strings_init(fd_strings *strings, fd_file *file, uint32_t max_bytes)
{
    *strings = (fd_strings){
        .pool = fd_pool_of(file, FD_CHUNK_STRINGS, 1, FIRST_CHUNK),
        .max_bytes = max_bytes,
    };
}

void
fd_strings_clear(fd_strings *strings)
{
    fd_index_clear(&strings->index);
}

static uint32_t
find_string(const fd_strings *strings, const char *text, size_t size,
            uint32_t hash)
{
    fd_probe probe = fd_index_probe(&strings->index, hash);
    uint32_t id;
    while ((id = fd_index_next(&strings->index, &probe)) != 0) {
        const fd_string *string = fd_strings_get(strings->pool.file, id);
        if (string->size == size && memcmp(string->bytes, text, size) == 0) {
            return id;
        }
    }
    return 0;
}

/* Reserve space for a string of `size` bytes; set `need` to the size with
 * header and padding. */
static fd_string *
reserve_string(fd_strings *strings, size_t size, uint32_t *need)
{
    size_t whole = (sizeof(fd_string) + size + 1 + FD_STRING_UNIT - 1)
                 / FD_STRING_UNIT * FD_STRING_UNIT;
    if (whole > strings->max_bytes - strings->pool.count) {
        return NULL;
    }
    *need = (uint32_t)whole;
    return fd_pool_reserve(&strings->pool, *need);
}

static uint32_t
append_string(fd_strings *strings, const char *text, size_t size,
              uint32_t hash)
{
    uint32_t need;
    fd_string *string = reserve_string(strings, size, &need);
    if (string == NULL) {
        return 0;
    }
    string->size = (uint32_t)size;
    string->hash = hash;
    memcpy(string->bytes, text, size);
    size_t offset = (size_t)((char *)string - strings->pool.file->base);
    uint32_t id = (uint32_t)(offset / FD_STRING_UNIT);
    if (fd_index_add(&strings->index, hash, id) != FD_OK) {
        return 0;
    }
    fd_pool_publish(&strings->pool, need);
    return id;
}

uint32_t
fd_strings_add(fd_strings *strings, const char *text, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint32_t hash = (uint32_t)fd_hash_bytes(text, size);
    uint32_t id = find_string(strings, text, size, hash);
    if (id == 0) {
        id = append_string(strings, text, size, hash);
    }
    if (id == 0) {
        fd_file_count(strings->pool.file, FD_COUNT_STRINGS_FULL);
    }
    return id;
}

uint32_t
fd_strings_find(const fd_strings *strings, const char *text, size_t size)
{
    return size == 0 ? 0
                     : find_string(strings, text, size,
                                   (uint32_t)fd_hash_bytes(text, size));
}
