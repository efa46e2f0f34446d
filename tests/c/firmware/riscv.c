/* Start-up code and semihosting of a RISC-V core: stack, traps, memory, main, exit. */

#include "firmware.h"

extern uint32_t bss_start[];

void begin(void);
void fault(void);

/* Stack and trap vector, which C cannot set. The .data section is loaded at its run address, so there is nothing to copy. */
__asm__(".section .start, \"ax\"\n"
        ".global start\n"
        ".option arch, +zicsr\n"
        "start:\n"
        "    la sp, stack_top\n"
        "    la t0, fault\n"
        "    csrw mtvec, t0\n"
        "    j begin\n"
        ".text\n");

/* The debugger, here QEMU, handles a breakpoint between these two no-op instructions. */
static uintptr_t semihosting(uintptr_t operation, const void *argument)
{
    register uintptr_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n\t"
                     ".option push\n\t"
                     ".option norvc\n\t"
                     "slli zero, zero, 0x1f\n\t"
                     "ebreak\n\t"
                     "srai zero, zero, 7\n\t"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

void put(const char *text)
{
    semihosting(SYS_WRITE0, text);
}

static void leave(uintptr_t code)
{
    const uintptr_t block[2] = { APPLICATION_EXIT, code };
    for (;;)
        semihosting(SYS_EXIT_EXTENDED, block);
}

/* Aligned as required for a trap vector. */
__attribute__((aligned(4))) void fault(void)
{
    put("fault\n");
    leave(2);
}

void begin(void)
{
    int code;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    paint_stack();
    code = main();
    put_stack();
    leave((uintptr_t)code);
}
