/* The strings of a recording, each stored once. Ids are byte offset / 8; id 0
 * is the empty string. The recording's lock serialises fd_strings_add. */
#ifndef FD_STRING_TABLE_H
#define FD_STRING_TABLE_H

#include "base/index.h"
#include "recording/chunk_pool.h"

typedef struct fd_strings {
    fd_pool pool; /* of bytes */
    fd_index index;
    uint32_t max_bytes;
} fd_strings;

void fd_strings_init(fd_strings *strings, fd_file *file, uint32_t max_bytes);
void fd_strings_clear(fd_strings *strings);

/* The id of the text, added when new. 0 (and counted) without room: then a
 * name is lost, but no call. */
uint32_t fd_strings_add(fd_strings *strings, const char *text, size_t size);

/* The id of a stored text; 0: not stored. */
uint32_t fd_strings_find(const fd_strings *strings, const char *text,
                         size_t size);

static inline const fd_string *
fd_strings_get(const fd_file *file, uint32_t id)
{
    return (const fd_string *)(file->base + (size_t)id * FD_STRING_UNIT);
}

/* The text of an id, NUL-terminated; "" for 0. */
static inline const char *
fd_strings_text(const fd_file *file, uint32_t id)
{
    return id == 0 ? "" : fd_strings_get(file, id)->bytes;
}

#endif
