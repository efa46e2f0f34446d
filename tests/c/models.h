/* The models with known answers of tests/models, in C, with hand-written derivatives. Compiled for both precisions. */

/* Counts of the calls; `user` of every problem here. */
typedef struct {
    size_t rates, pullbacks, pushforwards;
} OWN(calls);

/* x' = -theta*x, J = x: T = ln(x0/epsilon)/theta. */

static int OWN(decay_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                           REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)t, (void)tape;
    rate[0] = theta[0] * x[0];
    *criterion = x[0];
    *loss = x[0];
    return 0;
}

static int OWN(decay_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                               const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar,
                               REAL *x_bar, REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)t, (void)tape, (void)t_bar;
    theta_bar[0] += rate_bar[0] * x[0];
    x_bar[0] += rate_bar[0] * theta[0] + criterion_bar + loss_bar;
    return 0;
}

static int OWN(decay_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                  const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                  REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)t, (void)tape, (void)t_dot;
    rate_dot[0] = theta_dot[0] * x[0] + theta[0] * x_dot[0];
    *criterion_dot = x_dot[0];
    *loss_dot = x_dot[0];
    return 0;
}

static DST(problem) OWN(decay)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 1, .param_dim = 1, .rate = OWN(decay_rate),
                             .pullback = OWN(decay_pullback), .pushforward = OWN(decay_pushforward), .user = calls };
    return problem;
}

/* Figure 1 of the paper: f = x1^2/2 + 2*x2^2, A = diag(1, theta)*grad(f), J = |grad(f)|^2, f as running loss.
 * The gradient goes on the tape. */

static int OWN(figure1_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                             REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)t;
    tape[0] = x[0];
    tape[1] = 4 * x[1];
    rate[0] = tape[0];
    rate[1] = theta[0] * tape[1];
    *criterion = tape[0] * tape[0] + tape[1] * tape[1];
    *loss = x[0] * x[0] / 2 + x[1] * x[1] * 2;
    return 0;
}

static int OWN(figure1_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                 const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar,
                                 REAL *x_bar, REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)x, (void)t, (void)t_bar;
    theta_bar[0] += rate_bar[1] * tape[1];
    x_bar[0] += rate_bar[0] + (2 * criterion_bar + loss_bar) * tape[0];
    x_bar[1] += 4 * rate_bar[1] * theta[0] + (8 * criterion_bar + loss_bar) * tape[1];
    return 0;
}

static int OWN(figure1_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                    const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                    REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)x, (void)t, (void)t_dot;
    rate_dot[0] = x_dot[0];
    rate_dot[1] = theta_dot[0] * tape[1] + 4 * theta[0] * x_dot[1];
    *criterion_dot = 2 * (tape[0] * x_dot[0] + 4 * tape[1] * x_dot[1]);
    *loss_dot = tape[0] * x_dot[0] + tape[1] * x_dot[1];
    return 0;
}

static DST(problem) OWN(figure1)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 2, .param_dim = 1, .tape_len = 2, .rate = OWN(figure1_rate),
                             .pullback = OWN(figure1_pullback), .pushforward = OWN(figure1_pushforward),
                             .user = calls };
    return problem;
}

/* Ball dropped under gravity theta: q' = v, v' = -theta, J = q. */

static int OWN(ball_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                          REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)t, (void)tape;
    rate[0] = -x[1];
    rate[1] = theta[0];
    *criterion = x[0];
    *loss = x[0];
    return 0;
}

static int OWN(ball_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                              const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                              REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)theta, (void)x, (void)t, (void)tape, (void)t_bar;
    theta_bar[0] += rate_bar[1];
    x_bar[0] += criterion_bar + loss_bar;
    x_bar[1] -= rate_bar[0];
    return 0;
}

static int OWN(ball_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                 const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                 REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)theta, (void)x, (void)t, (void)tape, (void)t_dot;
    rate_dot[0] = -x_dot[1];
    rate_dot[1] = theta_dot[0];
    *criterion_dot = x_dot[0];
    *loss_dot = x_dot[0];
    return 0;
}

static DST(problem) OWN(ball)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 2, .param_dim = 1, .rate = OWN(ball_rate), .pullback = OWN(ball_pullback),
                             .pushforward = OWN(ball_pushforward), .user = calls };
    return problem;
}

