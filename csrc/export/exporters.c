#include "export/exporters.h"

#include "export/callgraph.h"
#include "export/dot.h"

#include <string.h>

static const fd_exporter exporters[] = {
    {"callgraph", fd_export_callgraph},
    {"dot", fd_export_dot},
};

const fd_exporter *
fd_exporter_find(const char *name)
{
    for (size_t i = 0; i < sizeof exporters / sizeof *exporters; i++) {
        if (strcmp(exporters[i].name, name) == 0) {
            return &exporters[i];
        }
    }
    return NULL;
}
