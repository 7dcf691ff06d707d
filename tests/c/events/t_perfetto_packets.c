#include "natives.h"

#include "events/perfetto_packets.h"

#include <string.h>
#include <zlib.h>

static fd_status
count(const void *bytes, size_t size, int *packets, fd_packets *p)
{
    *packets = 0;
    fd_status status = fixture_write("packets", bytes, size);
    status = status == FD_OK ? fd_packets_open(p, "packets", NULL) : status;
    while (status == FD_OK && fd_packets_next(p)) {
        (*packets)++;
    }
    return status == FD_OK ? p->status : status;
}

static void
plain_and_cut(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        int packets;
        int lost;
        const char *trouble;
    } cases[] = {
        {"", 0, 0, 0, ""},
        {"\x0A\x02\x50\x01\x0A\x00", 6, 2, 0, ""},
        {"\x0A\x02\x50\x01\x10\x05\x0A\x02\x50\x02", 10, 2, 0, ""},
        {"\x0A\x02\x50\x01\x0A\x09\x50", 7, 1, 1, "cut short before byte 7"},
        {"\x0A\x02\x50\x01\x0B", 5, 1, 1, "cut short before byte 5"},
        {"\x0A\x02\x50\x01\x0B\x01\x01", 7, 1, 1, "no packet before byte 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_packets_close) fd_packets p = {.in = {.fd = -1}};
        int packets;
        OK(count(cases[i].bytes, cases[i].size, &packets, &p));
        EQUAL(packets, cases[i].packets);
        EQUAL(p.lost, cases[i].lost);
        SAME(p.trouble, cases[i].trouble);
    }
}

static void
packets_within_a_packet(void)
{
    CLEAN(fd_packets_close) fd_packets p = {.in = {.fd = -1}};
    CLEAN(fd_packets_close) fd_packets bad = {.in = {.fd = -1}};
    static const unsigned char inner[] = {0x0A, 2, 0x50, 1, 0x0A, 2, 0x50, 2};
    unsigned char packed[64];
    unsigned long size = sizeof packed;
    unsigned char file[80] = {0x0A, 0, 0x92, 0x03, 0};
    int packets;
    CHECK(compress(packed, &size, inner, sizeof inner) == Z_OK);
    file[1] = (unsigned char)(size + 3);
    file[4] = (unsigned char)size;
    memcpy(file + 5, packed, size);
    OK(count(file, size + 5, &packets, &p));
    EQUAL(packets, 2);
    EQUAL(p.lost, 0);
    file[7] ^= 0xFF;
    OK(count(file, size + 5, &packets, &bad));
    EQUAL(bad.lost, 1);
}

RUN(TEST(plain_and_cut), TEST(packets_within_a_packet))