/* Oscillating mass: q' = v, v' = -16*q - theta*v, J = q^2. J enters and leaves the band many times before it stays. */

static int OWN(swing_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                           REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)t, (void)tape;
    rate[0] = -x[1];
    rate[1] = 16 * x[0] + theta[0] * x[1];
    *criterion = x[0] * x[0];
    *loss = x[1] * x[1];
    return 0;
}

static int OWN(swing_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                               const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                               REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)t, (void)tape, (void)t_bar;
    theta_bar[0] += rate_bar[1] * x[1];
    x_bar[0] += 16 * rate_bar[1] + 2 * criterion_bar * x[0];
    x_bar[1] += theta[0] * rate_bar[1] - rate_bar[0] + 2 * loss_bar * x[1];
    return 0;
}

static int OWN(swing_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                  const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                  REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)t, (void)tape, (void)t_dot;
    rate_dot[0] = -x_dot[1];
    rate_dot[1] = 16 * x_dot[0] + theta[0] * x_dot[1] + theta_dot[0] * x[1];
    *criterion_dot = 2 * x[0] * x_dot[0];
    *loss_dot = 2 * x[1] * x_dot[1];
    return 0;
}

static DST(problem) OWN(swing)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 2, .param_dim = 1, .rate = OWN(swing_rate), .pullback = OWN(swing_pullback),
                             .pushforward = OWN(swing_pushforward), .user = calls };
    return problem;
}

/* Moving target: x' = -theta*x meets the line t/2, J = x - t/2 = 0. */

static int OWN(chase_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                           REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)tape;
    rate[0] = theta[0] * x[0];
    *criterion = x[0] - t / 2;
    *loss = x[0];
    return 0;
}

static int OWN(chase_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                               const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                               REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)t, (void)tape;
    theta_bar[0] += rate_bar[0] * x[0];
    x_bar[0] += rate_bar[0] * theta[0] + criterion_bar + loss_bar;
    if (t_bar != NULL)
        *t_bar -= criterion_bar / 2;
    return 0;
}

static int OWN(chase_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                  const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                  REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)t, (void)tape;
    rate_dot[0] = theta_dot[0] * x[0] + theta[0] * x_dot[0];
    *criterion_dot = x_dot[0] - t_dot / 2;
    *loss_dot = x_dot[0];
    return 0;
}

static DST(problem) OWN(chase)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 1, .param_dim = 1, .rate = OWN(chase_rate), .pullback = OWN(chase_pullback),
                             .pushforward = OWN(chase_pushforward), .user = calls };
    return problem;
}

/* Map of two coupled states that chases a rising level: J = x1^2 + x2^2 - t/64. Time is in F and in J. */

static int OWN(relax_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *next, REAL *tape,
                           REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)tape;
    next[0] = theta[0] * x[0] + x[1] / 8 + t / 512;
    next[1] = x[1] / 2 - x[0] * x[1] / 4;
    *criterion = x[0] * x[0] + x[1] * x[1] - t / 64;
    *loss = x[0] * x[1];
    return 0;
}

static int OWN(relax_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                               const REAL *next_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                               REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)t, (void)tape;
    theta_bar[0] += next_bar[0] * x[0];
    x_bar[0] += next_bar[0] * theta[0] - next_bar[1] * x[1] / 4 + 2 * criterion_bar * x[0] + loss_bar * x[1];
    x_bar[1] += next_bar[0] / 8 + next_bar[1] * ((REAL)0.5 - x[0] / 4) + 2 * criterion_bar * x[1] + loss_bar * x[0];
    if (t_bar != NULL)
        *t_bar -= criterion_bar / 64;
    return 0;
}

static int OWN(relax_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                  const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *next_dot,
                                  REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)t, (void)tape;
    next_dot[0] = theta_dot[0] * x[0] + theta[0] * x_dot[0] + x_dot[1] / 8 + t_dot / 512;
    next_dot[1] = x_dot[1] / 2 - (x_dot[0] * x[1] + x[0] * x_dot[1]) / 4;
    *criterion_dot = 2 * (x[0] * x_dot[0] + x[1] * x_dot[1]) - t_dot / 64;
    *loss_dot = x_dot[0] * x[1] + x[0] * x_dot[1];
    return 0;
}

