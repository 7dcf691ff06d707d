/* The strings of a recording, each stored once. Ids are byte offset / 8; id 0
 * is the empty string. The recording's lock serialises fd_strings_add. */
#ifndef FD_STRING_TABLE_H
#define FD_STRING_TABLE_H

#include "base/index.h"
#include "recording/chunk_pool.h"

typedef struct fd_strings {
    fd_pool pool; /* pool of bytes */
    fd_index index;
    uint32_t max_bytes;
} fd_strings;

void fd_strings_init(fd_strings *strings, fd_file *file, uint32_t max_bytes);
void fd_strings_clear(fd_strings *strings);

/* Return the id of the text; add it if it is new. Return 0 and count it if
 * there is no space: a name is lost then, but no call. */
uint32_t fd_strings_add(fd_strings *strings, const char *text, size_t size);

/* Return the id of a stored text, or 0 if it is not stored. */
uint32_t fd_strings_find(const fd_strings *strings, const char *text,
                         size_t size);

static inline const fd_string *
fd_strings_get(const fd_file *file, uint32_t id)
{
    return (const fd_string *)(file->base + (size_t)id * FD_STRING_UNIT);
}

/* Return the NUL-terminated text of an id; "" for 0. */
static inline const char *
fd_strings_text(const fd_file *file, uint32_t id)
{
    return id == 0 ? "" : fd_strings_get(file, id)->bytes;
}

#endif
