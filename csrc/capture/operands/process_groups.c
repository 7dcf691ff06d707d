#include "capture/operands/process_groups.h"

#include "capture/frames/memory_copies.h"
#include "capture/torch/libtorch.h"
#include "recording/operand_words.h"

enum {
    WORD = sizeof(uint64_t),
    COUNTS = 2, /* first words of every box: virtual table, counts */
    BOX_WORDS = 16,
    USUAL = 10, /* index of the word of the slots in PyTorch 2.x: each trial of
                   a word is one or two system calls */
    HOLDER = 2, /* a pybind11 object: after reference count and type ... */
    HOLDER_END = 5 /* ... the pointer to the C++ object */
};

static bool
is_group(uint64_t address)
{
    uint64_t table;
    return address != 0 && fd_copy_memory(address, &table, sizeof table)
        && table == fd_torch.process_group_table;
}

/* Return the address of the group in the first slot, or 0 if it is not a
 * group. */
static uint64_t
group_in_slots(uint64_t slots)
{
    uint64_t slot;
    return slots != 0 && slots % WORD == 0
                && fd_copy_memory(slots, &slot, sizeof slot) && is_group(slot)
             ? slot
             : 0;
}

uint64_t
fd_process_group_in(uint64_t box)
{
    uint64_t words[BOX_WORDS];
    if (fd_torch.process_group_table == 0
        || !fd_copy_memory(box, words, sizeof words)) {
        return 0;
    }
    uint64_t group = group_in_slots(words[USUAL]);
    for (int i = COUNTS; group == 0 && i < BOX_WORDS; i++) {
        group = group_in_slots(words[i]);
    }
    return group;
}

void
fd_process_groups_resolve(fd_op_log *log)
{
    fd_words words = {log->words.list, log->words.list + log->words.count};
    fd_operand operand;
    while (fd_torch.process_group_table != 0
           && fd_words_next(&words, &operand)) {
        uint64_t group = operand.kind == FD_OPERAND_OTHER
                           ? fd_process_group_in(operand.more[0])
                           : 0;
        if (group != 0) {
            log->words.list[operand.more - log->words.list] = group;
        }
    }
}

uint64_t
fd_process_group_of(const void *object)
{
    uint64_t words[HOLDER_END];
    if (fd_torch.process_group_table == 0
        || !fd_copy_memory((uint64_t)(uintptr_t)object, words, sizeof words)) {
        return 0;
    }
    for (int i = HOLDER; i < HOLDER_END; i++) {
        if (is_group(words[i])) {
            return words[i];
        }
    }
    return 0;
}
