#include "et/dtypes.h"

#include "base/map.h"

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

/* Check each distinct list of types once, since there are few. */
static fd_status
check_types(fd_et *et, fd_map *known, uint32_t types, bool *strange)
{
    enum { GOOD = 1, STRANGE };
    uint32_t verdict = fd_map_get(known, (uint64_t)types + 1);
    fd_status status = FD_OK;
    if (verdict == 0) {
        fd_span found = strange_in(fd_et_text(et, types));
        verdict = fd_span_size(found) > 0 ? STRANGE : GOOD;
        status = fd_map_put(known, (uint64_t)types + 1, verdict);
        if (verdict == STRANGE && et->faults.dtype[0] == '\0') {
            snprintf(et->faults.dtype, sizeof et->faults.dtype, "%.*s",
                     (int)fd_span_size(found), found.from);
        }
    }
    *strange = *strange || verdict == STRANGE;
    return status;
}

fd_status
fd_et_check_dtypes(fd_et *et)
{
    fd_map known = {.entries = NULL};
    fd_status status = FD_OK;
    for (uint32_t i = 0; i < et->nodes.count && status == FD_OK; i++) {
        const fd_et_node *node = &et->nodes.list[i];
        const fd_et_comm *comm = fd_et_comm_of(et, node);
        bool strange = comm != NULL && comm->dtype != 0
                    && fd_et_item_size(et, comm->dtype) == 0;
        if (strange && et->faults.dtype[0] == '\0') {
            snprintf(et->faults.dtype, sizeof et->faults.dtype, "%.63s",
                     fd_et_text(et, comm->dtype));
        }
        status = check_types(et, &known, node->in.types, &strange);
        fd_then(status, check_types(et, &known, node->out.types, &strange));
        et->faults.dtypes += strange;
    }
    fd_map_clear(&known);
    return status;
}
