#include "check.h"
#include "fixtures.h"

#include "recording/measures/measure_table.h"

static fd_measure_key
key_of(uint32_t context, uint16_t kind)
{
    return (fd_measure_key){.context = context, .kind = kind};
}

ABSORBS(one_record_per_key)
{
    FIXTURE(f, NULL, 1);
    uint32_t node = fixture_node(&f, FD_NODE_OP, "aten::mm");
    uint32_t id = fd_tree_id(f.main, fixture_enter_node(f.main, node));
    fd_measure *comm = fd_measures_at(f.main, key_of(id, FD_MEASURE_COMM));
    CHECK(comm != NULL);
    fd_measure_add(comm, 10, 3);
    fd_measure_add(comm, 4, 3);
    CHECK(fd_measures_at(f.main, key_of(id, FD_MEASURE_COMM)) == comm);
    FIELDS(comm, (count, 2), (sum, 14), (max, 10), (other, 6), (context, id));
    fd_measure_key with = key_of(id, FD_MEASURE_COMM);
    with.flags = FD_MEASURE_ASYNC;
    const fd_measure *async = fd_measures_at(f.main, with);
    with.detail = 4;
    const fd_measure *detailed = fd_measures_at(f.main, with);
    CHECK(async != NULL && async != comm && async->flags == FD_MEASURE_ASYNC);
    CHECK(detailed != NULL && detailed != async && detailed->detail == 4);
    EQUAL(f.main->measures.pool.count, 3);
    fixture_leave(f.main);
}

/* Keys that differ in any part, up to the largest ids, are different words. */
TEST(keys_are_exact)
{
    fd_measure_key most = {(1U << 24) - 1, 31, 7, UINT32_MAX};
    fd_measure_key less[] = {most, most, most, most};
    less[0].context--;
    less[1].kind--;
    less[2].flags--;
    less[3].detail--;
    for (int i = 0; i < 4; i++) {
        CHECK(fd_measure_word(less[i]) != fd_measure_word(most));
        for (int k = 0; k < i; k++) {
            CHECK(fd_measure_word(less[i]) != fd_measure_word(less[k]));
        }
    }
}

ABSORBS(overflow_is_counted)
{
    FIXTURE(f, NULL, 1);
    f.recording->limits.max_measures = 4 * 1024;
    uint32_t capacity = (4 * 1024 - sizeof(fd_chunk)) / sizeof(fd_measure);
    uint32_t kept = 0;
    for (uint32_t i = 1; i <= 100; i++) {
        kept += fd_measures_at(f.main, key_of(i, FD_MEASURE_COMM)) != NULL;
    }
    EQUAL(kept, capacity);
    const fd_header *header = fd_file_header(&f.recording->file);
    EQUAL(header->counters[FD_COUNT_MEASURES_FULL], 100 - capacity);
    CHECK(fd_measures_at(f.main, key_of(100, FD_MEASURE_COMM)) == NULL);
    CHECK(fd_measures_at(f.main, key_of(1, FD_MEASURE_COMM)) != NULL);
    EQUAL(header->counters[FD_COUNT_MEASURES_FULL], 101 - capacity);
    fd_measure_add(NULL, 1, 1);
}
