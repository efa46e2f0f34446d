// Tunes the gains of a PID controller by the settling time of its loop. No derivative is written.
#include <cstdio>

#include "dst.hpp"

int main()
{
    // Plant: a cart with motor lag under a constant load, pushed by u = kp*e + ki*(integral of e) - kd*v. Constants are captured.
    const double mass = 1.5, drag = 0.4, lag = 0.1, load = 2.0, target = 1.0;

    // x = (position, velocity, force, integral of e), theta = (kp, ki, kd). The iteration is x - h*A: A is minus the derivative.
    const auto loop = dst::formula<4, 3>(
        [=](auto const &theta, auto const &x) {
            const auto e = target - x[0];
            const auto u = clamp(theta[0] * e + theta[1] * x[3] - theta[2] * x[1], -20, 20);
            return dst::list(-x[1], (drag * x[1] + load - x[2]) / mass, (x[2] - u) / lag, -e);
        },
        [=](auto const &x) { return (x[0] - target) * (x[0] - target) + 0.1 * x[1] * x[1]; });

    // T is the last crossing of epsilon within 20 s: the loop has settled, and did not merely pass its target.
    const auto plan = dst::euler(0.005).until(1e-3).at_most(4000).staying_to_the_end();
    dst::workspace<double> memory = plan.workspace_for(loop);
    // Gains between these bounds; settling-optimal gains are at the edge of stability, so leave them a margin.
    dst::descent<double, 3> tuning({4.0, 1.0, 2.0}, {dst::between(1.0, 20.0), dst::between(0.1, 10.0), dst::between(0.5, 12.0)}, 25);

    while (!tuning.finished()) {
        const auto s = plan.sensitivity(loop, tuning.theta(), {0.0, 0.0, 0.0, 0.0}, memory);
        if (!s)
            tuning.tell_failed(); // it did not settle; the best gains are kept
        else if (tuning.tell(s->time, s->theta))
            std::printf("run %2u: kp = %.2f, ki = %.2f, kd = %.2f settles after %.2f s\n", unsigned(tuning.runs()),
                        tuning.best()[0], tuning.best()[1], tuning.best()[2], s->time);
    }
    return tuning.status() == DST_OK ? 0 : 1;
}
