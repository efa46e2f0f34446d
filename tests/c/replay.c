/* Replays ticks of controllers that tests/host/tests/active_set_in_c.rs writes to the standard input, and writes their results:
 * the bits must be those of Rust. Every array has exactly the length that it needs, so that a sanitizer sees a step beyond it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dst_active_set.h"

static int32_t get(void)
{
    int32_t value;
    if (fread(&value, sizeof value, 1, stdin) != 1)
        exit(3);
    return value;
}

static void put(int32_t value)
{
    if (fwrite(&value, sizeof value, 1, stdout) != 1)
        exit(3);
}

/* Numbers with their count in front; NULL for none. */
static float *numbers(void)
{
    const int32_t count = get();
    float *values = count > 0 ? malloc((size_t)count * sizeof *values) : NULL;
    if (count > 0 && (values == NULL || fread(values, sizeof *values, (size_t)count, stdin) != (size_t)count))
        exit(3);
    return values;
}

int main(void)
{
    for (int32_t cases = get(); cases > 0; cases--) {
        dst_controller c;
        float *tables[12], *memory, *u, tolerance;
        uint16_t *words;
        int states, count, inputs;
        c.inputs = get();
        c.parameters = get();
        c.blocks = get();
        c.capacity = get();
        c.rows = get();
        c.kinds = get();
        for (int i = 0; i < 12; i++)
            tables[i] = numbers();
        c.gram = tables[0];
        c.scale = tables[1];
        c.caps = tables[2];
        c.lifts = tables[3];
        c.lower = tables[4];
        c.upper = tables[5];
        c.map = tables[6];
        c.a = tables[7];
        c.b = tables[8];
        c.feedback = tables[9];
        c.outputs = tables[10];
        c.feed = tables[11];
        if (fread(&tolerance, sizeof tolerance, 1, stdin) != 1)
            return 3;
        c.tolerance = tolerance;
        states = c.map == NULL ? c.parameters : 0;
        count = DST_CONTROLLER_NUMBERS(c.rows, c.capacity, states);
        memory = malloc((size_t)count * sizeof *memory);
        words = calloc((size_t)DST_CONTROLLER_WORDS(c.capacity, c.blocks), sizeof *words);
        inputs = c.blocks * c.inputs;
        u = calloc((size_t)inputs, sizeof *u);
        if (memory == NULL || words == NULL || u == NULL)
            return 3;
        /* Rust begins with the allowed inputs next to zero. */
        for (int i = 0; i < inputs; i++) {
            const float lower = c.lower[i % c.inputs], upper = c.upper[i % c.inputs];
            u[i] = lower > 0 ? lower : upper < 0 ? upper : 0;
        }
        memset(memory, 0xff, (size_t)count * sizeof *memory); /* NaN: nothing may depend on it */
        for (int32_t ticks = get(); ticks > 0; ticks--) {
            const int32_t how = get(), budget = get();
            float *p = numbers(), *extra = numbers(), *lower = numbers(), *upper = numbers();
            dst_outcome outcome = { DST_CONTROLLER_SOLVED, -1 };
            int refused;
            if (how == 1)
                dst_controller_reset(&c, words);
            for (int i = 0; how == 2 && i < DST_CONTROLLER_WORDS(c.capacity, c.blocks); i++)
                words[i] = (uint16_t)get();
            if (lower == NULL)
                refused = dst_controller_tick(&c, memory, words, p, extra, budget, u, &outcome);
            else
                refused = dst_controller_tick_within(&c, memory, words, p, extra, lower, upper, budget, u, &outcome);
            put(refused);
            put((int32_t)outcome.status);
            put(outcome.steps);
            for (int i = 0; i < inputs; i++) {
                int32_t bits;
                memcpy(&bits, &u[i], sizeof bits);
                put(bits);
            }
            free(p);
            free(extra);
            free(lower);
            free(upper);
        }
        for (int i = 0; i < 12; i++)
            free(tables[i]);
        free(memory);
        free(words);
        free(u);
    }
    return 0;
}
