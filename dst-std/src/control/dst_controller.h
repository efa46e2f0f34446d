/* Model predictive controllers for microcontrollers: C99, no heap, no library, single precision.
 *
 * The constants of a controller come from `dst control export`; what changes between ticks is memory of the caller. A tick takes
 * the measured state and returns the inputs to apply, always within their bounds.
 *
 * The same operations in the same order as dst_core::mpc in Rust: the same bits, if the compiler does not fuse multiplications
 * and additions (gcc: -ffp-contract=off). Fused, it works just as well.
 */
#ifndef DST_CONTROLLER_H
#define DST_CONTROLLER_H

#include <stddef.h>

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

/* ---- ADMM: at most `budget` iterations from the last solution, shifted by a stage; the inputs are those of the best iterate. ----
 *
 * An iteration has no division: K and 1/R are constants. Sums are kept in registers, eight or four at a time. */

typedef struct {
    int inputs, outputs, stages, blocks; /* per stage, per stage, of the horizon, equal and independent copies */
    int states;                          /* of a block */
    int phases;
    const int *switches;        /* the iterations at which the second, third ... phase begins */
    const float *output;        /* C, column by column, without leading zeros; NULL for none */
    const float *linear;        /* F: g = F x, column by column; NULL for none */
    const float *free;          /* E: outputs without inputs, column by column; NULL for none */
    const float *lower, *upper; /* of one stage: inputs, then outputs; a row with infinite bounds, or FLT_MAX, is not clipped */
    const float *params;        /* of each phase: R of a block, then alpha */
    const float *inverses;      /* of each phase: K, then 1/R of a block */
    float primal, dual, dual_relative; /* tolerances */
} dst_admm_controller;

typedef struct {
    int iterations;
    int solved;  /* 0: the deadline came first */
    float ratio; /* of what was returned: solved at 1 */
} dst_admm_outcome;

/* Numbers of memory; zero them before the first tick: the first number says whether there is a solution to start from. */
#define DST_ADMM_MEMORY(inputs, outputs, stages, blocks)                                                                         \
    (1 + (blocks) * (5 * ((inputs) + (outputs)) * (stages) + (inputs) * (stages) + (inputs))                                     \
     + ((inputs) + (outputs)) * (stages) + (inputs) * (stages))

/* out = K v with a symmetric K, n x n */
static inline void dst_admm_product(const float *matrix, int n, const float *v, float *out)
{
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        const float *k = matrix + i;
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
        for (int j = 0; j < n; j++, k += n) {
            const float x = v[j];
            s0 += x * k[0];
            s1 += x * k[1];
            s2 += x * k[2];
            s3 += x * k[3];
            s4 += x * k[4];
            s5 += x * k[5];
            s6 += x * k[6];
            s7 += x * k[7];
        }
        out[i] = s0;
        out[i + 1] = s1;
        out[i + 2] = s2;
        out[i + 3] = s3;
        out[i + 4] = s4;
        out[i + 5] = s5;
        out[i + 6] = s6;
        out[i + 7] = s7;
    }
    for (; i + 4 <= n; i += 4) {
        const float *k = matrix + i;
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int j = 0; j < n; j++, k += n) {
            const float x = v[j];
            s0 += x * k[0];
            s1 += x * k[1];
            s2 += x * k[2];
            s3 += x * k[3];
        }
        out[i] = s0;
        out[i + 1] = s1;
        out[i + 2] = s2;
        out[i + 3] = s3;
    }
    for (; i < n; i++) {
        const float *k = matrix + i * n;
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += k[j] * v[j];
        out[i] = sum;
    }
}

/* rows = G u, with u at its head already; four entries of a column at a time */
static inline void dst_admm_extend(const dst_admm_controller *c, float *rows)
{
    const int n = c->inputs * c->stages, p = c->outputs * c->stages;
    const float *entry = c->output, *u = rows;
    float *out = rows + n;
    for (int i = 0; i < p; i++)
        out[i] = 0;
    for (int s = 0, length = p; s < c->stages; s++, length -= c->outputs, out += c->outputs)
        for (int k = 0; k < c->inputs; k++) {
            const float x = *u++;
            int i = 0;
            for (; i + 4 <= length; i += 4, entry += 4) {
                const float s0 = out[i] + x * entry[0], s1 = out[i + 1] + x * entry[1];
                const float s2 = out[i + 2] + x * entry[2], s3 = out[i + 3] + x * entry[3];
                out[i] = s0;
                out[i + 1] = s1;
                out[i + 2] = s2;
                out[i + 3] = s3;
            }
            for (; i < length; i++)
                out[i] += x * *entry++;
        }
}

/* u = G' rows; four entries of a column at a time */
static inline void dst_admm_transposed(const dst_admm_controller *c, const float *rows, float *u)
{
    const int n = c->inputs * c->stages, p = c->outputs * c->stages;
    const float *entry = c->output, *out = rows + n;
    for (int s = 0, length = p; s < c->stages; s++, length -= c->outputs, out += c->outputs)
        for (int k = 0; k < c->inputs; k++) {
            float sum = 0;
            int i = 0;
            for (; i + 4 <= length; i += 4, entry += 4) {
                sum += entry[0] * out[i];
                sum += entry[1] * out[i + 1];
                sum += entry[2] * out[i + 2];
                sum += entry[3] * out[i + 3];
            }
            for (; i < length; i++)
                sum += *entry++ * out[i];
            *u++ = *rows++ + sum;
        }
}

