// TinyMPC: its own solver on matrices of fixed size in single precision. `problem.h` and the changed copy of its sources are written by
// prepare_tinympc.py, which says what is changed.

#include "peer.h"
#include "admm.hpp"
#include "problem.h"

namespace {

TinySolution solution;
TinyCache cache;
TinySettings settings;
TinyWorkspace work;
TinySolver solver = { &solution, &settings, &cache, &work };

template <typename Matrix> void fill(Matrix &matrix, const float *values)
{
    for (int i = 0; i < matrix.rows(); i++)
        for (int j = 0; j < matrix.cols(); j++)
            matrix(i, j) = values[i * matrix.cols() + j];
}

} // namespace

void peer_start(void)
{
    cache.rho = RHO;
    fill(cache.Kinf, problem_k);
    fill(cache.Pinf, problem_p);
    fill(cache.Quu_inv, problem_quu);
    fill(cache.AmBKt, problem_closed);
    fill(work.Adyn, problem_a);
    fill(work.Bdyn, problem_b);
    fill(work.Q, problem_q);
    fill(work.R, problem_r);
    work.nx = STATES;
    work.nu = INPUTS;
    work.N = STAGES + 1;
    work.u_min.setConstant(LOWER);
    work.u_max.setConstant(UPPER);
    work.Xref.setZero();
    work.Uref.setZero();
    settings.abs_pri_tol = TOLERANCE;
    settings.abs_dua_tol = TOLERANCE;
    settings.max_iter = MOST;
    settings.check_termination = CHECK;
    settings.en_state_bound = 0;
    settings.en_input_bound = 1;
}

void peer_reset(void)
{
    work.x.setZero();
    work.u.setZero();
    work.q.setZero();
    work.r.setZero();
    work.p.setZero();
    work.d.setZero();
    work.v.setZero();
    work.vnew.setZero();
    work.z.setZero();
    work.znew.setZero();
    work.g.setZero();
    work.y.setZero();
}

int peer_tick(const float *p, const float *, float *u, uint32_t *iterations)
{
    for (int i = 0; i < STATES; i++)
        work.x(i, 0) = p[i];
    const int unsolved = solve(&solver);
    *iterations = static_cast<uint32_t>(solution.iter);
    for (int i = 0; i < INPUTS; i++)
        u[i] = solution.u(i, 0);
    return unsolved;
}
