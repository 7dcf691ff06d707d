#include "fuzz.h"

#include "trace/trace_source.h"

#include <sys/stat.h>

/* A run directory with two recordings, one of them empty, and this
 * manifest. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool written;
    fd_trace *trace = NULL;
    fd_error error = {""};
    if (!written) {
        mkdir("run", 0777);
        must(fixture_recorded("run/rank00000.fd", 0, NULL) == FD_OK);
        must(fixture_write("run/rank00001.fd", "", 0) == FD_OK);
        written = true;
    }
    must(fixture_write("run/manifest.json", data, size) == FD_OK);
    fd_status status = fd_source_open(&trace, (const char *const[]){"run"}, 1,
                                      FD_PART_FIGURES, NULL, &error);
    must(status == FD_OK || status == FD_EFORMAT);
    must(status == FD_OK || error.text[0] != '\0');
    must(status != FD_OK || fixture_sound(trace));
    fd_trace_free(trace);
    return 0;
}

fd_status
fuzz_seed(fd_buffer *to)
{
    fd_buffer_text(to, "{\"version\":1,\"run\":\"0123\",\"ranks\":[{"
                       "\"rank\":0,\"file\":\"rank00000.fd\"},{\"rank\":1,"
                       "\"file\":\"rank00001.fd\"},7,null,{\"file\":3}]}");
    return to->status;
}
