/* Smallest useful program, to measure the size of the library: Figure 1 of the paper in single precision, in one call. */

#include <stddef.h>

#include "dst.h"

static int rate(void *user, const float *theta, const float *x, float t, float *rate, float *tape, float *criterion,
                float *loss)
{
    (void)user, (void)t, (void)tape, (void)loss;
    rate[0] = x[0];
    rate[1] = theta[0] * x[1] * 4;
    *criterion = x[0] * x[0] + x[1] * x[1] * 16;
    return 0;
}

static int pullback(void *user, const float *theta, const float *x, float t, const float *tape, const float *rate_bar,
                    float criterion_bar, float loss_bar, float *theta_bar, float *x_bar, float *t_bar)
{
    (void)user, (void)t, (void)tape, (void)loss_bar, (void)t_bar;
    theta_bar[0] += rate_bar[1] * x[1] * 4;
    x_bar[0] += rate_bar[0] + 2 * criterion_bar * x[0];
    x_bar[1] += rate_bar[1] * theta[0] * 4 + 32 * criterion_bar * x[1];
    return 0;
}

int main(void)
{
    static uint64_t workspace[128];
    dst_problem_f32 problem = { .state_dim = 2, .param_dim = 1, .rate = rate, .pullback = pullback };
    dst_options_f32 options = dst_options_default_f32(0.05f, 1e-2f);
    dst_seeds_f32 seeds = dst_seeds_default_f32();
    const float theta = 0.7f, x0[2] = { 1, 1 };
    float gradient = 0;
    dst_result_f32 result = { .theta_gradient = &gradient };
    seeds.crossing = DST_PAPER;
    if (dst_sensitivity_f32(&problem, &options, &theta, x0, &seeds, workspace, sizeof workspace, &result) != DST_OK
        || result.steps != 45 || !(gradient < 0))
        return 1;
#ifdef SMALL
    /* Parts that were left out of the library are rejected. */
    options.mode = DST_TANGENT;
    if (dst_sensitivity_f32(&problem, &options, &theta, x0, &seeds, workspace, sizeof workspace, &result) != DST_ERROR_CHOICE)
        return 1;
    options.mode = DST_AUTO;
    options.integrator = DST_RK4;
    if (dst_workspace_size_f32(&problem, &options) != 0)
        return 1;
    options = dst_options_map_f32(1e-2f);
    if (dst_workspace_size_f32(&problem, &options) != 0)
        return 1;
#endif
    return 0;
}
