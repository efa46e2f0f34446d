/* Recorded ticks of the safety filter, or of the quadrotor if QUADROTOR is defined, as in tests/on-target/count: instructions of each
 * tick, its outcome and its inputs, a line each. TICKS names the file with the ticks. One controller per program, as in a product: the
 * compiler then knows all sizes. */

#include <stdint.h>

#include "firmware.h"
#ifdef QUADROTOR
#include "quadrotor.h"
#define CONTROLLER quadrotor
#define NAME "quadrotor "
#define EXTRA(extra) NULL
typedef quadrotor_memory controller_memory;
#else
#include "safety_filter.h"
#define CONTROLLER safety_filter
#define NAME "safety_filter "
#define EXTRA(extra) (extra)
typedef safety_filter_memory controller_memory;
#endif

#define DATA(name, file)                                                                                                         \
    __asm__(".section .rodata." #name "\n.balign 4\n.global " #name "\n" #name ":\n.incbin " file "\n.previous\n");            \
    extern const uint32_t name[];

DATA(recorded_ticks, TICKS)

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

static controller_memory memory;

/* Not inlined, so that the count does not depend on what surrounds a tick. */
static __attribute__((noinline)) int tick(const float *p, const float *extra, float *u, dst_outcome *outcome)
{
    return dst_controller_tick(&CONTROLLER, memory.numbers, memory.words, p, extra, BUDGET, u, outcome);
}

int main(void)
{
    const uint32_t ticks = recorded_ticks[0], p_len = recorded_ticks[1], extra_len = recorded_ticks[2];
    const uint32_t *next = recorded_ticks + 3, begun = begin(), empty = end(begun);
    float u[4] = { 0, 0, 0, 0 };
    for (uint32_t k = 0; k < ticks; k++) {
        const uint32_t flag = *next++;
        const float *p = (const float *)next;
        dst_outcome outcome = { DST_CONTROLLER_SOLVED, 0 };
        uint32_t start, count;
        int refused;
        next += p_len + extra_len;
        if (flag & 1)
            dst_controller_reset(&CONTROLLER, memory.words);
        start = begin();
        refused = tick(p, EXTRA(p + p_len), u, &outcome);
        count = end(start);
        put(NAME);
        put_word(count - empty);
        put_word(refused ? 9 : (uint32_t)outcome.status);
        put_word((uint32_t)outcome.steps);
        for (int i = 0; i < CONTROLLER.blocks * CONTROLLER.inputs; i++)
            put_word(bits(u[i]));
        put("\n");
    }
    return 0;
}
