#include "export/exporters.h"

#include "export/callgraph.h"
#include "export/chrome.h"
#include "export/dot.h"
#include "export/perfetto.h"

#include <string.h>

static const fd_exporter exporters[] = {
    {"callgraph", fd_export_callgraph},
    {"chrome", fd_export_chrome},
    {"dot", fd_export_dot},
    {"perfetto", fd_export_perfetto},
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
