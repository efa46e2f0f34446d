/* DAQP in the way its own code generator for MPC uses it: the program is a least-distance problem prepared beforehand, a tick moves its
 * bounds by a product with the parameters, solves, and takes the first inputs from the solution. One workspace per block; M and the
 * maps are shared. `problem.h` is written by prepare_daqp.py. */

#include "peer.h"
#include "api.h"
#include "daqp.h"
#include "problem.h"

#define ROOM (N + 1)

typedef struct {
    DAQPWorkspace work;
    c_float upper[M_ALL], lower[M_ALL], u[N], x[N], xold[N], products[M_ALL - SIMPLE + 1];
    c_float lam[ROOM], lam_star[ROOM], d[ROOM], xldl[ROOM], zldl[ROOM], l[ROOM * (ROOM + 1) / 2];
    int sense[M_ALL], set[ROOM];
} block;

static block blocks[BLOCKS];
static DAQPSettings settings;

void peer_start(void)
{
    daqp_default_settings(&settings);
    settings.primal_tol = (c_float)PRIMAL_TOLERANCE;
    for (int k = 0; k < BLOCKS; k++) {
        block *b = &blocks[k];
        DAQPWorkspace *w = &b->work;
        w->n = N;
        w->m = M_ALL;
        w->ms = SIMPLE;
        w->M = (c_float *)problem_m;
        w->Rinv = (c_float *)problem_rinv;
        w->dupper = b->upper;
        w->dlower = b->lower;
        w->sense = b->sense;
        w->u = b->u;
        w->x = b->x;
        w->xold = b->xold;
        w->lam = b->lam;
        w->lam_star = b->lam_star;
        w->L = b->l;
        w->D = b->d;
        w->xldl = b->xldl;
        w->zldl = b->zldl;
        w->WS = b->set;
        w->Mu = M_ALL > SIMPLE ? b->products : 0;
        w->settings = &settings;
        reset_daqp_workspace(w);
    }
}

void peer_reset(void)
{
    for (int k = 0; k < BLOCKS; k++)
        daqp_deactivate_constraints(&blocks[k].work);
}

/* Bounds at these parameters. */
static void move(DAQPWorkspace *w, const c_float *theta)
{
    const c_float *row = problem_map;
    for (int i = 0; i < M_ALL; i++, row += PARAMETERS) {
        c_float sum = 0;
        for (int j = 0; j < PARAMETERS; j++)
            sum += row[j] * theta[j];
        w->dupper[i] = problem_upper[i] + sum;
        w->dlower[i] = problem_lower[i] + sum;
    }
}

/* The first inputs: those without bounds, and what the bounds add. */
static void inputs(const DAQPWorkspace *w, const c_float *theta, float *u)
{
    for (int i = 0; i < INPUTS; i++) {
        c_float sum = 0;
        for (int j = 0; j < PARAMETERS; j++)
            sum += problem_free[i * PARAMETERS + j] * theta[j];
        for (int j = 0; j < N; j++)
            sum += problem_back[i * N + j] * w->u[j];
        u[i] = sum;
    }
}

int peer_tick(const float *p, const float *extra, float *u, uint32_t *iterations)
{
    int unsolved = 0;
    *iterations = 0;
    for (int k = 0; k < BLOCKS; k++) {
        DAQPWorkspace *w = &blocks[k].work;
        c_float theta[PARAMETERS];
        for (int j = 0; j < OWN; j++)
            theta[j] = p[k * OWN + j];
        for (int j = OWN; j < PARAMETERS; j++)
            theta[j] = extra[k * (PARAMETERS - OWN) + j - OWN];
        move(w, theta);
        /* The factor of the last working set is kept, its right-hand side has moved. */
        w->reuse_ind = 0;
        unsolved |= daqp_ldp(w) <= 0;
        inputs(w, theta, u + k * INPUTS);
        *iterations += (uint32_t)w->iterations;
    }
    return unsolved;
}
