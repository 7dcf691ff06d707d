#include "traces.h"

#include "et/readers/chakra_fields.h"
#include "et/readers/et_readers.h"

#include <stdio.h>
#include <string.h>

static void
clear_scan(void *scan)
{
    fd_scan_clear(scan);
}

static fd_scan_result
scan(fd_et *et, const char *text)
{
    fd_scan *scan = fd_arena_owned(&et->arena, sizeof *scan, clear_scan);
    *scan = (fd_scan){.at = text, .end = text + strlen(text)};
    fd_scan_result result = fd_et_scan_node(scan, et);
    fd_arena_check(&et->arena, result == FD_SCAN_ENOMEM ? FD_ENOMEM : FD_OK);
    return result;
}

TEST(of_today)
{
    EMPTY_TRACE(et);
    fd_scan_result result = scan(
        &et,
        "{\"id\": 5, \"name\": \"a\\\"b\", \"ctrl_deps\": 2, \"inputs\": "
        "{\"values\": [1,NaN], \"shapes\": [[]], \"types\": [\"Int\"], "
        "\"strides\": [[]]}, \"outputs\": {\"values\": []}, \"attrs\": ["
        "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 31},"
        "{\"name\": \"seq_id\", \"type\": \"int64\", \"value\": -1},"
        "{\"name\": \"op_schema\", \"type\": \"string\", \"value\": \"x()\"},"
        "{\"name\": \"kernel_file\", \"type\": \"string\", \"value\": \"k\"},"
        "{\"name\": \"n\", \"type\": \"uint64\", \"value\": 12}], "
        "\"ts\": 10.5, \"inclusive_dur\": 3, \"exclusive_dur\": 1, "
        "\"cat\": \"kernel\", \"stream\": 7, \"fd_device\": 2, "
        "\"sync_dep\": [3, 4]}");
    EQUAL(result, FD_SCAN_OK);
    const fd_et_node *node = et.nodes.list;
    EQUAL(node->id, 5);
    EQUAL(node->parent_id, 2);
    SAME(fd_et_text(&et, node->name), "a\"b");
    SAME(fd_et_text(&et, node->in.values), "[1,null]");
    SAME(fd_et_text(&et, node->schema), "x()");
    SAME(fd_et_text(&et, traces_attr(&et, node, "kernel_file")->text), "k");
    EQUAL(et.attrs.list[1].number, 12);
    EQUAL(et.attrs.list[1].field, FD_CHAKRA_INT64);
    FIELDS(node, (rf_id, 31), (seq, -1), (start_ns, 10500), (dur_ns, 3000),
           (self_ns, 1000), (stream, 7), (device, 2),
           (flags, FD_ET_GPU | FD_ET_TIMED));
    EQUAL(et.given.count, 2);
    EQUAL(et.given.list[1].id, 4);
    EQUAL(et.faults.repaired, 1);
}

TEST(of_schema_101)
{
    EMPTY_TRACE(et);
    fd_scan_result result = scan(
        &et, "{\"name\": \"aten::mm\", \"id\": 5, \"rf_id\": 9, \"parent\": 2,"
             " \"fw_parent\": 0, \"seq_id\": 3, \"scope\": 1, \"tid\": 2, "
             "\"fw_tid\": 1, \"op_schema\": \"s\", \"inputs\": [[1,2]], "
             "\"input_shapes\": [[3]], \"input_types\": [\"T\"], \"outputs\": "
             "[], \"output_shapes\": [], \"output_types\": []}");
    EQUAL(result, FD_SCAN_OK);
    const fd_et_node *node = et.nodes.list;
    FIELDS(node, (parent_id, 2), (seq, 3), (tid, 2));
    SAME(fd_et_text(&et, node->in.values), "[[1,2]]");
    SAME(fd_et_text(&et, node->in.shapes), "[[3]]");
    SAME(fd_et_text(&et, node->out.types), "[]");
    SAME(fd_et_text(&et, node->schema), "s");
}

TEST(names_that_are_not_escaped)
{
    static const char *const next[] = {"ctrl_deps", "parent"};
    for (int i = 0; i < 2; i++) {
        EMPTY_TRACE(et);
        char text[96];
        snprintf(text, sizeof text,
                 "{\"id\": 5, \"name\": \"say \"hi\", {\", \"%s\": 2}",
                 next[i]);
        fd_scan_result result = scan(&et, text);
        EQUAL(result, FD_SCAN_OK);
        SAME(fd_et_text(&et, et.nodes.list[0].name), "say \"hi\", {");
        EQUAL(et.nodes.list[0].parent_id, 2);
        EQUAL(et.faults.invalid, 1);
    }
}

TEST(wrong)
{
    static const struct {
        const char *text;
        fd_scan_result result;
    } cases[] = {
        {"{\"name\": \"a\"}", FD_SCAN_BAD},
        {"{\"id\": \"x\"}", FD_SCAN_BAD},
        {"{\"id\": 5, \"na", FD_SCAN_CUT},
        {"{\"id\": 5, \"inputs\": {\"values\": [1,", FD_SCAN_CUT},
        {"5", FD_SCAN_BAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EMPTY_TRACE(et);
        fd_scan_result result = scan(&et, cases[i].text);
        EQUAL(result, cases[i].result);
        EQUAL(et.nodes.count, 0);
    }
    EMPTY_TRACE(et);
    fd_scan_result result =
        scan(&et, "{\"id\": 5, \"name\": [], \"ctrl_deps\":"
                  " {}, \"attrs\": 7, \"ts\": \"x\", "
                  "\"inputs\": 3, \"seq_id\": 1.5}");
    EQUAL(result, FD_SCAN_OK);
    EQUAL(et.faults.wrong, 3);
    EQUAL(et.nodes.list[0].seq, -1);
}
