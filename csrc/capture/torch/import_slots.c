#include "capture/torch/import_slots.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { CALLED = R_X86_64_JUMP_SLOT, LOADED = R_X86_64_GLOB_DAT };
#else
enum { CALLED = R_AARCH64_JUMP_SLOT, LOADED = R_AARCH64_GLOB_DAT };
#endif

typedef struct search {
    const char *library;
    const char *symbol;
    uint64_t address;
    bool sealed;
} search;

/* The relocations and symbols of a library. */
typedef struct tables {
    const Elf64_Sym *symbols;
    const char *texts;
    const Elf64_Rela *calls;
    size_t call_bytes;
    const Elf64_Rela *data;
    size_t data_bytes;
} tables;

static tables
tables_of(const Elf64_Dyn *entry)
{
    tables found = {0};
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = (const void *)(uintptr_t)entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB:
            found.symbols = at;
            break;
        case DT_STRTAB:
            found.texts = at;
            break;
        case DT_JMPREL:
            found.calls = at;
            break;
        case DT_PLTRELSZ:
            found.call_bytes = entry->d_un.d_val;
            break;
        case DT_RELA:
            found.data = at;
            break;
        case DT_RELASZ:
            found.data_bytes = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
    return found;
}

/* Return the offset of the slot of a symbol, or 0 if it has no slot. */
static uint64_t
offset_in(const tables *of, const Elf64_Rela *list, size_t bytes,
          const char *symbol)
{
    for (size_t i = 0; list != NULL && i < bytes / sizeof *list; i++) {
        uint64_t type = ELF64_R_TYPE(list[i].r_info);
        if (type != CALLED && type != LOADED) {
            continue;
        }
        const Elf64_Sym *named = &of->symbols[ELF64_R_SYM(list[i].r_info)];
        if (strcmp(of->texts + named->st_name, symbol) == 0) {
            return list[i].r_offset;
        }
    }
    return 0;
}

static bool
is_sealed(const struct dl_phdr_info *info, uint64_t offset)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *part = &info->dlpi_phdr[i];
        uint64_t end = (part->p_vaddr + part->p_memsz) & ~(page - 1);
        if (part->p_type == PT_GNU_RELRO && offset >= part->p_vaddr
            && offset < end) {
            return true;
        }
    }
    return false;
}

static int
look_at_library(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    search *wanted = context;
    const char *name = strrchr(info->dlpi_name, '/');
    if (name == NULL
        || strncmp(name + 1, wanted->library, strlen(wanted->library)) != 0) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) {
            continue;
        }
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        tables of = tables_of((const Elf64_Dyn *)at);
        uint64_t offset =
            offset_in(&of, of.calls, of.call_bytes, wanted->symbol);
        if (offset == 0) {
            offset = offset_in(&of, of.data, of.data_bytes, wanted->symbol);
        }
        wanted->address = offset == 0 ? 0 : info->dlpi_addr + offset;
        wanted->sealed = is_sealed(info, offset);
    }
    return 1;
}

static bool
protect_slot(const fd_import_slot *slot, int access)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)slot->address & ~(page - 1);
    return !slot->sealed || mprotect((void *)at, page, access) == 0;
}

bool
fd_import_slot_set(fd_import_slot *slot, const char *library,
                   const char *symbol, void *function)
{
    search wanted = {.library = library, .symbol = symbol};
    dl_iterate_phdr(look_at_library, &wanted);
    if (wanted.address == 0) {
        return false;
    }
    fd_import_slot made = {.address = (_Atomic(void *) *)wanted.address,
                           .function = function,
                           .sealed = wanted.sealed};
    if (!protect_slot(&made, PROT_READ | PROT_WRITE)) {
        return false;
    }
    made.before = atomic_exchange(made.address, function);
    protect_slot(&made, PROT_READ);
    *slot = made;
    return true;
}

void
fd_import_slot_restore(fd_import_slot *slot)
{
    if (slot->address == NULL) {
        return;
    }
    void *function = slot->function;
    if (protect_slot(slot, PROT_READ | PROT_WRITE)) {
        atomic_compare_exchange_strong(slot->address, &function, slot->before);
        protect_slot(slot, PROT_READ);
    }
    slot->address = NULL;
}
