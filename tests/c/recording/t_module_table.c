#include "check.h"
#include "fixtures.h"

#include "recording/module_table.h"

ABSORBS(named_by_position)
{
    FIXTURE(f, NULL, 4);
    fd_modules *modules = &f.recording->modules;
    uint32_t root = fd_modules_add(modules, 0, "", "GPT");
    uint32_t block = fd_modules_add(modules, root, "blocks.0", "Block");
    CHECK(root != 0 && block != 0 && root != block);
    EQUAL(fd_modules_add(modules, root, "blocks.0", "Block"), block);
    CHECK(fd_modules_add(modules, 0, "blocks.0", "Block") != block);
    CHECK(fd_modules_add(modules, root, "blocks.1", "Block") != block);
    CHECK(fd_modules_add(modules, root, "blocks.0", "Other") != block);
    const fd_module *module = fd_file_record(&f.recording->file, block);
    EQUAL(module->parent, root);
    SAME(fd_strings_text(&f.recording->file, module->name), "blocks.0");
    SAME(fd_strings_text(&f.recording->file, module->class_name), "Block");
}

ABSORBS(bound_is_counted)
{
    FIXTURE(f, NULL, 4);
    fd_modules *modules = &f.recording->modules;
    modules->max_count = 2;
    uint32_t one = fd_modules_add(modules, 0, "", "A");
    CHECK(one != 0 && fd_modules_add(modules, 0, "", "B") != 0);
    EQUAL(fd_modules_add(modules, 0, "", "C"), 0);
    EQUAL(fd_modules_add(modules, 0, "", "A"), one);
    EQUAL(fd_file_header(&f.recording->file)->counters[FD_COUNT_MODULES_FULL],
          1);
}

ABSORBS(measured)
{
    FIXTURE(f, NULL, 4);
    fd_modules *modules = &f.recording->modules;
    uint32_t root = fd_modules_add(modules, 0, "", "GPT");
    CHECK(root != 0);
    fd_modules_measure(modules, root, 1000, UINT64_C(1) << 40);
    const fd_module *module = fd_file_record(&f.recording->file, root);
    FIELDS(module, (parameters, 1000), (parameter_bytes, UINT64_C(1) << 40));
    EQUAL(fd_modules_add(modules, 0, "", "GPT"), root);
    EQUAL(module->parameters, 1000);
}
