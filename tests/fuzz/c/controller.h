/* Shared by the two files of the target `controller`: the names of their constants are the same. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(condition)                                                                                                         \
    do {                                                                                                                         \
        if (!(condition))                                                                                                        \
            __builtin_trap();                                                                                                    \
    } while (0)

#define MOST_TICKS 40

extern const uint8_t *input;
extern size_t left;

static inline uint8_t byte(void)
{
    return left > 0 ? (left--, *input++) : 0;
}

/* Zeroed memory of exactly this size. */
static inline void *exactly(size_t size)
{
    void *memory = calloc(size > 0 ? size : 1, 1);
    HOLDS(memory != NULL);
    return memory;
}

float number(void);
void advance(int blocks, int states, int inputs, const float *a, const float *b, float *x, const float *u);
void with_admm(void);
