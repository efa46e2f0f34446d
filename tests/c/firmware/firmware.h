/* Shared by the start-up codes. */
#ifndef FIRMWARE_H
#define FIRMWARE_H

#include <stdint.h>

/* Semihosting: operation numbers, and the reason code of a normal exit. */
#define SYS_WRITE0 0x04
#define SYS_EXIT_EXTENDED 0x20
#define APPLICATION_EXIT 0x20026

void put(const char *text);
int main(void);

extern uint32_t bss_end[], stack_top[];

/* Pattern of unused stack. */
#define PAINT 0x5ca1ab1eU

/* Paints the stack below this frame, with a margin for the frame itself. */
static inline void paint_stack(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) - 128;
    for (volatile uint32_t *word = bss_end; (uintptr_t)word < here; word++)
        *word = PAINT;
}

/* Prints the peak depth of the stack. */
static inline void put_stack(void)
{
    char text[11];
    char *digit = text + sizeof text - 1;
    const volatile uint32_t *word = bss_end;
    uint32_t bytes;
    while (*word == PAINT)
        word++;
    bytes = (uint32_t)((uintptr_t)stack_top - (uintptr_t)word);
    *digit = '\0';
    do {
        *--digit = (char)('0' + bytes % 10);
        bytes /= 10;
    } while (bytes != 0);
    put("stack: ");
    put(digit);
    put(" bytes\n");
}

#endif
