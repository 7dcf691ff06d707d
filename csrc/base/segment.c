#include "base/segment.h"

#include "base/alloc.h"

#include <sys/mman.h>

enum { GUARD = 4096 * 16 };
#define SMALLEST ((size_t)16 << 20)
#define LARGEST ((size_t)1 << 30)

/* call_on(top, function, argument) keeps the old stack pointer in the frame
 * pointer, as the unwinding information states. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".type fd_call_on, @function\n"
        "fd_call_on:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    movq %rdi, %rsp\n"
        "    movq %rdx, %rdi\n"
        "    callq *%rsi\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    retq\n"
        "    .cfi_endproc\n"
        ".size fd_call_on, . - fd_call_on\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".p2align 4\n"
        ".type fd_call_on, %function\n"
        "fd_call_on:\n"
        "    .cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset x29, -16\n"
        "    .cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa_register x29\n"
        "    mov sp, x0\n"
        "    mov x0, x2\n"
        "    blr x1\n"
        "    mov sp, x29\n"
        "    ldp x29, x30, [sp], #16\n"
        "    .cfi_def_cfa sp, 0\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size fd_call_on, . - fd_call_on\n");
#endif

#if FD_HAS_SEGMENTS

void fd_call_on(char *top, void (*function)(void *), void *argument);

/* A segment is as large as the thread's own stack: half of it stays free for
 * the program's C code before the next segment, as on the first stack. */
fd_segment *
fd_segment_make(size_t stack_bytes)
{
    size_t bytes = stack_bytes < SMALLEST ? SMALLEST
                 : stack_bytes > LARGEST  ? LARGEST
                                          : stack_bytes / GUARD * GUARD;
    fd_segment *segment = fd_calloc(1, sizeof *segment);
    if (segment == NULL) {
        return NULL;
    }
    void *base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) {
        fd_free(segment);
        return NULL;
    }
    mprotect(base, GUARD, PROT_NONE);
    segment->base = base;
    segment->bytes = bytes;
    segment->bottom = segment->base + GUARD;
    segment->low = segment->base + bytes / 2;
    return segment;
}

void
fd_segment_run(const fd_segment *segment, void (*function)(void *),
               void *argument)
{
    fd_call_on(segment->base + segment->bytes, function, argument);
}

#else

fd_segment *
fd_segment_make(size_t stack_bytes)
{
    (void)stack_bytes;
    return NULL;
}

void
fd_segment_run(const fd_segment *segment, void (*function)(void *),
               void *argument)
{
    (void)segment;
    function(argument);
}

#endif

void
fd_segment_free(fd_segment *segment)
{
    while (segment != NULL) {
        fd_segment *next = segment->next;
        munmap(segment->base, segment->bytes);
        fd_free(segment);
        segment = next;
    }
}
