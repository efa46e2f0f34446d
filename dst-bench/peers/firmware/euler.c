/* The run of `dst_models::smallest` as one would write it by hand: Euler's method until the stop test holds, every state kept, and the
 * adjoint back through them. Prints steps, T, the gradients by theta and by x0 as words. */

#include "by_hand.h"

#define MOST 256

static float path[MOST][4];
static float theta_bar[2], x_bar[4];
static float criterion, before;

static float stop_test(const float *x)
{
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
}

/* Steps until the stop test holds. */
static __attribute__((noinline)) int run(const float *theta, const float *x0, float h, float epsilon)
{
    int n = 0;
    for (int i = 0; i < 4; i++)
        path[0][i] = x0[i];
    criterion = stop_test(path[0]);
    while (criterion > epsilon && n + 1 < MOST) {
        const float *x = path[n];
        float *next = path[++n];
        const float force = theta[0] * (x[0] - x[1]) + theta[1] * (x[2] - x[3]);
        next[0] = x[0] + h * x[2];
        next[1] = x[1] + h * x[3];
        next[2] = x[2] - h * force;
        next[3] = x[3] - h * (24 * x[1] - 4 * force);
        before = criterion;
        criterion = stop_test(next);
    }
    return n;
}

/* Gradient of the stopping time with the paper's crossing. */
static __attribute__((noinline)) void adjoint(const float *theta, int n, float h)
{
    const float seed = -2 * h / (criterion - before);
    float a[4], by_theta[2] = { 0, 0 };
    for (int i = 0; i < 4; i++)
        a[i] = seed * path[n][i];
    for (int k = n - 1; k >= 0; k--) {
        const float *x = path[k];
        const float force = -h * (a[2] - 4 * a[3]), by_q = theta[0] * force, by_v = theta[1] * force;
        by_theta[0] += force * (x[0] - x[1]);
        by_theta[1] += force * (x[2] - x[3]);
        const float a0 = a[0], a1 = a[1];
        a[0] += by_q;
        a[1] += -h * 24 * a[3] - by_q;
        a[2] += by_v + h * a0;
        a[3] += -by_v + h * a1;
    }
    for (int i = 0; i < 4; i++)
        x_bar[i] = a[i];
    theta_bar[0] = by_theta[0];
    theta_bar[1] = by_theta[1];
}

int main(void)
{
    static volatile float given[8] = { 3.0f, 1.5f, 1.0f, 0.1f, 0.0f, 0.0f, 0.02f, 0.5f };
    float theta[2], x0[4];
    const float h = given[6], epsilon = given[7];
    int n;
    for (int i = 0; i < 2; i++)
        theta[i] = given[i];
    for (int i = 0; i < 4; i++)
        x0[i] = given[2 + i];
    MARK(dst_mark_start);
    n = run(theta, x0, h, epsilon);
    MARK(dst_mark_stopped);
    adjoint(theta, n, h);
    MARK(dst_mark_done);
    put_results(n, (float)n * h, theta_bar, 2, x_bar, 4);
    return 0;
}
