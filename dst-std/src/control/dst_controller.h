/* A model predictive controller for microcontrollers: C99, no heap, no library, single precision.
 *
 * The constants of a controller come from `dst control export`; what changes between ticks is DST_CONTROLLER_MEMORY numbers. A tick
 * takes the measured state, makes at most `budget` iterations of ADMM from the last solution, shifted by a stage, and returns
 * the inputs to apply: those of the best iterate, always within their bounds.
 *
 * The same operations in the same order as dst_core::mpc in Rust: the same bits, if the compiler does not fuse multiplications
 * and additions (gcc: -ffp-contract=off). Fused, it works just as well.
 */
#ifndef DST_CONTROLLER_H
#define DST_CONTROLLER_H

#include <stddef.h>

typedef struct {
    int inputs, outputs, stages, blocks; /* per stage, per stage, of the horizon, equal and independent copies */
    int states;                          /* of a block */
    int phases;
    const int *switches;       /* the iterations at which the second, third ... phase begins */
    const float *output;       /* C, column by column, without leading zeros; NULL for none */
    const float *linear;       /* F: g = F x, column by column; NULL for none */
    const float *free;         /* E: outputs without inputs, column by column; NULL for none */
    const float *lower, *upper; /* of one stage: inputs, then outputs */
    const float *params;       /* of each phase: R of a block, then alpha */
    const float *inverses;     /* of each phase: K */
    float primal, dual, dual_relative; /* tolerances */
} dst_controller;

typedef struct {
    int iterations;
    int solved;  /* 0: the deadline came first */
    float ratio; /* of what was returned: solved at 1 */
} dst_outcome;

/* Numbers of memory; zero them before the first tick: the first number tells whether there is a solution to start from. */
#define DST_CONTROLLER_MEMORY(inputs, outputs, stages, blocks)                                                                   \
    (1 + (blocks) * (5 * ((inputs) + (outputs)) * (stages) + (inputs) * (stages) + (inputs))                                     \
     + 2 * (((inputs) + (outputs)) * (stages) + (inputs) * (stages)))

static inline float dst_abs(float x)
{
    return x < 0 ? -x : x;
}

/* The larger, or NaN if one of them is: what is not a number must not pass for a solution. */
static inline float dst_larger(float a, float b)
{
    return b > a || b != b ? b : a;
}

static inline float dst_clip(float value, float lower, float upper)
{
    return value < lower ? lower : value > upper ? upper : value;
}

/* rows = G u, with u at its head already */
static inline void dst_extend(const dst_controller *c, float *rows)
{
    const int n = c->inputs * c->stages, p = c->outputs * c->stages;
    const float *entry = c->output;
    float *out = rows + n;
    for (int i = 0; i < p; i++)
        out[i] = 0;
    if (p > 0)
        for (int j = 0; j < n; j++)
            for (int i = j / c->inputs * c->outputs; i < p; i++)
                out[i] += rows[j] * *entry++;
}

/* u = G' rows */
static inline void dst_transposed(const dst_controller *c, const float *rows, float *u)
{
    const int n = c->inputs * c->stages, p = c->outputs * c->stages;
    const float *entry = c->output, *out = rows + n;
    for (int j = 0; j < n; j++) {
        u[j] = rows[j];
        if (p > 0) {
            float sum = 0;
            for (int i = j / c->inputs * c->outputs; i < p; i++)
                sum += *entry++ * out[i];
            u[j] += sum;
        }
    }
}

