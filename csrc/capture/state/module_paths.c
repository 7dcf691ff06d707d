#include "capture/state/module_paths.h"

#include "recording/recording_format.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Training frameworks that are often run from a checkout: a folder with such a
 * name is recognised even if it is not an installed package. */
static const char *const frameworks[] = {"megatron", "deepspeed", "torchtitan",
                                         "torch", "transformers"};

void
fd_paths_clear(fd_paths *paths)
{
    for (uint32_t i = 0; i < paths->prefixes.count; i++) {
        fd_free(paths->prefixes.list[i].text);
    }
    fd_vector_clear(&paths->prefixes);
}

static bool
has_prefix(const fd_paths *paths, const char *prefix, size_t size)
{
    for (uint32_t i = 0; i < paths->prefixes.count; i++) {
        const fd_prefix *known = &paths->prefixes.list[i];
        if (known->size == size + 1
            && strncmp(known->text, prefix, size) == 0) {
            return true;
        }
    }
    return false;
}

fd_status
fd_paths_add(fd_paths *paths, const char *prefix, uint8_t from)
{
    size_t size = strlen(prefix);
    while (size > 0 && prefix[size - 1] == '/') {
        size--;
    }
    if (size == 0 || has_prefix(paths, prefix, size)) {
        return FD_OK;
    }
    char *text = fd_malloc(size + 2);
    fd_prefix made = {text, size + 1, from};
    if (text == NULL || fd_vector_push(&paths->prefixes, made) != FD_OK) {
        fd_free(text);
        return FD_ENOMEM;
    }
    memcpy(text, prefix, size);
    memcpy(text + size, "/", 2);
    fd_prefix *list = paths->prefixes.list;
    uint32_t at = paths->prefixes.count - 1;
    for (; at > 0 && list[at - 1].size < made.size; at--) {
        list[at] = list[at - 1];
    }
    list[at] = made;
    return FD_OK;
}

static void
set_package(fd_file_package *found, const char *name, size_t size)
{
    snprintf(found->package, sizeof found->package, "%.*s", (int)size, name);
}

/* Set the package to the first component: "torch" of "torch/nn/functional.py",
 * "six" of "six.py". */
static void
first_component(fd_file_package *found, const char *relative)
{
    size_t size = strcspn(relative, "/");
    if (relative[size] == '\0' && size > 3
        && strcmp(relative + size - 3, ".py") == 0) {
        size -= 3;
    }
    set_package(found, relative, size);
}

/* Recognise the folder of a framework in the path: it is the package, and the
 * path before it is stripped. */
static bool
in_framework(const char *file, fd_file_package *found)
{
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
        size_t size = strlen(frameworks[i]);
        for (const char *at = strstr(file, frameworks[i]); at != NULL;
             at = strstr(at + 1, frameworks[i])) {
            if (at > file && at[-1] == '/' && at[size] == '/'
                && at - file <= UINT16_MAX) {
                found->strip = (uint16_t)(at - file);
                set_package(found, frameworks[i], size);
                return true;
            }
        }
    }
    return false;
}

static size_t
last_two_components(const char *file)
{
    const char *last = strrchr(file, '/');
    const char *at = last;
    while (at != NULL && at > file && at[-1] != '/') {
        at--;
    }
    return at == NULL || at == last ? 0 : (size_t)(at - file);
}

static void
package_generated(const char *file, fd_file_package *found)
{
    bool frozen = strncmp(file, "<frozen ", 8) == 0;
    if (strncmp(file, "<ipython-input-", 15) == 0) {
        return; /* a notebook cell: belongs to the program */
    }
    found->from = frozen ? FD_FROM_STDLIB : FD_FROM_GENERATED;
    snprintf(found->package, sizeof found->package, "%s",
             frozen ? "stdlib" : "generated");
}

enum { HASH = 8 };

/* Recognise files of the compiler, whose folders and names differ between
 * runs. A hash as the name is cut to its last letters. */
static bool
package_compiled(const char *file, fd_file_package *found)
{
    const char *name = strrchr(file, '/');
    if (strstr(file, "/torchinductor_") == NULL || name == NULL) {
        return false;
    }
    size_t size = strspn(name + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
    size_t hidden = size > HASH ? size - HASH : 0; /* of a hash as the name */
    if (strlen(file) > UINT16_MAX) {
        return false;
    }
    found->from = FD_FROM_GENERATED;
    found->strip = (uint16_t)((size_t)(name + 1 - file) + hidden);
    snprintf(found->package, sizeof found->package, "generated");
    return true;
}

static const fd_prefix *
longest_prefix(const fd_paths *paths, const char *file)
{
    for (uint32_t i = 0; i < paths->prefixes.count; i++) {
        const fd_prefix *known = &paths->prefixes.list[i];
        if (strncmp(file, known->text, known->size) == 0) {
            return known;
        }
    }
    return NULL;
}

void
fd_paths_package(const fd_paths *paths, const char *file,
                 fd_file_package *found)
{
    *found = (fd_file_package){.from = FD_FROM_USER, .package = "project"};
    if (file[0] == '<') {
        package_generated(file, found);
        return;
    }
    if (package_compiled(file, found)) {
        return;
    }
    const fd_prefix *prefix = longest_prefix(paths, file);
    size_t strip = prefix != NULL ? prefix->size : last_two_components(file);
    found->strip = strip <= UINT16_MAX ? (uint16_t)strip : 0;
    found->from = prefix != NULL ? prefix->from : FD_FROM_USER;
    if (found->from == FD_FROM_SITE) {
        first_component(found, file + strip);
    }
    else if (found->from == FD_FROM_STDLIB) {
        snprintf(found->package, sizeof found->package, "stdlib");
    }
    else {
        in_framework(file, found);
    }
}
