#include "check.h"

#include "base/hash.h"

#include <string.h>

/* The maximum number of keys in one of `slots` slots (a power of two). */
static int
fullest(const uint64_t *hashes, int count, uint32_t slots)
{
    static uint16_t filled[4096];
    int most = 0;
    memset(filled, 0, sizeof filled);
    for (int i = 0; i < count; i++) {
        uint16_t *slot = &filled[(uint32_t)hashes[i] & (slots - 1)];
        ++*slot;
        most = *slot > most ? *slot : most;
    }
    return most;
}

TEST(words_spread)
{
    static uint64_t hashes[4096];
    for (uint64_t i = 0; i < 4096; i++) {
        hashes[i] = fd_hash_word(i + 1);
    }
    CHECK(fullest(hashes, 4096, 4096) <= 12);
    for (uint64_t i = 0; i < 4096; i++) {
        hashes[i] = fd_hash_word(UINT64_C(0x7f0012340000) + 64 * i);
    }
    CHECK(fullest(hashes, 4096, 4096) <= 12);
}

TEST(order_of_words_matters)
{
    CHECK(fd_hash_next(fd_hash_word(1), 2)
          != fd_hash_next(fd_hash_word(2), 1));
    CHECK(fd_hash_next(0, 1) != fd_hash_next(1, 0));
}

/* For all lengths around the word size, every byte changes the hash. */
TEST(every_byte_counts)
{
    char text[32] = "the quick brown fox jumps over";
    for (size_t size = 1; size <= 30; size++) {
        uint64_t whole = fd_hash_bytes(text, size);
        CHECK(whole != fd_hash_bytes(text, size - 1));
        for (size_t i = 0; i < size; i++) {
            text[i] ^= 1;
            CHECK(fd_hash_bytes(text, size) != whole);
            text[i] ^= 1;
        }
        CHECK(fd_hash_bytes(text, size) == whole);
    }
}

/* A text with another number of NULs has another hash; texts need not be
 * aligned. */
TEST(size_and_position)
{
    char bytes[24] = "";
    CHECK(fd_hash_bytes(bytes, 8) != fd_hash_bytes(bytes, 9));
    CHECK(fd_hash_bytes(bytes, 0) == fd_hash_bytes("", 0));
    memcpy(bytes + 1, "operator", 9);
    CHECK(fd_hash_bytes(bytes + 1, 8) == fd_hash_bytes("operator", 8));
}

/* The vectors of the paper and of its reference program: key 00 to 0f, input
 * 00, 01, ... */
TEST(known_values)
{
    fd_sip_key key = {UINT64_C(0x0706050403020100),
                      UINT64_C(0x0f0e0d0c0b0a0908)};
    unsigned char input[15];
    for (unsigned char i = 0; i < sizeof input; i++) {
        input[i] = i;
    }
    CHECK(fd_siphash(key, input, 15) == UINT64_C(0xa129ca6149be45e5));
    CHECK(fd_siphash(key, input, 0) == UINT64_C(0x726fdb47dd0e0e31));
    CHECK(fd_siphash(key, input, 8) == UINT64_C(0x93f5f5799a932462));
}

TEST(the_key_counts)
{
    CHECK(fd_siphash((fd_sip_key){1, 2}, "name", 4)
          != fd_siphash((fd_sip_key){1, 3}, "name", 4));
    CHECK(fd_siphash((fd_sip_key){1, 2}, "name", 4)
          == fd_siphash((fd_sip_key){1, 2}, "name", 4));
}
