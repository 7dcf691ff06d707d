#include "traces.h"

#include "et/readers/json_nodes.h"

#include <string.h>

static fd_scan_result
scan(fd_et *et, const char *text)
{
    fd_scan at = {.at = text, .end = text + strlen(text)};
    fd_scan_result result = fd_et_scan_workload(&at, et);
    fd_scan_clear(&at);
    return result;
}

static void
fields(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    STATUS(scan(&et,
                "{\"data_deps\": [3,\n4], \"Id\": 5, \"Name\": \"a\\\"b\","
                " \"NodeType\": 5, \"ctrlDeps\": [2], \"runtime\": 7,"
                " \"is_cpu_op\": false, \"comm_type\": -1, \"comm_dst\":"
                " 3, \"comm_tag\": 9, \"comm_size\": 40, \"pg_name\":"
                " \"g\", \"more\": [{}]} ")
                   == FD_SCAN_OK
               ? FD_OK
               : FD_ENOMEM,
           FD_OK);
    EQUAL(et.nodes.count, 1);
    const fd_et_node *node = et.nodes.list;
    EQUAL(node->id, 5);
    EQUAL(node->parent_id, 2);
    EQUAL(node->type, FD_ET_SEND);
    EQUAL(node->dur_ns, 7000);
    EQUAL(node->flags, FD_ET_WRITTEN | FD_ET_GPU | FD_ET_TIMED);
    SAME(fd_et_text(&et, node->name), "a\"b");
    const fd_et_comm *comm = fd_et_comm_of(&et, node);
    EQUAL(comm->dst, 3);
    EQUAL(comm->tag, 9);
    EQUAL(comm->bytes, 40);
    EQUAL(comm->type, -1);
    SAME(fd_et_text(&et, comm->group), "g");
    EQUAL(et.given.count, 2);
    EQUAL(et.given.list[1].id, 4);
    EQUAL(et.faults.wrong, 0);
}

static void
invalid(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    EQUAL(scan(&et, "{\"Name\": \"a\"} "), FD_SCAN_BAD);
    EQUAL(scan(&et, "{\"Id\": -1} "), FD_SCAN_BAD);
    EQUAL(scan(&et, "{\"Id\": 1"), FD_SCAN_CUT);
    EQUAL(scan(&et, "[1]"), FD_SCAN_BAD);
    EQUAL(et.nodes.count, 0);
}

RUN(TEST(fields), TEST(invalid))
