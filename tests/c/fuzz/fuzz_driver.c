#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252;

static uint64_t
next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A position with a non-zero byte: most of a recording is empty. */
static size_t
somewhere(const fd_buffer *seed)
{
    size_t at = 0;
    for (int i = 0; i < 50; i++) {
        at = next() % seed->size;
        if (seed->bytes[at] != 0) {
            break;
        }
    }
    size_t shifted = at + next() % 9;
    return shifted < seed->size ? shifted : at;
}

static void
mutate(const fd_buffer *seed, char *bytes, size_t *size)
{
    static const uint64_t odd[] = {0,          1,         UINT32_MAX,
                                   UINT64_MAX, INT64_MAX, 0x7FF8000000000000,
                                   4096,       1U << 31};
    static const char json[] = "[]{},:\"-0129e.\\ufalse\x80\xFF";
    size_t at = somewhere(seed);
    size_t from = somewhere(seed);
    size_t capacity = *size - (at < *size ? at : *size);
    size_t length = next() % 65;
    switch (next() % 7) {
    case 0:
        bytes[at] = (char)(bytes[at] ^ 1 << next() % 8);
        break;
    case 1:
        bytes[at] = (char)next();
        break;
    case 2:
        memcpy(bytes + at, &odd[next() % 8], capacity < 8 ? capacity : 8);
        break;
    case 3:
        length = length < capacity ? length : capacity;
        memcpy(bytes + at, seed->bytes + from,
               length < seed->size - from ? length : seed->size - from);
        break;
    case 4:
        bytes[at] = json[next() % (sizeof json - 1)];
        break;
    case 5:
        memset(bytes + at, (int)next(), length < capacity ? length : capacity);
        break;
    default:
        if (next() % 8 == 0) {
            *size = at;
        }
    }
}

/* Run the inputs of the corpus. */
static int
replay(char **paths, int count)
{
    for (int i = 0; i < count; i++) {
        fd_buffer input = {.bytes = NULL};
        if (fixture_read(paths[i], &input) != FD_OK) {
            return EXIT_FAILURE;
        }
        LLVMFuzzerTestOneInput((const uint8_t *)input.bytes, input.size);
        fd_buffer_clear(&input);
    }
    printf("%d inputs of the corpus\n", count);
    return EXIT_SUCCESS;
}

/* Arguments: RUNS; or --seed FILE to write the seed for libFuzzer; or
 * --replay FILE... */
int
main(int argc, char **argv)
{
    long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 2000;
    fd_buffer seed = {.bytes = NULL};
    if (fuzz_seed(&seed) != FD_OK) {
        return EXIT_FAILURE;
    }
    if (argc > 2 && strcmp(argv[1], "--replay") == 0) {
        fd_buffer_clear(&seed);
        return replay(argv + 2, argc - 2);
    }
    if (argc > 2 && strcmp(argv[1], "--seed") == 0) {
        fd_status status = fixture_write(argv[2], seed.bytes, seed.size);
        fd_buffer_clear(&seed);
        return status == FD_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)seed.bytes, seed.size);
    char *bytes = malloc(seed.size);
    for (long i = 0; i < runs; i++) {
        size_t size = seed.size;
        memcpy(bytes, seed.bytes, size);
        for (uint64_t n = 1 + next() % 4; n > 0 && size == seed.size; n--) {
            mutate(&seed, bytes, &size);
        }
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
    }
    printf("%-20s %ld mutations of a seed of %zu bytes\n",
           strrchr(argv[0], '/') + 1, runs, seed.size);
    free(bytes);
    fd_buffer_clear(&seed);
    return EXIT_SUCCESS;
}
