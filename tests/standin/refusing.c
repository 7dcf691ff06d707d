/* A malloc, to be preloaded, that fails for a single library, to test that the
 * program is not affected if that library is out of memory. Allocations of all
 * other code succeed, also those of the interpreter for the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

static atomic_uintptr_t first;
static atomic_uintptr_t behind;
static atomic_long left = -1;   /* allocations before the next refusal */
static atomic_bool refuses_all; /* from then on */
static atomic_ulong refusals;

static int
look_at(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    for (int i = 0;
         strstr(info->dlpi_name, name) != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0) {
            first = info->dlpi_addr + part->p_vaddr;
            behind = first + part->p_memsz;
            return 1;
        }
    }
    return 0;
}

/* Select the library, by a part of its path. False if it is not loaded. */
bool
refuse_library(const char *name)
{
    return dl_iterate_phdr(look_at, (void *)name) != 0;
}

/* Let `count` allocations succeed, then refuse one, or all. -1: refuse none.
 * The count of refusals is kept. */
void
refuse_after(long count, bool every_one)
{
    refuses_all = every_one;
    refusals = count < 0 ? atomic_load(&refusals) : 0;
    left = count;
}

unsigned long
refuse_count(void)
{
    return refusals;
}

static bool
is_refused(const void *caller)
{
    uintptr_t from = (uintptr_t)caller;
    if (left < 0 || from < first || from >= behind) {
        return false;
    }
    if (left > 0) {
        left--;
        return false;
    }
    left = refuses_all ? 0 : -1;
    refusals++;
    return true;
}

void *
malloc(size_t size)
{
    return is_refused(__builtin_return_address(0)) ? NULL
                                                   : __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    return is_refused(__builtin_return_address(0))
             ? NULL
             : __libc_calloc(count, size);
}

void *
realloc(void *block, size_t size)
{
    return is_refused(__builtin_return_address(0))
             ? NULL
             : __libc_realloc(block, size);
}
