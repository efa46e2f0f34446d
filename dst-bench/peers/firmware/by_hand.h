/* Marks and output of the runs that are written by hand. */
#ifndef BY_HAND_H
#define BY_HAND_H

#include "firmware.h"

/* Names the address of the next instruction; instructions between two of them are counted. */
#define MARK(name) __asm__ volatile(".global " #name "\n" #name ":" ::: "memory")

static void put_word(uint32_t value)
{
    char text[10];
    for (int i = 0; i < 8; i++)
        text[i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
    text[8] = ' ';
    text[9] = '\0';
    put(text);
}

static void put_float(float value)
{
    union {
        float f;
        uint32_t u;
    } word = { value };
    put_word(word.u);
}

/* A line: steps, T, the gradients by theta and by x0. */
static void put_results(int steps, float time, const float *theta_bar, int params, const float *x_bar, int states)
{
    put("by hand ");
    put_word((uint32_t)steps);
    put_float(time);
    for (int i = 0; i < params; i++)
        put_float(theta_bar[i]);
    for (int i = 0; i < states; i++)
        put_float(x_bar[i]);
    put("\n");
}

#endif
