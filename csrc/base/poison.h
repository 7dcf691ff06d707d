/* Poisoning of unused memory at the end of a block, so that AddressSanitizer
 * reports reads of it. */
#ifndef FD_POISON_H
#define FD_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FD_POISONS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(FD_POISONS)
#include <sanitizer/asan_interface.h>
#define FD_POISON(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define FD_UNPOISON(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
#define FD_POISON(at, size) ((void)(at), (void)(size))
#define FD_UNPOISON(at, size) ((void)(at), (void)(size))
#endif

#endif
