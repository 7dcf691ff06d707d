#include "check.h"

#include "et/et_names.h"

#include <string.h>

TEST(roots)
{
    EQUAL(fd_et_root("[pytorch|profiler|execution_graph|thread]"),
          FD_ET_THREAD);
    EQUAL(fd_et_root("[pytorch|profiler|execution_trace|process]"),
          FD_ET_PROCESS);
    EQUAL(fd_et_root("[pytorch|profiler|execution_trace|x]"), 0);
    EQUAL(fd_et_root("aten::mm"), 0);
}

static uint32_t
count_tensors(const char *list)
{
    fd_span rest = {list, list + strlen(list)};
    uint64_t storage;
    uint32_t count = 0;
    while (fd_et_next_storage(&rest, &storage)) {
        count += storage == 8;
    }
    return count;
}

TEST(tensors)
{
    static const char list[] =
        "[[1,2],\"[7,8,0,40,4,\\\"\",[[7,8,3,40,4,\"cpu\"]],[9,0,0,0,0,\"\"],"
        "['x'],[1,2,3,4,5,6],true]";
    uint64_t storage;
    fd_span rest = {list, list + strlen(list)};
    CHECK(fd_et_next_storage(&rest, &storage));
    EQUAL(storage, 8);
    CHECK(fd_et_next_storage(&rest, &storage));
    EQUAL(storage, 0);
    CHECK(!fd_et_next_storage(&rest, &storage));
    EQUAL(count_tensors("[\n\t[ 7 ,\r\n 8,0 , 40,\n\t\t4 ,\n\"cpu\"\n]\t]"),
          1);
    EQUAL(count_tensors("[[7, 8, 0, 40, 4, 'cpu'], [1, 2, 3, 4]]"), 1);
}
