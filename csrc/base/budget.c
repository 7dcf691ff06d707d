#include "base/budget.h"

#include <stdatomic.h>

/* Process-wide; 0 outside tests. */
static atomic_size_t shrunk;

size_t
fd_budget(size_t usual)
{
    size_t most = atomic_load_explicit(&shrunk, memory_order_relaxed);
    return most > 0 && most < usual ? most : usual;
}

void
fd_budget_shrink(size_t most)
{
    atomic_store_explicit(&shrunk, most, memory_order_relaxed);
}
