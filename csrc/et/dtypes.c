#include "et/et_steps.h"

#include "base/scalar_types.h"

#include <stdio.h>
#include <string.h>

uint32_t
fd_et_item_size(const fd_et *et, uint32_t dtype)
{
    return fd_dtype_size(fd_et_text(et, dtype),
                         fd_text_pool_size(&et->texts, dtype));
}

/* Return the first unknown dtype of a list of types; empty: all are known. */
static fd_span
strange_in(const char *types)
{
    static const char head[] = "Tensor(";
    static const char none[] = "nullptr";
    for (const char *at = strstr(types, head); at != NULL;
         at = strstr(at, head)) {
        at += sizeof head - 1;
        size_t size = strcspn(at, ")");
        if (strncmp(at, none, sizeof none - 1) != 0
            && fd_dtype_size(at, size) == 0) {
            return (fd_span){at, at + size};
        }
    }
    return (fd_span){"", ""};
}

/* Return whether a list of types has an unknown one. Each distinct list is
 * checked once, since there are few. */
static bool
check_types(fd_et *et, fd_map *known, uint32_t types)
{
    enum { GOOD = 1, STRANGE };
    uint32_t verdict = fd_map_get(known, (uint64_t)types + 1);
    if (verdict == 0) {
        fd_span found = strange_in(fd_et_text(et, types));
        verdict = fd_span_size(found) > 0 ? STRANGE : GOOD;
        fd_arena_put(&et->arena, known, (uint64_t)types + 1, verdict);
        if (verdict == STRANGE && et->faults.dtype[0] == '\0') {
            snprintf(et->faults.dtype, sizeof et->faults.dtype, "%.*s",
                     (int)fd_span_size(found), found.from);
        }
    }
    return verdict == STRANGE;
}

void
fd_et_check_dtypes(fd_et *et)
{
    fd_map *known = fd_arena_map(&et->arena);
    for (uint32_t i = 0; i < et->nodes.count; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        const fd_et_comm *comm = fd_et_comm_of(et, node);
        bool strange = comm != NULL && comm->dtype != 0
                    && fd_et_item_size(et, comm->dtype) == 0;
        if (strange && et->faults.dtype[0] == '\0') {
            snprintf(et->faults.dtype, sizeof et->faults.dtype, "%.63s",
                     fd_et_text(et, comm->dtype));
        }
        strange |= check_types(et, known, node->in.types);
        strange |= check_types(et, known, node->out.types);
        et->faults.dtypes_unknown += strange;
    }
    fd_arena_drop(known);
}
