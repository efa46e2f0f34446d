/* Start of a Cortex-M4F: vector table, memory, floating-point unit, main. The start-up code of your vendor does the same. */

#include <stdint.h>

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];

int main(void);
void reset(void);
void fault(void);

__attribute__((section(".vectors"), used)) static const struct {
    const void *stack;
    void (*handlers[15])(void);
} vectors = { stack_top, { reset, fault, fault, fault, fault, fault } };

void fault(void)
{
    for (;;) {
    }
}

void reset(void)
{
    /* The floating-point unit is off after reset. */
    *(volatile uint32_t *)0xE000ED88 |= 0xFU << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    for (uint32_t *to = data_start, *from = data_load; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_start; to < bss_end;)
        *to++ = 0;
    main();
    for (;;) {
    }
}
