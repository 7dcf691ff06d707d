#include "check.h"

#include "base/siphash.h"

/* The vectors of the paper and of its reference program: key 00 to 0f, input
 * 00, 01, ... */
static void
known_answers(void)
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

static void
the_key_counts(void)
{
    CHECK(fd_siphash((fd_sip_key){1, 2}, "name", 4)
          != fd_siphash((fd_sip_key){1, 3}, "name", 4));
    CHECK(fd_siphash((fd_sip_key){1, 2}, "name", 4)
          == fd_siphash((fd_sip_key){1, 2}, "name", 4));
}

RUN(TEST(known_answers), TEST(the_key_counts))
