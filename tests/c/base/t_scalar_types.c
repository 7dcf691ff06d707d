#include "check.h"

#include "base/scalar_types.h"

static void
names_and_sizes(void)
{
    SAME(fd_dtype_at(6)->name, "float32");
    EQUAL(fd_dtype_at(6)->bytes, 4);
    SAME(fd_dtype_at(15)->cpp, "c10::BFloat16");
    SAME(fd_dtype_at(fd_dtype_count())->name, "unknown");
    EQUAL(fd_dtype_at(UINT32_MAX)->bytes, 0);
}

RUN(TEST(names_and_sizes))
