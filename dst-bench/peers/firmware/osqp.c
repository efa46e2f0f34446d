/* OSQP as its own code generator writes it. A tick updates the vectors of the program, solves from the last solution, and reads the
 * first inputs. `problem.h` and the solver are written by prepare_osqp.py. Blocks share the solver; each keeps its own last solution. */

#include "peer.h"
#include "osqp.h"
#include "workspace.h"
#include "problem.h"

static OSQPFloat linear[N], lower[M_ALL], upper[M_ALL];
#if BLOCKS > 1
static OSQPFloat last_x[BLOCKS][N], last_y[BLOCKS][M_ALL];
#endif

void peer_start(void)
{
    for (int i = 0; i < M_ALL; i++) {
        lower[i] = problem_lower[i];
        upper[i] = problem_upper[i];
    }
}

void peer_reset(void)
{
#if BLOCKS > 1
    for (int k = 0; k < BLOCKS; k++) {
        for (int i = 0; i < N; i++)
            last_x[k][i] = 0;
        for (int i = 0; i < M_ALL; i++)
            last_y[k][i] = 0;
    }
#endif
    osqp_cold_start(&solver);
#if ADAPTIVE
    osqp_update_rho(&solver, (OSQPFloat)RHO);
#endif
}

/* The vectors of the program at these parameters. Rows that move come first. */
static void update(const float *p, const float *extra)
{
#if LINEAR_MAP
    for (int i = 0; i < N; i++) {
        OSQPFloat sum = 0;
        for (int j = 0; j < OWN; j++)
            sum += problem_linear[i * OWN + j] * p[j];
        linear[i] = sum;
    }
#endif
    for (int i = 0; i < EXTRA; i++)
        linear[i] = extra[i];
    for (int i = 0; i < MOVED; i++) {
        OSQPFloat sum = 0;
        for (int j = 0; j < OWN; j++)
            sum += problem_map[i * OWN + j] * p[j];
        lower[i] = problem_lower[i] - sum;
        upper[i] = problem_upper[i] - sum;
    }
    osqp_update_data_vec(&solver, LINEAR_MAP || EXTRA > 0 ? linear : 0, MOVED > 0 ? lower : 0, MOVED > 0 ? upper : 0);
}

int peer_tick(const float *p, const float *extra, float *u, uint32_t *iterations)
{
    int unsolved = 0;
    *iterations = 0;
    for (int k = 0; k < BLOCKS; k++) {
        update(p + k * OWN, extra + k * EXTRA);
#if BLOCKS > 1
        osqp_warm_start(&solver, last_x[k], last_y[k]);
#endif
        osqp_solve(&solver);
        unsolved |= solver.info->status_val != OSQP_SOLVED;
        *iterations += (uint32_t)solver.info->iter;
        for (int i = 0; i < INPUTS; i++)
            u[k * INPUTS + i] = solver.solution->x[i];
#if BLOCKS > 1
        for (int i = 0; i < N; i++)
            last_x[k][i] = solver.solution->x[i];
        for (int i = 0; i < M_ALL; i++)
            last_y[k][i] = solver.solution->y[i];
#endif
    }
    return unsolved;
}
