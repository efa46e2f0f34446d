/* Recorded ticks of the safety filter and the quadrotor, as in tests/on-target/count: instructions of each tick, its outcome and its
 * inputs, a line each. The files with the ticks are named by SAFETY_TICKS and QUADROTOR_TICKS. */

#include <stdint.h>

#include "firmware.h"
#include "quadrotor.h"
#include "safety_filter.h"

#define DATA(name, file)                                                                                                         \
    __asm__(".section .rodata." #name "\n.balign 4\n.global " #name "\n" #name ":\n.incbin " file "\n.previous\n");            \
    extern const uint32_t name[];

DATA(safety_ticks, SAFETY_TICKS)
DATA(quadrotor_ticks, QUADROTOR_TICKS)

/* System timer. An instruction takes 64 ns under -icount shift=6, a count of the timer 40 ns. */
#define CONTROL (*(volatile uint32_t *)0xE000E010)
#define RELOAD (*(volatile uint32_t *)0xE000E014)
#define CURRENT (*(volatile uint32_t *)0xE000E018)
#define MASK 0x00FFFFFFU
#define BUDGET 500

static uint32_t begin(void)
{
    RELOAD = MASK;
    CURRENT = 0;
    CONTROL = 5;
    return CURRENT;
}

static uint32_t end(uint32_t begun)
{
    const uint32_t counts = (begun - CURRENT) & MASK;
    return (uint32_t)((uint64_t)counts * 5 / 8);
}

static void put_word(uint32_t value)
{
    char text[10];
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    text[8] = ' ';
    text[9] = '\0';
    put(text);
}

static uint32_t bits(float value)
{
    union {
        float f;
        uint32_t u;
    } word = { value };
    return word.u;
}

/* The functions are passed as constants, so that the compiler sees them and the sizes of the controller. */
static inline void run(const uint32_t *file, const char *name, const dst_controller *c, dst_controller_memory *memory)
{
    const uint32_t ticks = file[0], p_len = file[1], extra_len = file[2];
    const uint32_t *next = file + 3, begun = begin(), empty = end(begun);
    float u[4];
    dst_controller_reset(c, memory);
    for (uint32_t k = 0; k < ticks; k++) {
        const uint32_t flag = *next++;
        const float *p = (const float *)next, *extra = p + p_len;
        dst_outcome outcome;
        uint32_t start, count;
        int refused;
        next += p_len + extra_len;
        if (flag & 1)
            dst_controller_reset(c, memory);
        start = begin();
        refused = dst_controller_tick(c, memory, p, extra_len > 0 ? extra : 0, BUDGET, u, &outcome);
        count = end(start);
        put(name);
        put_word(count - empty);
        put_word(refused ? 9 : (uint32_t)outcome.status);
        put_word((uint32_t)outcome.steps);
        for (int i = 0; i < c->blocks * c->inputs; i++)
            put_word(bits(u[i]));
        put("\n");
    }
}
