// Header and library used from C++17.

#include <cmath>
#include <cstdio>

#include "dst.h"

namespace {

int rate(void *, const double *theta, const double *x, double, double *rate, double *, double *criterion, double *)
{
    rate[0] = theta[0] * x[0];
    *criterion = x[0];
    return 0;
}

int pullback(void *, const double *theta, const double *x, double, const double *, const double *rate_bar,
             double criterion_bar, double, double *theta_bar, double *x_bar, double *)
{
    theta_bar[0] += rate_bar[0] * x[0];
    x_bar[0] += rate_bar[0] * theta[0] + criterion_bar;
    return 0;
}

} // namespace

int main()
{
    alignas(16) static unsigned char workspace[4096];
    dst_problem_f64 problem = {};
    problem.state_dim = 1;
    problem.param_dim = 1;
    problem.rate = rate;
    problem.pullback = pullback;
    auto options = dst_options_default_f64(0.002, 0.5);
    options.integrator = DST_RK4;
    auto seeds = dst_seeds_default_f64();
    seeds.crossing = DST_HERMITE;
    const double theta = 0.1, x0 = 1;
    double gradient = 0;
    dst_result_f64 result = {};
    result.theta_gradient = &gradient;
    const dst_status status
        = dst_sensitivity_f64(&problem, &options, &theta, &x0, &seeds, workspace, sizeof workspace, &result);
    // Half-life: T = ln(2)/theta, dT/dtheta = -ln(2)/theta^2.
    const bool right = status == DST_OK && std::fabs(result.time - std::log(2.0) / 0.1) < 1e-7
                       && std::fabs(gradient + std::log(2.0) / 0.01) < 1e-6;
    std::printf("C++: %s, T = %.9f, dT/dtheta = %.9f\n", dst_status_message(status), result.time, gradient);
    return right ? 0 : 1;
}
