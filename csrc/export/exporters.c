#include "export/exporters.h"

#include "events/recorded/timeline_exports.h"
#include "export/stack_exports.h"

#include <string.h>

static const fd_exporter exporters[] = {
    {"chrome", fd_export_chrome, true},
    {"perfetto", fd_export_perfetto, true},
    {"pprof", fd_export_pprof, false},
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
