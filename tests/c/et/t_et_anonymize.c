#include "check.h"

#include "et/et_anonymize.h"

#include <string.h>

/* A node of this name and scope, hidden; its texts as `name` and `schema`. */
static fd_status
hide(fd_et_anonymizer *anonymizer, fd_et *et, const char *name, uint8_t scope,
     const char *schema)
{
    fd_et_node *node = fd_et_add(et);
    fd_status status =
        node == NULL
            ? FD_ENOMEM
            : fd_text_pool_add(&et->texts, name, strlen(name), &node->name);
    if (status == FD_OK && schema != NULL) {
        status = fd_text_pool_add(&et->texts, schema, strlen(schema),
                                  &node->schema);
    }
    if (status != FD_OK) {
        return status;
    }
    node->scope = scope;
    return fd_et_hide_node(anonymizer, et, node);
}

static const char *
name_of(const fd_et *et)
{
    return fd_et_text(et, et->nodes.list[et->nodes.count - 1].name);
}

static const char *
schema_of(const fd_et *et)
{
    return fd_et_text(et, et->nodes.list[et->nodes.count - 1].schema);
}

static void
names_that_stay(void)
{
    static const struct {
        const char *name;
        uint8_t scope;
    } cases[] = {{"aten::add", 0},
                 {"AddBackward0", 1},
                 {"record_param_comms", 7},
                 {"ProfilerStep#3", 7},
                 {"Optimizer.step#AdamW.step", 7}};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    fd_et_anonymizer anonymizer = {.et = &et, .key = fd_names_key("salt", 4)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(hide(&anonymizer, &et, cases[i].name, cases[i].scope,
                "aten::x(!)"));
        SAME(name_of(&et), cases[i].name);
        SAME(schema_of(&et), "aten::x(!)");
        CHECK(!anonymizer.all);
    }
}

static void
names_that_go(void)
{
    static const struct {
        const char *name;
        uint8_t scope;
    } cases[] = {{"secret::add", 0},
                 {"secretBackward", 1},
                 {"a secret range", 7},
                 {"Optimizer.step#secretAdam.step", 7}};
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    fd_et_anonymizer anonymizer = {.et = &et, .key = fd_names_key("salt", 4)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OK(hide(&anonymizer, &et, cases[i].name, cases[i].scope, NULL));
        CHECK(strstr(name_of(&et), "secret") == NULL);
        CHECK(strstr(name_of(&et), "f_") != NULL);
        SAME(schema_of(&et), "");
        CHECK(anonymizer.all);
    }
    CHECK(strncmp(name_of(&et), "Optimizer.step#f_", 17) == 0);
    OK(hide(&anonymizer, &et, "autograd::engine::evaluate_function: secret", 0,
            NULL));
    CHECK(strncmp(name_of(&et), "autograd::engine::evaluate_function: f_", 39)
          == 0);
    OK(hide(&anonymizer, &et, "secret::add_", 0,
            "secret::add_(Tensor(a!) secret) -> Tensor(a!)"));
    CHECK(strstr(schema_of(&et), "secret") == NULL);
    CHECK(strchr(schema_of(&et), '!') != NULL);
    OK(hide(&anonymizer, &et, "secret::add", 0,
            "secret::add(Tensor secret) -> Tensor"));
    CHECK(strstr(schema_of(&et), "secret") == NULL);
    CHECK(strchr(schema_of(&et), '!') == NULL);
}

static fd_status
add_group(fd_et *et, const char *name, const char *about)
{
    fd_et_group group = {.size = 2};
    fd_status status =
        fd_text_pool_add(&et->texts, name, strlen(name), &group.name);
    if (status == FD_OK) {
        status =
            fd_text_pool_add(&et->texts, about, strlen(about), &group.about);
    }
    return status == FD_OK ? fd_vector_push(&et->groups, group) : status;
}

static void
groups_and_operands(void)
{
    CLEAN(fd_et_clear) fd_et et = {.rank = -1};
    CLEAN(fd_buffer_clear) fd_buffer said = {.bytes = NULL};
    fd_et_anonymizer anonymizer = {.et = &et, .key = fd_names_key("salt", 4)};
    OK(add_group(&et, "0", "default_pg"));
    OK(add_group(&et, "1", "secret"));
    OK(fd_text_pool_add(&et.texts, "secret-host", 11, &et.host));
    fd_et_put_private(NULL, &said, "secret", 6);
    fd_et_put_private(&anonymizer, &said, "default_pg", 10);
    fd_et_put_private(&anonymizer, &said, "tanh", 4);
    OK(said.status);
    EQUAL(said.size, 26);
    CHECK(memcmp(said.bytes, "\"secret\"\"default_pg\"\"tanh\"", 26) == 0);
    fd_buffer_clear(&said);
    fd_et_put_private(&anonymizer, &said, "secret", 6);
    anonymizer.all = true;
    fd_et_put_private(&anonymizer, &said, "tanh", 4);
    OK(said.status);
    EQUAL(said.size, 32);
    CHECK(memcmp(said.bytes, "\"f_", 3) == 0);
    OK(fd_et_hide_head(&anonymizer, &et));
    SAME(fd_et_text(&et, et.groups.list[0].about), "default_pg");
    SAME(fd_et_text(&et, et.groups.list[1].name), "1");
    CHECK(memcmp(fd_et_text(&et, et.groups.list[1].about), said.bytes + 1, 14)
          == 0);
    CHECK(strstr(fd_et_text(&et, et.host), "secret") == NULL);
}

RUN(TEST(names_that_stay), TEST(names_that_go), TEST(groups_and_operands))
