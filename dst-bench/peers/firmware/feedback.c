/* The run of `tests/on-target/feedback` as one would write it by hand: Euler's method until the stop test holds, every state kept, and the
 * adjoint back through them. Prints steps, T, the gradients by theta and by x0 as words. */

#include "by_hand.h"

#define STATES 12
#define INPUTS 4
#define MOST 1024

static float plant[STATES][STATES], input[INPUTS][STATES], gains[INPUTS][STATES], path[MOST][STATES];
static float gains_bar[INPUTS][STATES], by_column[STATES * INPUTS], x_bar[STATES];
static float criterion, before;

static inline float dot(const float *a, const float *x)
{
    float sum = 0;
    for (int i = 0; i < STATES; i++)
        sum += a[i] * x[i];
    return sum;
}

/* to <- to + a x */
static inline void add(float *to, float a, const float *x)
{
    for (int i = 0; i < STATES; i++)
        to[i] += a * x[i];
}

/* Steps until the stop test holds. */
static __attribute__((noinline)) int run(float h, float epsilon)
{
    int n = 0;
    criterion = dot(path[0], path[0]);
    while (criterion > epsilon && n + 1 < MOST) {
        const float *x = path[n];
        float *next = path[++n], u[INPUTS];
        for (int j = 0; j < INPUTS; j++)
            u[j] = dot(gains[j], x);
        for (int i = 0; i < STATES; i++) {
            float rate = -dot(plant[i], x);
            for (int j = 0; j < INPUTS; j++)
                rate += u[j] * input[j][i];
            next[i] = x[i] - h * rate;
        }
        before = criterion;
        criterion = dot(next, next);
    }
    return n;
}

/* Gradient of the stopping time with the paper's crossing. */
static __attribute__((noinline)) void adjoint(int n, float h)
{
    const float seed = -2 * h / (criterion - before);
    for (int i = 0; i < STATES; i++)
        x_bar[i] = seed * path[n][i];
    for (int k = n - 1; k >= 0; k--) {
        const float *x = path[k];
        float rate_bar[STATES];
        for (int i = 0; i < STATES; i++)
            rate_bar[i] = -h * x_bar[i];
        for (int i = 0; i < STATES; i++)
            add(x_bar, -rate_bar[i], plant[i]);
        for (int j = 0; j < INPUTS; j++) {
            const float u_bar = dot(input[j], rate_bar);
            add(x_bar, u_bar, gains[j]);
            add(gains_bar[j], u_bar, x);
        }
    }
}

int main(void)
{
    const float h = 0.015625f;
    int n;
    for (int i = 0; i < STATES; i++) {
        for (int j = 0; j < STATES; j++)
            plant[i][j] = (float)((7 * i + 13 * j) % 11) / 64 - 5.0f / 64 - (i == j ? 1 : 0);
        for (int j = 0; j < INPUTS; j++) {
            input[j][i] = (float)((5 * i + 3 * j) % 7) / 16 - 3.0f / 16;
            gains[j][i] = input[j][i] / 4;
        }
        path[0][i] = (float)(i % 3) / 2 + 0.25f;
    }
    MARK(dst_mark_start);
    n = run(h, 1e-3f);
    MARK(dst_mark_stopped);
    adjoint(n, h);
    MARK(dst_mark_done);
    for (int i = 0; i < STATES; i++)
        for (int j = 0; j < INPUTS; j++)
            by_column[i * INPUTS + j] = gains_bar[j][i];
    put_results(n, (float)n * h, by_column, INPUTS * STATES, x_bar, STATES);
    return 0;
}