/* One iteration of one block, in place; returns the residuals, not scaled. */
static inline void dst_iterate(const dst_controller *c, const float *params, const float *inverse, const float *linear,
                               const float *lower, const float *upper, float *z, float *y, float *rows, float *scratch,
                               float *primal, float *dual)
{
    const int n = c->inputs * c->stages, m = n + c->outputs * c->stages;
    const float alpha = params[m];
    float *right = scratch + m;
    for (int i = 0; i < m; i++)
        scratch[i] = params[i] * z[i] - y[i];
    dst_transposed(c, scratch, right);
    for (int j = 0; j < n; j++) {
        right[j] -= linear[j];
        rows[j] = 0;
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            rows[i] += right[j] * inverse[j * n + i];
    dst_extend(c, rows);
    for (int i = 0; i < m; i++) {
        const float q = rows[i], r = params[i];
        const float v = alpha * q + (1 - alpha) * z[i];
        const float t = v + y[i] / r;
        const float next = dst_clip(t, lower[i], upper[i]);
        scratch[i] = r * ((alpha - 1) * (q - z[i]) + (z[i] - next));
        y[i] += r * (v - next);
        z[i] = next;
        *primal = dst_larger(*primal, dst_abs(q - next));
    }
    dst_transposed(c, scratch, right);
    for (int j = 0; j < n; j++)
        *dual = dst_larger(*dual, dst_abs(right[j]));
}

static inline void dst_shift(float *part, int length, int width)
{
    for (int i = 0; i + width < length; i++)
        part[i] = part[i + width];
}

/* One tick. x: the states of all blocks; extra: a term of g for all blocks, or NULL; u: the inputs of all blocks, written.
 * Returns 0, or 1 if the state is not finite, and then writes nothing. A state so large that the program overflows is not solved:
 * the inputs are then the last that were sound. */
static inline int dst_controller_tick(const dst_controller *c, float *memory, const float *x, const float *extra, int budget,
                                      float *u, dst_outcome *outcome)
{
    const int n = c->inputs * c->stages, p = c->outputs * c->stages, m = n + p, rows_of_all = c->blocks * m;
    float *warm = memory, *z = memory + 1, *y = z + rows_of_all, *lower = y + rows_of_all, *upper = lower + rows_of_all;
    float *rows = upper + rows_of_all, *linear = rows + rows_of_all, *scratch = linear + c->blocks * n;
    float largest = 0, dual_tolerance;
    dst_outcome found = { 0, 0, 3.402823466e+38f };
    for (int i = 0; i < c->blocks * c->states; i++)
        if (!(dst_abs(x[i]) <= 3.402823466e+38f))
            return 1;
    for (int i = 0; extra != NULL && i < c->blocks * n; i++)
        if (!(dst_abs(extra[i]) <= 3.402823466e+38f))
            return 1;
    for (int b = 0; b < c->blocks; b++) {
        if (*warm != 0) {
            dst_shift(z + b * m, n, c->inputs);
            dst_shift(z + b * m + n, p, c->outputs);
            dst_shift(y + b * m, n, c->inputs);
            dst_shift(y + b * m + n, p, c->outputs);
        } else {
            for (int i = 0; i < m; i++)
                z[b * m + i] = y[b * m + i] = 0;
        }
        for (int j = 0; j < n; j++)
            linear[b * n + j] = extra != NULL ? extra[b * n + j] : 0;
        for (int k = 0; c->linear != NULL && k < c->states; k++)
            for (int j = 0; j < n; j++)
                linear[b * n + j] += x[b * c->states + k] * c->linear[k * n + j];
        for (int j = 0; j < n; j++) {
            lower[b * m + j] = c->lower[j % c->inputs];
            upper[b * m + j] = c->upper[j % c->inputs];
        }
        for (int i = 0; i < p; i++) {
            lower[b * m + n + i] = c->lower[c->inputs + i % c->outputs];
            upper[b * m + n + i] = c->upper[c->inputs + i % c->outputs];
        }
        for (int k = 0; c->free != NULL && k < c->states; k++)
            for (int i = 0; i < p; i++) {
                lower[b * m + n + i] += -x[b * c->states + k] * c->free[k * p + i];
                upper[b * m + n + i] += -x[b * c->states + k] * c->free[k * p + i];
            }
    }
    for (int j = 0; j < c->blocks * n; j++)
        largest = dst_larger(largest, dst_abs(linear[j]));
    dual_tolerance = c->dual + c->dual_relative * largest;
    /* Without a better one: what the last tick planned for now, or the allowed inputs next to zero. */
    for (int b = 0; b < c->blocks; b++)
        for (int i = 0; i < c->inputs; i++)
            u[b * c->inputs + i] = dst_clip(z[b * m + i], c->lower[i], c->upper[i]);
    for (int k = 0; k < budget && !found.solved; k++) {
        int phase = 0;
        float primal = 0, dual = 0, ratio;
        while (phase + 1 < c->phases && c->switches[phase] <= k)
            phase++;
        for (int b = 0; b < c->blocks; b++)
            dst_iterate(c, c->params + phase * (m + 1), c->inverses + phase * n * n, linear + b * n, lower + b * m,
                        upper + b * m, z + b * m, y + b * m, rows + b * m, scratch, &primal, &dual);
        primal *= 1 / c->primal;
        dual *= 1 / dual_tolerance;
        ratio = dst_larger(primal, dual);
        found.iterations = k + 1;
        if (ratio < found.ratio) {
            found.ratio = ratio;
            for (int b = 0; b < c->blocks; b++)
                for (int i = 0; i < c->inputs; i++)
                    u[b * c->inputs + i] = z[b * m + i];
        }
        found.solved = ratio <= 1;
    }
    /* A state that overflows what is made of it must not reach the next tick. */
    *warm = 1;
    for (int i = 0; i < 2 * rows_of_all; i++)
        if (!(dst_abs(z[i]) <= 3.402823466e+38f))
            *warm = 0;
    *outcome = found;
    return 0;
}

#endif
