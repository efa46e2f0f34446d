/* Tunes the gains of a position controller by its settling time. */
#include <stdio.h>
#include "dst.h"

/* Plant: a mass with spring force k*x and damping d*v. theta = (k, d), x = (position, velocity). The iteration is x - h*A, so
 * A is minus the derivative. It has settled when x^2 + v^2 stays <= epsilon. */
static int rate(void *user, const float *theta, const float *x, float t,
                float *rate, float *tape, float *criterion, float *loss)
{
    (void)user, (void)t, (void)tape, (void)loss;
    rate[0] = -x[1];
    rate[1] = theta[0] * x[0] + theta[1] * x[1];
    *criterion = x[0] * x[0] + x[1] * x[1];
    return 0; /* any other value aborts the run */
}

/* Transposed derivatives: from the cotangents of A and J, adds the cotangents of theta and x. */
static int pullback(void *user, const float *theta, const float *x, float t, const float *tape,
                    const float *rate_bar, float criterion_bar, float loss_bar, float *theta_bar, float *x_bar,
                    float *t_bar)
{
    (void)user, (void)t, (void)tape, (void)loss_bar, (void)t_bar;
    theta_bar[0] += rate_bar[1] * x[0];
    theta_bar[1] += rate_bar[1] * x[1];
    x_bar[0] += rate_bar[1] * theta[0] + criterion_bar * 2 * x[0];
    x_bar[1] += rate_bar[1] * theta[1] - rate_bar[0] + criterion_bar * 2 * x[1];
    return 0;
}

int main(void)
{
    static uint64_t workspace[256], tuning[64]; /* 64-bit words are aligned for everything */
    dst_problem_f32 problem = { .state_dim = 2, .param_dim = 2, .rate = rate, .pullback = pullback };
    dst_options_f32 options = dst_options_default_f32(0.01f, 1e-3f); /* step size, epsilon */
    options.max_steps = 3000;   /* over 30 s */
    options.staying = SIZE_MAX; /* the last time that epsilon is crossed counts, not the first */

    /* The gains may be changed within these bounds. */
    dst_coordinate_f32 gains[2] = { { .kind = DST_BETWEEN, .lower = 1.0f, .upper = 8.0f },
                                    { .kind = DST_BETWEEN, .lower = 0.1f, .upper = 6.0f } };
    dst_descent_options_f32 limits = dst_descent_options_default_f32(2, gains);
    limits.max_runs = 40;
    float start[2] = { 4.0f, 0.5f }, x0[2] = { 1.0f, 0.0f }, gradient[2];
    dst_descent_f32 *descent;
    dst_descent_state_f32 now;
    dst_result_f32 result = { .theta_gradient = gradient };
    dst_mismatch wrong;
    int32_t verdict;

    if (dst_workspace_size_f32(&problem, &options) > sizeof workspace)
        return 1;
    if (dst_check_f32(&problem, &options, start, x0, workspace, sizeof workspace, &wrong) == DST_WRONG_DERIVATIVE) {
        char text[160]; /* names the callback and the entry that is wrong */
        dst_mismatch_message(&wrong, text, sizeof text);
        puts(text);
        return 1;
    }
    dst_status status = dst_descent_init_f32(&limits, start, tuning, sizeof tuning, &descent);
    while (status == DST_OK && (status = dst_descent_read_f32(descent, &now)) == DST_OK && !now.finished) {
        status = dst_sensitivity_f32(&problem, &options, now.theta, x0, NULL, workspace, sizeof workspace, &result);
        if (status == DST_OK) {
            float k = now.theta[0], d = now.theta[1];
            status = dst_descent_tell_f32(descent, result.time, gradient, &verdict);
            if (status == DST_OK && verdict == DST_ACCEPTED)
                printf("run %2u: k = %.2f, d = %.2f settles after %.2f s\n", (unsigned)now.runs + 1, (double)k,
                       (double)d, (double)result.time);
        } else if (status == DST_ERROR_NOT_STOPPED) { /* these gains do not settle; the best ones are kept */
            status = dst_descent_tell_failed_f32(descent, &verdict);
        }
    }
    if (status != DST_OK) {
        printf("%s\n", dst_status_message(status));
        return 1;
    }
    return 0;
}