/* The largest residuals so far. A comparison skips a NaN; the sum of the dual residuals catches it. */
typedef struct {
    float primal, dual, sum;
} dst_admm_largest;

/* One iteration of one block, in place. */
static inline void dst_admm_iterate(const dst_admm_controller *c, const float *params, const float *inverse, const float *linear,
                                    const float *lower, const float *upper, float *z, float *y, float *rows, float *scratch,
                                    dst_admm_largest *largest)
{
    const int n = c->inputs * c->stages, m = n + c->outputs * c->stages;
    const float alpha = params[m], beta = alpha - 1, *reciprocals = inverse + n * n;
    float *right = scratch + m, primal = largest->primal, dual = largest->dual, sum = largest->sum;
    if (m == n) {
        for (int j = 0; j < n; j++)
            right[j] = params[j] * z[j] - y[j] - linear[j];
    } else {
        for (int i = 0; i < m; i++)
            scratch[i] = params[i] * z[i] - y[i];
        dst_admm_transposed(c, scratch, right);
        for (int j = 0; j < n; j++)
            right[j] -= linear[j];
    }
    dst_admm_product(inverse, n, right, rows);
    if (m > n)
        dst_admm_extend(c, rows);
    for (int i = 0; i < m; i++) {
        const float q = rows[i], r = params[i], old = z[i], d = q - old;
        const float v = old + alpha * d;
        const float next = dst_clip(v + y[i] * reciprocals[i], lower[i], upper[i]);
        const float error = r * (beta * d + (old - next)), size = dst_abs(error), gap = dst_abs(q - next);
        y[i] += r * (v - next);
        z[i] = next;
        if (gap > primal)
            primal = gap;
        if (m > n) {
            scratch[i] = error;
        } else {
            sum += size;
            if (size > dual)
                dual = size;
        }
    }
    if (m > n) {
        dst_admm_transposed(c, scratch, right);
        for (int j = 0; j < n; j++) {
            const float size = dst_abs(right[j]);
            sum += size;
            if (size > dual)
                dual = size;
        }
    }
    largest->primal = primal;
    largest->dual = dual;
    largest->sum = sum;
}

static inline void dst_admm_shift(float *part, int length, int width)
{
    for (int i = 0; i + width < length; i++)
        part[i] = part[i + width];
}

/* One tick. x: the states of all blocks; extra: a term of g for all blocks, or NULL; u: the inputs of all blocks, written.
 * Returns 0, or 1 if the state is not finite, and then writes nothing. A state so large that the program overflows is not solved:
 * the inputs are then the last that were sound. */
static inline int dst_admm_tick(const dst_admm_controller *c, float *memory, const float *x, const float *extra, int budget,
                                float *u, dst_admm_outcome *outcome)
{
    const int n = c->inputs * c->stages, p = c->outputs * c->stages, m = n + p, rows_of_all = c->blocks * m;
    float *warm = memory, *z = memory + 1, *y = z + rows_of_all, *lower = y + rows_of_all, *upper = lower + rows_of_all;
    float *rows = upper + rows_of_all, *linear = rows + rows_of_all, *scratch = linear + c->blocks * n;
    float largest = 0, primal_scale, dual_scale;
    dst_admm_outcome found = { 0, 0, 3.402823466e+38f };
    for (int i = 0; i < c->blocks * c->states; i++)
        if (!(dst_abs(x[i]) <= 3.402823466e+38f))
            return 1;
    for (int i = 0; extra != NULL && i < c->blocks * n; i++)
        if (!(dst_abs(extra[i]) <= 3.402823466e+38f))
            return 1;
    for (int b = 0; b < c->blocks; b++) {
        if (*warm != 0) {
            dst_admm_shift(z + b * m, n, c->inputs);
            dst_admm_shift(z + b * m + n, p, c->outputs);
            dst_admm_shift(y + b * m, n, c->inputs);
            dst_admm_shift(y + b * m + n, p, c->outputs);
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
    primal_scale = 1 / c->primal;
    dual_scale = 1 / (c->dual + c->dual_relative * largest);
    /* Without a better one: what the last tick planned for now, or the allowed inputs next to zero. */
    for (int b = 0; b < c->blocks; b++)
        for (int i = 0; i < c->inputs; i++)
            u[b * c->inputs + i] = dst_clip(z[b * m + i], c->lower[i], c->upper[i]);
    for (int k = 0; k < budget && !found.solved; k++) {
        int phase = 0;
        dst_admm_largest residual = { 0, 0, 0 };
        float ratio;
        while (phase + 1 < c->phases && c->switches[phase] <= k)
            phase++;
        for (int b = 0; b < c->blocks; b++)
            dst_admm_iterate(c, c->params + phase * (m + 1), c->inverses + phase * (n * n + m), linear + b * n, lower + b * m,
                             upper + b * m, z + b * m, y + b * m, rows + b * m, scratch, &residual);
        if (residual.sum != residual.sum)
            residual.dual = residual.sum;
        ratio = dst_larger(residual.primal * primal_scale, residual.dual * dual_scale);
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