static DST(problem) OWN(relax)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 2, .param_dim = 1, .rate = OWN(relax_rate), .pullback = OWN(relax_pullback),
                             .pushforward = OWN(relax_pushforward), .user = calls };
    return problem;
}

/* Map that rotates and shrinks: theta*(4/5, -3/5; 3/5, 4/5)*x, J = x1^2. J enters and leaves the band before it stays. */

static int OWN(spiral_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *next, REAL *tape,
                            REAL *criterion, REAL *loss)
{
    ((OWN(calls) *)user)->rates++;
    (void)t;
    tape[0] = (4 * x[0] - 3 * x[1]) / 5;
    tape[1] = (3 * x[0] + 4 * x[1]) / 5;
    next[0] = theta[0] * tape[0];
    next[1] = theta[0] * tape[1];
    *criterion = x[0] * x[0];
    *loss = x[1] * x[1];
    return 0;
}

static int OWN(spiral_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                const REAL *next_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                                REAL *t_bar)
{
    ((OWN(calls) *)user)->pullbacks++;
    (void)t, (void)t_bar;
    theta_bar[0] += next_bar[0] * tape[0] + next_bar[1] * tape[1];
    x_bar[0] += theta[0] * (4 * next_bar[0] + 3 * next_bar[1]) / 5 + 2 * criterion_bar * x[0];
    x_bar[1] += theta[0] * (4 * next_bar[1] - 3 * next_bar[0]) / 5 + 2 * loss_bar * x[1];
    return 0;
}

static int OWN(spiral_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                   const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *next_dot,
                                   REAL *criterion_dot, REAL *loss_dot)
{
    ((OWN(calls) *)user)->pushforwards++;
    (void)t, (void)t_dot;
    next_dot[0] = theta_dot[0] * tape[0] + theta[0] * (4 * x_dot[0] - 3 * x_dot[1]) / 5;
    next_dot[1] = theta_dot[0] * tape[1] + theta[0] * (3 * x_dot[0] + 4 * x_dot[1]) / 5;
    *criterion_dot = 2 * x[0] * x_dot[0];
    *loss_dot = 2 * x[1] * x_dot[1];
    return 0;
}

static DST(problem) OWN(spiral)(OWN(calls) *calls)
{
    DST(problem) problem = { .state_dim = 2, .param_dim = 1, .tape_len = 2, .rate = OWN(spiral_rate),
                             .pullback = OWN(spiral_pullback), .pushforward = OWN(spiral_pushforward),
                             .user = calls };
    return problem;
}

/* Objective with coupled variables: f = sum l_i*x_i^2/2 + c*(sum x_i)^2/2. */

static const REAL OWN(bowl_lambda)[3] = { 1, 3, (REAL)0.6 };
static const REAL OWN(bowl_coupling) = (REAL)0.2;

static int OWN(bowl_value)(void *user, const REAL *x, REAL *value, REAL *gradient, REAL *tape)
{
    REAL sum = x[0] + x[1] + x[2];
    ((OWN(calls) *)user)->rates++;
    (void)tape;
    *value = OWN(bowl_coupling) / 2 * sum * sum;
    for (int i = 0; i < 3; i++) {
        gradient[i] = OWN(bowl_lambda)[i] * x[i] + OWN(bowl_coupling) * sum;
        *value += OWN(bowl_lambda)[i] / 2 * x[i] * x[i];
    }
    return 0;
}

static int OWN(bowl_hessian)(void *user, const REAL *x, const REAL *v, const REAL *tape, REAL *out)
{
    REAL sum = v[0] + v[1] + v[2];
    ((OWN(calls) *)user)->pullbacks++;
    (void)x, (void)tape;
    for (int i = 0; i < 3; i++)
        out[i] += OWN(bowl_lambda)[i] * v[i] + OWN(bowl_coupling) * sum;
    return 0;
}

static DST(objective) OWN(bowl)(OWN(calls) *calls)
{
    DST(objective) objective = { .dim = 3, .value_gradient = OWN(bowl_value), .hessian_vector = OWN(bowl_hessian),
                                 .user = calls };
    return objective;
}
