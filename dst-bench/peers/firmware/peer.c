/* Recorded ticks through one system: instructions of each tick, whether it is solved, its iterations and its inputs, a line each.
 * TICKS names the file with the ticks, ANSWERS is the number of inputs of a tick, LIMIT the number of ticks to run (all if 0). */

#include "peer.h"
#include "firmware.h"

#define DATA(name, file)                                                                                                        \
    __asm__(".section .rodata." #name "\n.balign 4\n.global " #name "\n" #name ":\n.incbin " file "\n.previous\n");             \
    extern const uint32_t name[];

DATA(recorded_ticks, TICKS)

/* Under -icount shift=6 an instruction takes 64 ns of every clock. */
#ifdef __riscv

/* Clock of the board, 10 MHz. */
static uint32_t begin(void)
{
    return *(volatile uint32_t *)0x0200BFF8;
}

static uint32_t end(uint32_t begun)
{
    return (uint32_t)((uint64_t)(begin() - begun) * 100 / 64);
}

#else

/* First timer of the board, 32 bits that count down at 25 MHz, or at 20 MHz on the board of the Cortex-M33. The system timer of the
 * processor has 24 bits, too few for the slowest ticks. */
#ifdef __ARM_ARCH_8M_MAIN__
#define TIMER 0x50000000
#define NANOSECONDS 50
#else
#define TIMER 0x40000000
#define NANOSECONDS 40
#endif
#define CONTROL (*(volatile uint32_t *)TIMER)
#define VALUE (*(volatile uint32_t *)(TIMER + 4))
#define RELOAD (*(volatile uint32_t *)(TIMER + 8))

static uint32_t begin(void)
{
    CONTROL = 0;
    RELOAD = 0xFFFFFFFFU;
    VALUE = 0xFFFFFFFFU;
    CONTROL = 1;
    return VALUE;
}

static uint32_t end(uint32_t begun)
{
    return (uint32_t)((uint64_t)(begun - VALUE) * NANOSECONDS / 64);
}

#endif

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

int main(void)
{
    const uint32_t recorded = recorded_ticks[0], p_len = recorded_ticks[1], extra_len = recorded_ticks[2];
    const uint32_t ticks = LIMIT > 0 && LIMIT < recorded ? LIMIT : recorded;
    const uint32_t *next = recorded_ticks + 3, begun = begin(), empty = end(begun);
    static float u[ANSWERS];
    peer_start();
    for (uint32_t k = 0; k < ticks; k++) {
        const uint32_t flag = *next++;
        const float *p = (const float *)next, *extra = p + p_len;
        uint32_t start, count, iterations = 0;
        int unsolved;
        next += p_len + extra_len;
        if (flag & 1)
            peer_reset();
        start = begin();
        unsolved = peer_tick(p, extra_len > 0 ? extra : 0, u, &iterations);
        count = end(start);
        put("tick ");
        put_word(count - empty);
        put_word(unsolved != 0);
        put_word(iterations);
        for (int i = 0; i < ANSWERS; i++)
            put_word(bits(u[i]));
        put("\n");
    }
    return 0;
}
