#include "check.h"
#include "spans.h"

#include "events/merged_ids.h"

#include <string.h>

TEST(processes)
{
    CLEAN(fd_timeline_ids_clear)
    fd_timeline_ids ids = {.rank = 3, .label = "rank 3", .program = ""};
    uint32_t spare = 1U << 31;
    uint32_t process;
    uint32_t again;
    ids.spare_pid = &spare;
    OK(fd_timeline_ids_process(&ids, span("4711"), &process));
    EQUAL(ids.processes.list[process].pid, 3 * 1024 + 2);
    OK(fd_timeline_ids_process(&ids, span("\"Spans\""), &again));
    EQUAL(ids.processes.list[again].pid, 3 * 1024 + 3);
    OK(fd_timeline_ids_process(&ids, span("\"4711\""), &again));
    EQUAL(again, process);
    OK(fd_timeline_ids_process(&ids, span("\"\""), &again));
    EQUAL(ids.processes.list[again].pid, 3 * 1024 + 1);
    ids.keeps_pids = true;
    OK(fd_timeline_ids_process(&ids, span("17"), &again));
    EQUAL(ids.processes.list[again].pid, 17);
    OK(fd_timeline_ids_process(&ids, span("0"), &again));
    EQUAL(ids.processes.list[again].pid, 3 * 1024 + 5);
}

TEST(very_many_processes)
{
    CLEAN(fd_timeline_ids_clear)
    fd_timeline_ids ids = {.rank = 3, .label = "rank 3", .program = ""};
    CLEAN(fd_buffer_clear) fd_buffer text = {.bytes = NULL};
    uint32_t spare = 1U << 31;
    ids.spare_pid = &spare;
    uint32_t process = 0;
    for (uint32_t i = 0; i < FD_TIMELINE_MOST_PIDS - 1; i++) {
        text.size = 0;
        fd_buffer_u64(&text, i);
        OK(text.status);
        OK(fd_timeline_ids_process(
            &ids, (fd_span){text.bytes, text.bytes + text.size}, &process));
        EQUAL(ids.processes.list[process].pid,
              i < 1022 ? 3 * 1024 + i + 2 : (1U << 31) + i - 1022);
    }
    STATUS(fd_timeline_ids_process(&ids, span("-1"), &process), FD_EFULL);
}

static uint32_t
tid_of(fd_timeline_ids *ids, uint32_t pid, const char *tid)
{
    uint32_t index;
    fd_status status = fd_timeline_ids_thread(ids, pid, span(tid), &index);
    return status == FD_OK ? ids->threads.list[index].tid : 0;
}

ABSORBS(threads)
{
    CLEAN(fd_timeline_ids_clear)
    fd_timeline_ids ids = {.rank = 0, .label = "rank 0", .program = ""};
    CLEAN(fd_buffer_clear) fd_buffer rows = {.bytes = NULL};
    static const char *const spelled[] = {"7", "\"a\\\"b\"", "-1", "\"\""};
    uint32_t spare = FD_TIMELINE_FIRST_TID;
    ids.spare_tid = &spare;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t tid = tid_of(&ids, 2, spelled[i]);
        if (tid == 0) {
            return; /* refused */
        }
        EQUAL(tid, FD_TIMELINE_FIRST_TID + i);
    }
    EQUAL(tid_of(&ids, 2, "\"7\""), FD_TIMELINE_FIRST_TID);
    EQUAL(tid_of(&ids, 3, "7"), FD_TIMELINE_FIRST_TID + 4);
    ids.threads.list[4].named = true;
    OK(fd_timeline_ids_rows(&ids, &rows));
#define ROW ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":2,\"tid\":"
    WRITTEN(&rows, ROW "3000000000,\"args\":{\"name\":\"tid 7\"}}" ROW
                       "3000000001,\"args\":{\"name\":\"a\\\"b\"}}" ROW
                       "3000000002,\"args\":{\"name\":\"-1\"}}");
}

static void
flow_is(const char *id, uint64_t index, const char *wanted)
{
    fd_timeline_ids ids = {.input = index, .inputs = 8};
    CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
    fd_timeline_ids_flow(&ids, span(id), &to);
    WRITTEN(&to, wanted);
}

TEST(flows)
{
    flow_is("0", 0, "\"0x0\"");
    flow_is("5", 0, "\"0x28\"");
    flow_is("5", 7, "\"0x2f\"");
    flow_is("\"0x5\"", 7, "\"0x2f\"");
    flow_is("\"10\"", 0, "\"0x80\"");
    flow_is("2305843009213693949", 1, "\"0xffffffffffffffe9\"");
    flow_is("2305843009213693950", 1, "\"0xfffffffffffffff1\"");
}

/* Hashed ids are unique per input. */
TEST(hashed_flows)
{
    static const char *const texts[] = {"\"abcx\"",
                                        "\"abcy\"",
                                        "-1",
                                        "1.5",
                                        "{\"a\":1}",
                                        "99999999999999999999",
                                        "18446744073709551615",
                                        "\"0xffffffffffffffff0\""};
    char seen[8][32];
    for (size_t i = 0; i < 8; i++) {
        fd_timeline_ids ids = {.input = 5, .inputs = 8};
        CLEAN(fd_buffer_clear) fd_buffer to = {.bytes = NULL};
        fd_timeline_ids_flow(&ids, span(texts[i]), &to);
        fd_buffer_bytes(&to, "", 1);
        OK(to.status);
        memcpy(seen[i], to.bytes, to.size);
        char last = to.bytes[to.size - 3];
        CHECK(last == '5' || last == 'd'); /* place 5 of 8 */
        for (size_t j = 0; j < i; j++) {
            CHECK(strcmp(seen[i], seen[j]) != 0);
        }
    }
}

TEST(rows_of_processes)
{
    CLEAN(fd_timeline_ids_clear)
    fd_timeline_ids ids = {.rank = 1, .label = "rank 1", .program = ""};
    CLEAN(fd_buffer_clear) fd_buffer rows = {.bytes = NULL};
    uint32_t process;
    OK(fd_timeline_ids_process(&ids, span("\"GPU\""), &process));
    OK(fd_timeline_ids_process(&ids, span("17"), &process));
    OK(fd_timeline_ids_name(&ids, process, span("\"python\"")));
    ids.processes.list[process].sorted = true;
    ids.processes.list[process].sort_index = 9;
    OK(fd_timeline_ids_rows(&ids, &rows));
    WRITTEN(
        &rows,
        ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1027,\"tid\":0,"
        "\"args\":{\"name\":\"rank 1 | python\"}}"
        ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1027,"
        "\"tid\":0,\"args\":{\"sort_index\":1024}}"
        ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1026,\"tid\":0,"
        "\"args\":{\"name\":\"rank 1 | GPU\"}}"
        ",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1026,"
        "\"tid\":0,\"args\":{\"sort_index\":1025}}");
}
