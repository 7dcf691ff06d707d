/* C++ functions that return an object through a hidden pointer to its place:
 * the start callbacks of PyTorch's records (std::unique_ptr), which C
 * implements, and std::ostringstream::str, which C calls.
 *
 *   x86-64   The pointer is the first argument, and the function returns it:
 *            the same as a C function with one more argument.
 *   AArch64  The pointer is in x8, which is not an argument of C functions.
 *            An entry in assembly moves it to x0 and the argument from x0 to
 *            x1, and continues with the C function. It has no frame, so the
 *            unwinding information of the C function is complete. The hint is
 *            a landing pad for indirect calls (bti c), else no operation. */
#ifndef FD_HIDDEN_RESULT_H
#define FD_HIDDEN_RESULT_H

/* Define the entry of `name`, a function of the same file with the parameters
 * (result, argument), declared as FD_HIDDEN_RESULT. */
#if defined(__aarch64__)
#define FD_HIDDEN_RESULT static __attribute__((used, noipa)) void *
#define FD_HIDDEN_RESULT_DEFINE(name) \
    __asm__(".text\n" \
            ".p2align 4\n" \
            ".type " #name "_entry, %function\n" /* */ \
            #name "_entry:\n" \
            "    .cfi_startproc\n" \
            "    hint #34\n" \
            "    mov x1, x0\n" \
            "    mov x0, x8\n" \
            "    b " #name "\n" \
            "    .cfi_endproc\n" \
            ".size " #name "_entry, . - " #name "_entry\n"); \
    __attribute__((visibility("hidden"))) void *name##_entry( \
        void **result, const void *argument)
#define FD_HIDDEN_RESULT_ENTRY(name) name##_entry
#else
#define FD_HIDDEN_RESULT static void *
#define FD_HIDDEN_RESULT_DEFINE(name) \
    _Static_assert(1, "the function is its own entry")
#define FD_HIDDEN_RESULT_ENTRY(name) name
#endif

/* Call a C++ function with one argument that returns an object. */
static inline void
fd_hidden_result_call(void *result, const void *argument,
                      void *(*function)(void *, const void *))
{
#if defined(__aarch64__)
    register const void *x0 __asm__("x0") = argument;
    register void *x8 __asm__("x8") = result;
    __asm__ volatile("blr %2"
                     : "+r"(x0), "+r"(x8)
                     : "r"(function)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x9", "x10",
                       "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
                       "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23",
                       "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
                       "cc", "memory");
#else
    function(result, argument);
#endif
}

#endif
