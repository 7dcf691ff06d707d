#include "capture/torch/libtorch.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

fd_libtorch fd_torch;

static const char LIBRARY[] = "/libtorch_cpu.so";

/* Paths of loaded libraries, borrowed from the loader. */
typedef struct loaded {
    const char *first; /* NULL: PyTorch is not loaded */
    const char *other; /* NULL: only one is loaded */
} loaded;

/* Distributions may add a version to the name: libtorch_cpu.so.2.6. */
static int
note_libtorch(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    loaded *found = context;
    const char *name = strrchr(info->dlpi_name, '/');
    if (name == NULL || strncmp(name, LIBRARY, sizeof LIBRARY - 1) != 0) {
        return 0;
    }
    *(found->first == NULL ? &found->first : &found->other) = info->dlpi_name;
    return found->other != NULL;
}

/* Return a handle to the loaded library, or NULL with an error. Python loads
 * extension libraries privately, so RTLD_DEFAULT does not see their
 * symbols. */
static void *
loaded_library(fd_error *error)
{
    loaded found = {0};
    dl_iterate_phdr(note_libtorch, &found);
    if (found.other != NULL) {
        fd_fail(error, FD_EINVAL, "two PyTorch libraries are loaded: %s, %s",
                found.first, found.other);
        return NULL;
    }
    void *library = found.first == NULL
                      ? NULL
                      : dlopen(found.first, RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) {
        fd_fail(error, FD_EINVAL, "no library libtorch_cpu.so is loaded");
    }
    return library;
}

typedef struct wanted {
    void *function; /* pointer to a function pointer */
    const char *symbol;
} wanted;

/* Search PyTorch and the libraries that it was linked with. */
static fd_status
find_all(const wanted *list, size_t count, fd_error *error)
{
    void *library = loaded_library(error);
    if (library == NULL) {
        return FD_EINVAL;
    }
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, list[i].symbol);
        if (address == NULL) {
            return fd_fail(error, FD_EINVAL, "libtorch_cpu.so has no %s",
                           list[i].symbol);
        }
        memcpy(list[i].function, &address, sizeof address);
    }
    return FD_OK;
}

void *
fd_libtorch_function(const char *symbol)
{
    fd_error error = {""};
    void *library = loaded_library(&error);
    return library == NULL ? NULL : dlsym(library, symbol);
}

fd_status
fd_libtorch_find(fd_error *error)
{
    const wanted list[] = {
        {&fd_torch.add_global_callback,
         "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"},
        {&fd_torch.add_thread_callback,
         "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE"},
        {&fd_torch.remove_callback, "_ZN2at14removeCallbackEm"},
        {&fd_torch.record_name, "_ZNK2at14RecordFunction4nameEv"},
        {&fd_torch.record_is_async, "_ZNK2at14RecordFunction7isAsyncEv"},
        {&fd_torch.current_thread,
         "_ZN2at14RecordFunction15currentThreadIdEv"},
        {&fd_torch.next_number, "_ZN2at15sequence_number4peekEv"},
    };
    return find_all(list, sizeof list / sizeof *list, error);
}

#define OSTRINGSTREAM \
    "St7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE"

fd_status
fd_libtorch_find_printer(fd_error *error)
{
    const wanted list[] = {
        {&fd_torch.print_schema, "_ZN3c10lsERSoRKNS_14FunctionSchemaE"},
        {&fd_torch.begin_stream, "_ZN" OSTRINGSTREAM "C1Ev"},
        {&fd_torch.end_stream, "_ZN" OSTRINGSTREAM "D1Ev"},
        {&fd_torch.stream_text, "_ZNK" OSTRINGSTREAM "3strEv"},
        {&fd_torch.end_text, "_ZNSt7__cxx1112basic_stringIcSt11char_traits"
                             "IcESaIcEED1Ev"},
    };
    fd_status status = find_all(list, sizeof list / sizeof *list, error);
    void *library = loaded_library(error);
    void *table =
        library == NULL ? NULL : dlsym(library, "_ZTVN4c10d12ProcessGroupE");
    /* Two words precede the functions: offset to top and type. */
    fd_torch.process_group_table =
        table == NULL ? 0 : (uint64_t)(uintptr_t)table + 2 * sizeof(void *);
    return status;
}
