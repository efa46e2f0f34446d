/* Start-up code and semihosting of a Cortex-M4F: vector table, memory, floating point, main, exit. */

#include "firmware.h"

extern uint32_t data_start[], data_end[], data_load[], bss_start[];

void reset(void);
void fault(void);

/* Vector table at address 0: initial stack pointer, reset handler, fault handlers. */
__attribute__((section(".vectors"), used)) static const struct {
    const void *stack;
    void (*handlers[15])(void);
} vectors = { stack_top, { reset, fault, fault, fault, fault, fault } };

/* The debugger, here QEMU, handles a breakpoint with this number. */
static uintptr_t semihosting(uintptr_t operation, const void *argument)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
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

void fault(void)
{
    put("fault\n");
    leave(2);
}

void reset(void)
{
    int code;
    /* The floating-point unit is off after reset: enable coprocessors 10 and 11 before any code uses it. */
    *(volatile uint32_t *)0xE000ED88 |= 0xFU << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    for (uint32_t *to = data_start, *from = data_load; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    paint_stack();
    code = main();
    put_stack();
    leave((uintptr_t)code);
}
