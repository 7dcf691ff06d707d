#include "check.h"
#include "fixtures.h"

#include "trace/run_manifest.h"

static fd_status
read_text(fd_manifest *manifest, const char *text, fd_error *error)
{
    *manifest = (fd_manifest){.names_any = false};
    fd_status status = fixture_write_text("manifest.json", text);
    return status == FD_OK ? fd_manifest_read(manifest, "manifest.json", error)
                           : status;
}

static void
names_of_files(void)
{
    static const struct {
        const char *text;
        bool first;
        bool other;
    } cases[] = {
        {"{\"format\":\"fastdispatch.run\",\"ranks\":[{\"file\":\"a.fd\"}]}",
         true, false},
        {"{\"ranks\" : [7, {\"file\":3}, {\"file\":\"\\u0061.fd\"}],\n"
         "\"format\" : \"fastdispatch.run\"} ",
         true, false},
        {"{\"format\":\"fastdispatch.run\",\"ranks\":[{\"file\":3}]}", true,
         true},
        {"{\"format\":\"fastdispatch.run\",\"ranks\":{}}", true, true},
        {"{\"format\":\"x\",\"ranks\":[{\"file\":\"b.fd\"}]}", true, true},
        {"[]", true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CLEAN(fd_manifest_clear) fd_manifest manifest;
        OK(read_text(&manifest, cases[i].text, NULL));
        EQUAL(fd_manifest_names(&manifest, "a.fd"), cases[i].first);
        EQUAL(fd_manifest_names(&manifest, "b.fd"), cases[i].other);
    }
}

static void
absent_and_damaged(void)
{
    CLEAN(fd_manifest_clear) fd_manifest absent;
    OK(fd_manifest_read(&absent, "absent.json", NULL));
    CHECK(fd_manifest_names(&absent, "a.fd"));
    static const char *const texts[] = {"", "{\"ranks\":[", "{} x"};
    for (size_t i = 0; i < 3; i++) {
        CLEAN(fd_manifest_clear) fd_manifest manifest;
        fd_error error = {""};
        STATUS(read_text(&manifest, texts[i], &error), FD_EFORMAT);
        SAME(error.text, "manifest.json: not valid JSON");
        CHECK(fd_manifest_names(&manifest, "a.fd"));
    }
}

RUN(TEST(names_of_files), TEST(absent_and_damaged))
