/* All kinds of misuse by a caller, for one precision. A rejected call returns its code and leaves every byte of `world`
 * unchanged: inputs, outputs and the workspace. */

/* Callbacks that fail on request; otherwise the decay. */
typedef struct {
    /* Number of calls of `rate`, `pullback` and `pushforward` so far. */
    size_t calls[3];
    /* The callback that fails, and the number of the failing call (from 1). */
    int which;
    size_t at;
    /* Return value of the failing call; 0: it leaves its outputs unwritten (NaN in the pullback). */
    int code;
    /* Calls of the weight of the seeds, those after an abort, and the number of the one that aborts (from 1). */
    size_t weighed, weighed_late, weight_at;
    /* True if every callback calls functions on its own workspace; the number of such calls, and of those rejected as busy.
     * */
    int reenters;
    size_t entered, refused;
    /* First eight bytes of the workspace during a callback. */
    unsigned char seal[8];
} OWN(trouble);

static void OWN(reenter)(OWN(trouble) * trouble);
static const void *OWN(workspace)(void);

static int OWN(is_due)(OWN(trouble) * trouble, int which)
{
    OWN(reenter)(trouble);
    return ++trouble->calls[which] >= trouble->at && trouble->which == which && trouble->at > 0;
}

/* Only counts; does not change the weights. */
static int OWN(weight)(void *user, size_t step, REAL *criterion_weight, REAL *loss_weight)
{
    OWN(trouble) *trouble = user;
    const int aborted = trouble->code != 0 && trouble->at > 0 && trouble->calls[trouble->which] >= trouble->at;
    (void)step, (void)criterion_weight, (void)loss_weight;
    OWN(reenter)(trouble);
    trouble->weighed++;
    trouble->weighed_late += aborted ? 1 : 0;
    return trouble->weighed == trouble->weight_at ? trouble->code : 0;
}

static int OWN(bad_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                         REAL *criterion, REAL *loss)
{
    OWN(trouble) *trouble = user;
    (void)t, (void)tape;
    *loss = x[0];
    rate[0] = theta[0] * x[0];
    if (OWN(is_due)(trouble, 0)) {
        /* Seal during a call. */
        memcpy(trouble->seal, OWN(workspace)(), sizeof trouble->seal);
        return trouble->code;
    }
    *criterion = x[0];
    return 0;
}

static int OWN(bad_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                             const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                             REAL *t_bar)
{
    OWN(trouble) *trouble = user;
    (void)t, (void)tape, (void)t_bar;
    theta_bar[0] += rate_bar[0] * x[0];
    x_bar[0] += rate_bar[0] * theta[0] + criterion_bar + loss_bar;
    if (OWN(is_due)(trouble, 1)) {
        x_bar[0] = (REAL)NAN;
        return trouble->code;
    }
    return 0;
}

static int OWN(bad_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                REAL *criterion_dot, REAL *loss_dot)
{
    OWN(trouble) *trouble = user;
    (void)t, (void)tape, (void)t_dot;
    rate_dot[0] = theta_dot[0] * x[0] + theta[0] * x_dot[0];
    if (OWN(is_due)(trouble, 2))
        return trouble->code;
    *criterion_dot = x_dot[0];
    *loss_dot = x_dot[0];
    return 0;
}

static int OWN(bad_value)(void *user, const REAL *x, REAL *value, REAL *gradient, REAL *tape)
{
    OWN(trouble) *trouble = user;
    (void)tape;
    gradient[0] = x[0];
    if (OWN(is_due)(trouble, 0))
        return trouble->code;
    *value = x[0] * x[0] / 2;
    return 0;
}

static int OWN(bad_hessian)(void *user, const REAL *x, const REAL *v, const REAL *tape, REAL *out)
{
    OWN(trouble) *trouble = user;
    (void)x, (void)tape;
    out[0] += v[0];
    return OWN(is_due)(trouble, 1) ? trouble->code : 0;
}

/* Everything that a call can access. */
typedef struct {
    DST(problem) problem;
    DST(options) options;
    DST(seeds) seeds;
    DST(objective) objective;
    DST(ola_options) ola_options;
    REAL theta[2], x0[2], theta_gradient[2], x0_gradient[2], state[2];
    DST(result) result;
    DST(run) *run;
    DST(ola) *ola;
    DST(window) *window;
    DST(iterate) iterate;
    DST(ola_state) ola_state;
    DST(window_report) report;
    int32_t progress;
    size_t remaining;
    int abort_code;
    uint64_t workspace[512];
} OWN(world);

static OWN(world) OWN(w), OWN(before);
static OWN(trouble) OWN(t);
static const void *OWN(workspace)(void)
{
    return OWN(w).workspace;
}

#define W OWN(w)
#define T OWN(t)

/* Creates a fresh world in which every call would succeed; outputs and workspace are filled with a pattern. */
static void OWN(reset)(void)
{
    memset(&W, 0xa5, sizeof W);
    memset(&T, 0, sizeof T);
    memset(&W.problem, 0, sizeof W.problem);
    memset(&W.objective, 0, sizeof W.objective);
    W.problem.state_dim = 1;
    W.problem.param_dim = 1;
    W.problem.rate = OWN(bad_rate);
    W.problem.pullback = OWN(bad_pullback);
    W.problem.pushforward = OWN(bad_pushforward);
    W.problem.user = &T;
    W.problem.abort_code = &W.abort_code;
    W.objective.dim = 1;
    W.objective.value_gradient = OWN(bad_value);
    W.objective.hessian_vector = OWN(bad_hessian);
    W.objective.user = &T;
    W.objective.abort_code = &W.abort_code;
    W.options = DST(options_default)((REAL)0.125, (REAL)0.5);
    W.seeds = DST(seeds_default)();
    W.seeds.user = &T;
    W.ola_options = DST(ola_options_default)((REAL)0.01, (REAL)1e-3, (REAL)1e-3);
    dst_workspace_clear(W.workspace);
    for (int i = 0; i < 2; i++)
        W.theta[i] = W.x0[i] = 1;
    W.result.theta_gradient = W.theta_gradient;
    W.result.x0_gradient = W.x0_gradient;
    W.result.state = W.state;
}

/* Chooses an integrator. As a map, theta*x with theta = 7/8 is the same iteration as Euler's method. */
static void OWN(choose)(int32_t integrator)
{
    W.options.integrator = integrator;
    if (integrator == DST_MAP) {
        W.options.step = 1;
        W.theta[0] = (REAL)0.875;
    }
}

/* The call is rejected with this status and changes nothing. */
#define REFUSED(expected, call)                                                                                        \
    do {                                                                                                               \
        OWN(before) = W;                                                                                               \
        CHECK((call) == (expected));                                                                                   \
        CHECK(same_bytes(&OWN(before), &W, sizeof W));                                                                \
    } while (0)

/* The same for a call that has changed the workspace: everything else is unchanged. */
#define FAILED(expected, call)                                                                                         \
    do {                                                                                                               \
        OWN(before) = W;                                                                                               \
        CHECK((call) == (expected));                                                                                   \
        memcpy(OWN(before).workspace, W.workspace, sizeof W.workspace);                                                \
        CHECK(same_bytes(&OWN(before), &W, sizeof W));                                                                \
    } while (0)

/* Calls with the arguments of `world`. */
#define ONE_SHOT()                                                                                                     \
    DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, &W.seeds, W.workspace, sizeof W.workspace, &W.result)
#define INIT() DST(run_init)(&W.problem, &W.options, W.theta, W.x0, W.workspace, sizeof W.workspace, &W.run)
#define OLA_INIT() DST(ola_init)(&W.objective, &W.ola_options, W.x0, W.workspace, sizeof W.workspace, &W.ola)
#define WINDOW_INIT() DST(window_init)(&W.objective, &W.ola_options, W.x0, W.workspace, sizeof W.workspace, &W.window)

/* A change to the world for which the one-shot call and dst_run_init are both rejected. */
#define BAD(expected, change)                                                                                          \
    do {                                                                                                               \
        OWN(reset)();                                                                                                  \
        change;                                                                                                        \
        REFUSED(expected, ONE_SHOT());                                                                                 \
        REFUSED(expected, INIT());                                                                                     \
    } while (0)

/* The same for the seeds, with the one-shot call and dst_gradient_advance. */
#define BAD_SEEDS(expected, change)                                                                                    \
    do {                                                                                                               \
        OWN(reset)();                                                                                                  \
        change;                                                                                                        \
        REFUSED(expected, ONE_SHOT());                                                                                 \
        CHECK(INIT() == DST_OK && DST(run_advance)(W.run, SIZE_MAX, &W.progress) == DST_OK);                           \
        REFUSED(expected, DST(gradient_advance)(W.run, &W.seeds, 1, &W.remaining));                                    \
    } while (0)

#define BAD_OLA(expected, change)                                                                                      \
    do {                                                                                                               \
        OWN(reset)();                                                                                                  \
        change;                                                                                                        \
        REFUSED(expected, OLA_INIT());                                                                                 \
        REFUSED(expected, WINDOW_INIT());                                                                              \
    } while (0)

static void OWN(null_pointers)(void)
{
    size_t size = sizeof W.workspace;
    OWN(reset)();
    REFUSED(DST_ERROR_NULL, DST(sensitivity)(NULL, &W.options, W.theta, W.x0, NULL, W.workspace, size, &W.result));
    REFUSED(DST_ERROR_NULL, DST(sensitivity)(&W.problem, NULL, W.theta, W.x0, NULL, W.workspace, size, &W.result));
    REFUSED(DST_ERROR_NULL, DST(sensitivity)(&W.problem, &W.options, NULL, W.x0, NULL, W.workspace, size, &W.result));
    REFUSED(DST_ERROR_NULL, DST(sensitivity)(&W.problem, &W.options, W.theta, NULL, NULL, W.workspace, size, &W.result));
    REFUSED(DST_ERROR_NULL, DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, NULL, size, &W.result));
    REFUSED(DST_ERROR_NULL, DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, W.workspace, size, NULL));
    REFUSED(DST_ERROR_NULL, DST(run_init)(NULL, &W.options, W.theta, W.x0, W.workspace, size, &W.run));
    REFUSED(DST_ERROR_NULL, DST(run_init)(&W.problem, NULL, W.theta, W.x0, W.workspace, size, &W.run));
    REFUSED(DST_ERROR_NULL, DST(run_init)(&W.problem, &W.options, NULL, W.x0, W.workspace, size, &W.run));
    REFUSED(DST_ERROR_NULL, DST(run_init)(&W.problem, &W.options, W.theta, NULL, W.workspace, size, &W.run));
    REFUSED(DST_ERROR_NULL, DST(run_init)(&W.problem, &W.options, W.theta, W.x0, NULL, size, &W.run));
    REFUSED(DST_ERROR_NULL, DST(run_init)(&W.problem, &W.options, W.theta, W.x0, W.workspace, size, NULL));
    REFUSED(0, DST(workspace_size)(NULL, &W.options));
    REFUSED(0, DST(workspace_size)(&W.problem, NULL));
    BAD(DST_ERROR_NULL, W.problem.rate = NULL);
    CHECK(DST(workspace_size)(&W.problem, &W.options) == 0);

    OWN(reset)();
    CHECK(INIT() == DST_OK);
    REFUSED(DST_ERROR_NULL, DST(run_advance)(NULL, 1, &W.progress));
    REFUSED(DST_ERROR_NULL, DST(run_advance)(W.run, 1, NULL));
    REFUSED(DST_ERROR_NULL, DST(run_iterate)(NULL, &W.iterate));
    REFUSED(DST_ERROR_NULL, DST(run_iterate)(W.run, NULL));
    CHECK(DST(run_advance)(W.run, SIZE_MAX, &W.progress) == DST_OK);
    REFUSED(DST_ERROR_NULL, DST(gradient_advance)(NULL, &W.seeds, 1, &W.remaining));
    REFUSED(DST_ERROR_NULL, DST(gradient_advance)(W.run, &W.seeds, 1, NULL));
    REFUSED(DST_ERROR_NULL, DST(gradient_read)(NULL, &W.result));
    CHECK(DST(gradient_advance)(W.run, NULL, SIZE_MAX, &W.remaining) == DST_OK && W.remaining == 0);
    REFUSED(DST_ERROR_NULL, DST(gradient_read)(W.run, NULL));
    /* None of these calls has damaged the run. */
    CHECK(DST(gradient_read)(W.run, &W.result) == DST_OK && W.theta_gradient[0] < 0);
    dst_workspace_clear(NULL);

    OWN(reset)();
    REFUSED(DST_ERROR_NULL, DST(ola_init)(NULL, &W.ola_options, W.x0, W.workspace, size, &W.ola));
    REFUSED(DST_ERROR_NULL, DST(ola_init)(&W.objective, NULL, W.x0, W.workspace, size, &W.ola));
    REFUSED(DST_ERROR_NULL, DST(ola_init)(&W.objective, &W.ola_options, NULL, W.workspace, size, &W.ola));
    REFUSED(DST_ERROR_NULL, DST(ola_init)(&W.objective, &W.ola_options, W.x0, NULL, size, &W.ola));
    REFUSED(DST_ERROR_NULL, DST(ola_init)(&W.objective, &W.ola_options, W.x0, W.workspace, size, NULL));
    REFUSED(DST_ERROR_NULL, DST(window_init)(NULL, &W.ola_options, W.x0, W.workspace, size, &W.window));
    REFUSED(DST_ERROR_NULL, DST(window_init)(&W.objective, NULL, W.x0, W.workspace, size, &W.window));
    REFUSED(DST_ERROR_NULL, DST(window_init)(&W.objective, &W.ola_options, NULL, W.workspace, size, &W.window));
    REFUSED(DST_ERROR_NULL, DST(window_init)(&W.objective, &W.ola_options, W.x0, NULL, size, &W.window));
    REFUSED(DST_ERROR_NULL, DST(window_init)(&W.objective, &W.ola_options, W.x0, W.workspace, size, NULL));
    REFUSED(0, DST(ola_workspace_size)(NULL, &W.ola_options));
    REFUSED(0, DST(ola_workspace_size)(&W.objective, NULL));
    REFUSED(0, DST(window_workspace_size)(NULL, &W.ola_options));
    REFUSED(0, DST(window_workspace_size)(&W.objective, NULL));
    BAD_OLA(DST_ERROR_NULL, W.objective.value_gradient = NULL);
    OWN(reset)();
    W.objective.hessian_vector = NULL;
    REFUSED(DST_ERROR_NO_HESSIAN_VECTOR, WINDOW_INIT());
    CHECK(OLA_INIT() == DST_OK);
    REFUSED(DST_ERROR_NULL, DST(ola_advance)(NULL, 1, &W.progress));
    REFUSED(DST_ERROR_NULL, DST(ola_advance)(W.ola, 1, NULL));
    REFUSED(DST_ERROR_NULL, DST(ola_read)(NULL, &W.ola_state));
    REFUSED(DST_ERROR_NULL, DST(ola_read)(W.ola, NULL));
    OWN(reset)();
    CHECK(WINDOW_INIT() == DST_OK);
    REFUSED(DST_ERROR_NULL, DST(window_advance)(NULL, 1, &W.report));
    REFUSED(DST_ERROR_NULL, DST(window_advance)(W.window, 1, NULL));
    REFUSED(DST_ERROR_NULL, DST(window_read)(NULL, &W.ola_state));
    REFUSED(DST_ERROR_NULL, DST(window_read)(W.window, NULL));

    /* Pointers that may be NULL: theta without parameters, the vectors of the result, abort_code. */
    OWN(reset)();
    W.result.theta_gradient = W.result.x0_gradient = W.result.state = NULL;
    W.problem.abort_code = NULL;
    CHECK(ONE_SHOT() == DST_OK && W.result.steps > 0);
}

static void OWN(sizes)(void)
{
    size_t need, beyond = 0;
    BAD(DST_ERROR_SIZE, W.problem.state_dim = 0);
    BAD(DST_ERROR_SIZE, W.problem.state_dim = SIZE_MAX);
    BAD(DST_ERROR_SIZE, W.problem.state_dim = SIZE_MAX / 8);
    BAD(DST_ERROR_SIZE, W.problem.param_dim = SIZE_MAX);
    BAD(DST_ERROR_SIZE, W.problem.param_dim = SIZE_MAX / sizeof(REAL));
    BAD(DST_ERROR_SIZE, W.problem.tape_len = SIZE_MAX);
    BAD(DST_ERROR_SIZE, W.options.slots = SIZE_MAX);
    CHECK(DST(workspace_size)(&W.problem, &W.options) == 0);
    BAD(DST_ERROR_WORKSPACE_TOO_SMALL, W.problem.state_dim = 1000);
    BAD(DST_ERROR_NO_SLOTS, W.options.slots = 0);
    BAD(DST_ERROR_ODD_STATE, W.options.integrator = DST_SYMPLECTIC);
    BAD_OLA(DST_ERROR_SIZE, W.objective.dim = 0);
    BAD_OLA(DST_ERROR_SIZE, W.objective.dim = SIZE_MAX);
    BAD_OLA(DST_ERROR_SIZE, W.objective.dim = SIZE_MAX / 16);
    BAD_OLA(DST_ERROR_SIZE, W.objective.tape_len = SIZE_MAX);
    OWN(reset)();
    W.ola_options.slots = 0;
    REFUSED(DST_ERROR_NO_SLOTS, WINDOW_INIT());
    W.ola_options.slots = SIZE_MAX;
    REFUSED(DST_ERROR_SIZE, WINDOW_INIT());

    /* The exact size is accepted; one byte less is not. A workspace of zero bytes is rejected. */
    OWN(reset)();
    need = DST(workspace_size)(&W.problem, &W.options);
    CHECK(need > 0 && need < sizeof W.workspace);
    REFUSED(DST_ERROR_WORKSPACE_TOO_SMALL,
            DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, W.workspace, need - 1, &W.result));
    REFUSED(DST_ERROR_WORKSPACE_TOO_SMALL,
            DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, W.workspace, 0, &W.result));
    REFUSED(DST_ERROR_WORKSPACE_TOO_SMALL,
            DST(run_init)(&W.problem, &W.options, W.theta, W.x0, W.workspace, need - 1, &W.run));
    CHECK(DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, W.workspace, need, &W.result) == DST_OK);
    for (size_t i = need; i < sizeof W.workspace; i++)
        beyond += ((unsigned char *)W.workspace)[i] != 0xa5;
    CHECK(beyond == 0);
    need = DST(ola_workspace_size)(&W.objective, &W.ola_options);
    REFUSED(DST_ERROR_WORKSPACE_TOO_SMALL,
            DST(ola_init)(&W.objective, &W.ola_options, W.x0, W.workspace, need - 1, &W.ola));
    CHECK(DST(ola_init)(&W.objective, &W.ola_options, W.x0, W.workspace, need, &W.ola) == DST_OK);
    need = DST(window_workspace_size)(&W.objective, &W.ola_options);
    REFUSED(DST_ERROR_WORKSPACE_TOO_SMALL,
            DST(window_init)(&W.objective, &W.ola_options, W.x0, W.workspace, need - 1, &W.window));
    CHECK(DST(window_init)(&W.objective, &W.ola_options, W.x0, W.workspace, need, &W.window) == DST_OK);
}

/* Address that is off by one byte. */
static void *OWN(off)(void *pointer)
{
    return (char *)pointer + 1;
}

static void OWN(alignment)(void)
{
    size_t size = sizeof W.workspace - 8, align = DST(workspace_align)();
    char *workspace = (char *)W.workspace;
    CHECK(align >= sizeof(REAL) && (align & (align - 1)) == 0);
    OWN(reset)();
    for (size_t by = 1; by < align; by++)
        REFUSED(DST_ERROR_MISALIGNED,
                DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, workspace + by, size, &W.result));
    REFUSED(DST_ERROR_MISALIGNED,
            DST(run_init)(&W.problem, &W.options, W.theta, W.x0, workspace + 1, size, &W.run));
    REFUSED(DST_ERROR_MISALIGNED, DST(ola_init)(&W.objective, &W.ola_options, W.x0, workspace + 1, size, &W.ola));
    REFUSED(DST_ERROR_MISALIGNED,
            DST(window_init)(&W.objective, &W.ola_options, W.x0, workspace + 1, size, &W.window));
    REFUSED(DST_ERROR_MISALIGNED, DST(sensitivity)(OWN(off)(&W.problem), &W.options, W.theta, W.x0, NULL, W.workspace,
                                                   size, &W.result));
    REFUSED(DST_ERROR_MISALIGNED, DST(sensitivity)(&W.problem, OWN(off)(&W.options), W.theta, W.x0, NULL, W.workspace,
                                                   size, &W.result));
    REFUSED(DST_ERROR_MISALIGNED,
            DST(sensitivity)(&W.problem, &W.options, OWN(off)(W.theta), W.x0, NULL, W.workspace, size, &W.result));
    REFUSED(DST_ERROR_MISALIGNED,
            DST(sensitivity)(&W.problem, &W.options, W.theta, OWN(off)(W.x0), NULL, W.workspace, size, &W.result));
    REFUSED(DST_ERROR_MISALIGNED,
            DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, W.workspace, size, OWN(off)(&W.result)));
    REFUSED(DST_ERROR_MISALIGNED,
            DST(run_init)(&W.problem, &W.options, W.theta, W.x0, W.workspace, size, OWN(off)(&W.run)));
    W.result.theta_gradient = OWN(off)(W.theta_gradient);
    REFUSED(DST_ERROR_MISALIGNED, ONE_SHOT());
    BAD(DST_ERROR_MISALIGNED, W.problem.abort_code = OWN(off)(&W.abort_code));
    OWN(reset)();
    REFUSED(DST_ERROR_MISALIGNED, DST(run_advance)(OWN(off)(W.workspace), 1, &W.progress));
    CHECK(INIT() == DST_OK);
    REFUSED(DST_ERROR_MISALIGNED, DST(run_advance)(W.run, 1, OWN(off)(&W.progress)));
    REFUSED(DST_ERROR_MISALIGNED, DST(gradient_advance)(W.run, OWN(off)(&W.seeds), 1, &W.remaining));
    REFUSED(DST_ERROR_MISALIGNED, DST(gradient_read)(W.run, OWN(off)(&W.result)));
}

static void OWN(numbers)(void)
{
    const REAL bad[] = { (REAL)NAN, (REAL)INFINITY, -(REAL)INFINITY };
    for (int i = 0; i < 3; i++) {
        BAD(DST_ERROR_THETA, W.theta[0] = bad[i]);
        BAD(DST_ERROR_X0, W.x0[0] = bad[i]);
        BAD(DST_ERROR_STEP_SIZE, W.options.step = bad[i]);
        BAD(DST_ERROR_EPSILON, W.options.epsilon = bad[i]);
        BAD(DST_ERROR_START_TIME, W.options.start_time = bad[i]);
        BAD_SEEDS(DST_ERROR_WEIGHT, W.seeds.time_weight = bad[i]);
        BAD_SEEDS(DST_ERROR_WEIGHT, W.seeds.loss_weight = bad[i]);
        BAD_SEEDS(DST_ERROR_WEIGHT, W.seeds.criterion_weight = bad[i]);
        BAD_OLA(DST_ERROR_X0, W.x0[0] = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.alpha = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.beta1 = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.beta2 = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.stability = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.eta = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.descent = bad[i]);
        BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.tolerance = bad[i]);
    }
    BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.alpha = 0);
    BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.beta1 = 1);
    BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.beta2 = -1);
    BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.stability = -1);
    BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.descent = -1);
    BAD_OLA(DST_ERROR_HYPERPARAMETER, W.ola_options.tolerance = -1);
    BAD(DST_ERROR_STEP_SIZE, W.options.step = 0);
    BAD(DST_ERROR_STEP_SIZE, W.options.step = -1);
    BAD(DST_ERROR_CHOICE, W.options.integrator = -1);
    BAD(DST_ERROR_CHOICE, W.options.integrator = 5);
    /* A map has no step size: 0.125 is rejected, 1 is not. */
    BAD(DST_ERROR_STEP_SIZE, W.options.integrator = DST_MAP);
    OWN(reset)();
    W.options.integrator = DST_MAP;
    CHECK(DST(workspace_size)(&W.problem, &W.options) == 0);
    OWN(choose)(DST_MAP);
    CHECK(DST(workspace_size)(&W.problem, &W.options) > 0 && ONE_SHOT() == DST_OK && W.result.steps == 6);
    W.options = DST(options_map)((REAL)0.5);
    CHECK(W.options.integrator == DST_MAP && W.options.step == 1 && ONE_SHOT() == DST_OK && W.result.steps == 6);
    CHECK(W.options.epsilon == (REAL)0.5 && W.options.slots == DST(options_default)(1, 1).slots);
    CHECK(W.options.max_steps == DST(options_default)(1, 1).max_steps);
    BAD_SEEDS(DST_ERROR_CHOICE, W.seeds.crossing = 4);
    BAD_SEEDS(DST_ERROR_CHOICE, W.seeds.crossing = -1);
    /* The tangent mode does not support a window. */
    BAD_SEEDS(DST_ERROR_CHOICE, (W.options.mode = DST_TANGENT, W.seeds.window = 3));
    BAD(DST_ERROR_CHOICE, W.options.mode = 3);
    BAD(DST_ERROR_CHOICE, W.options.mode = INT32_MIN);
    /* A struct of zeros has no valid step size. */
    BAD(DST_ERROR_STEP_SIZE, (memset(&W.options, 0, sizeof W.options), W.options.slots = 1));
}

static void OWN(overlaps)(void)
{
    void *inside = W.workspace;
    BAD(DST_ERROR_OVERLAP, W.problem.abort_code = (int *)(void *)W.theta);
    OWN(reset)();
    W.result.theta_gradient = W.theta;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    W.result.theta_gradient = W.x0;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    W.result.theta_gradient = inside;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    W.result.theta_gradient = W.state;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    W.result.theta_gradient = &W.options.epsilon;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    OWN(reset)();
    W.result.x0_gradient = W.x0;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    OWN(reset)();
    W.result.state = &W.result.time;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
    OWN(reset)();
    memcpy(W.workspace, &W.result, sizeof W.result);
    REFUSED(DST_ERROR_OVERLAP,
            DST(sensitivity)(&W.problem, &W.options, W.theta, W.x0, NULL, W.workspace, sizeof W.workspace, inside));
    OWN(reset)();
    memcpy(W.workspace, W.theta, sizeof W.theta);
    REFUSED(DST_ERROR_OVERLAP,
            DST(sensitivity)(&W.problem, &W.options, inside, W.x0, NULL, W.workspace, sizeof W.workspace, &W.result));
    REFUSED(DST_ERROR_OVERLAP,
            DST(run_init)(&W.problem, &W.options, inside, W.x0, W.workspace, sizeof W.workspace, &W.run));
    REFUSED(DST_ERROR_OVERLAP,
            DST(ola_init)(&W.objective, &W.ola_options, inside, W.workspace, sizeof W.workspace, &W.ola));
    REFUSED(DST_ERROR_OVERLAP,
            DST(window_init)(&W.objective, &W.ola_options, inside, W.workspace, sizeof W.workspace, &W.window));
    OWN(reset)();
    memcpy(W.workspace, &W.problem, sizeof W.problem);
    REFUSED(DST_ERROR_OVERLAP,
            DST(run_init)(inside, &W.options, W.theta, W.x0, W.workspace, sizeof W.workspace, &W.run));
    REFUSED(DST_ERROR_OVERLAP, DST(run_init)(&W.problem, &W.options, W.theta, W.x0, W.workspace,
                                             sizeof W.workspace, inside));
    OWN(reset)();
    CHECK(INIT() == DST_OK);
    REFUSED(DST_ERROR_OVERLAP, DST(run_advance)(W.run, 1, inside));
    REFUSED(DST_ERROR_OVERLAP, DST(run_iterate)(W.run, inside));
    CHECK(DST(run_advance)(W.run, SIZE_MAX, &W.progress) == DST_OK);
    REFUSED(DST_ERROR_OVERLAP, DST(gradient_advance)(W.run, &W.seeds, 1, inside));
    REFUSED(DST_ERROR_OVERLAP, DST(gradient_advance)(W.run, &W.seeds, 1, &W.seeds.window));
    CHECK(DST(gradient_advance)(W.run, &W.seeds, SIZE_MAX, &W.remaining) == DST_OK);
    REFUSED(DST_ERROR_OVERLAP, DST(gradient_read)(W.run, inside));
    W.result.theta_gradient = inside;
    REFUSED(DST_ERROR_OVERLAP, DST(gradient_read)(W.run, &W.result));
    W.result.theta_gradient = W.theta_gradient;
    CHECK(DST(gradient_read)(W.run, &W.result) == DST_OK);
    OWN(reset)();
    W.result.theta_gradient = &W.seeds.time_weight;
    REFUSED(DST_ERROR_OVERLAP, ONE_SHOT());
}

static void OWN(order)(void)
{
    /* The workspace was never initialised. */
    OWN(reset)();
    W.run = (void *)W.workspace;
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(run_advance)(W.run, 1, &W.progress));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(run_iterate)(W.run, &W.iterate));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(gradient_advance)(W.run, NULL, 1, &W.remaining));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(gradient_read)(W.run, &W.result));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(ola_advance)((void *)W.workspace, 1, &W.progress));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(ola_read)((void *)W.workspace, &W.ola_state));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(window_advance)((void *)W.workspace, 1, &W.report));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(window_read)((void *)W.workspace, &W.ola_state));

    /* A run is neither an ola nor a window. */
    CHECK(INIT() == DST_OK);
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(ola_advance)((void *)W.run, 1, &W.progress));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(window_advance)((void *)W.run, 1, &W.report));

    /* A gradient before the stop, or before any step, is rejected, and the run can continue. */
    REFUSED(DST_ERROR_NOT_STOPPED, DST(gradient_advance)(W.run, NULL, 1, &W.remaining));
    REFUSED(DST_ERROR_ORDER, DST(gradient_read)(W.run, &W.result));
    CHECK(DST(run_advance)(W.run, 1, &W.progress) == DST_OK && W.progress == DST_RUNNING);
    REFUSED(DST_ERROR_NOT_STOPPED, DST(gradient_advance)(W.run, NULL, 1, &W.remaining));
    CHECK(DST(run_advance)(W.run, SIZE_MAX, &W.progress) == DST_OK && W.progress == DST_REACHED);
    REFUSED(DST_ERROR_ORDER, DST(gradient_read)(W.run, &W.result));
    CHECK(DST(gradient_advance)(W.run, NULL, 1, &W.remaining) == DST_OK && W.remaining > 1);
    REFUSED(DST_ERROR_ORDER, DST(gradient_read)(W.run, &W.result));
    REFUSED(DST_ERROR_ORDER, DST(run_advance)(W.run, 1, &W.progress));
    /* After a first passage x_N is the best iterate, and remains available. */
    CHECK(DST(run_iterate)(W.run, &W.iterate) == DST_OK && W.iterate.criterion <= W.options.epsilon);
    CHECK(DST(gradient_advance)(W.run, NULL, SIZE_MAX, &W.remaining) == DST_OK && W.remaining == 0);
    CHECK(DST(gradient_read)(W.run, &W.result) == DST_OK && W.theta_gradient[0] < 0);
    REFUSED(DST_OK, DST(gradient_read)(W.run, &W.result));
    REFUSED(DST_ERROR_ORDER, DST(run_advance)(W.run, 1, &W.progress));
    /* A further sweep has begun, so the result of the previous one is lost. */
    CHECK(DST(gradient_advance)(W.run, NULL, 1, &W.remaining) == DST_OK && W.remaining > 0);
    REFUSED(DST_ERROR_ORDER, DST(gradient_read)(W.run, &W.result));

    /* A reset during a callback leaves a seal that only dst_workspace_clear removes. */
    OWN(reset)();
    CHECK(INIT() == DST_OK);
    T.at = 1;
    T.code = 1;
    CHECK(DST(run_advance)(W.run, 1, &W.progress) == DST_ABORTED);
    memcpy(W.workspace, T.seal, sizeof T.seal);
    REFUSED(DST_ERROR_BUSY, INIT());
    REFUSED(DST_ERROR_BUSY, ONE_SHOT());
    REFUSED(DST_ERROR_BUSY, OLA_INIT());
    REFUSED(DST_ERROR_BUSY, WINDOW_INIT());
    REFUSED(DST_ERROR_BUSY, DST(run_iterate)(W.run, &W.iterate));
    dst_workspace_clear(W.workspace);
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(run_iterate)(W.run, &W.iterate));
    T.at = 0;
    CHECK(ONE_SHOT() == DST_OK);

    /* The step limit comes first. */
    OWN(reset)();
    W.options.max_steps = 2;
    FAILED(DST_ERROR_NOT_STOPPED, ONE_SHOT());
    W.options.max_steps = 0;
    FAILED(DST_ERROR_NOT_STOPPED, ONE_SHOT());
    /* N = 0: no step to differentiate. */
    OWN(reset)();
    W.options.epsilon = 2;
    FAILED(DST_ERROR_STOPPED_AT_START, ONE_SHOT());
    /* The derivative of the required kind is missing; the run is still valid. */
    OWN(reset)();
    W.problem.pullback = NULL;
    W.options.mode = DST_ADJOINT;
    FAILED(DST_ERROR_NO_PULLBACK, ONE_SHOT());
    CHECK(DST(run_iterate)((void *)W.workspace, &W.iterate) == DST_OK);
    OWN(reset)();
    W.problem.pushforward = NULL;
    W.options.mode = DST_TANGENT;
    FAILED(DST_ERROR_NO_PUSHFORWARD, ONE_SHOT());
    OWN(reset)();
    W.problem.pullback = NULL;
    W.problem.pushforward = NULL;
    FAILED(DST_ERROR_NO_PULLBACK, ONE_SHOT());
    /* J falls by only a few units in the last place. */
    OWN(reset)();
    W.theta[0] = 4 * REAL_EPSILON;
    W.options.step = 1;
    W.options.epsilon = 1 - 4 * REAL_EPSILON;
    FAILED(DST_ERROR_FLAT_CROSSING, ONE_SHOT());
    /* The run itself is valid, and f has a gradient. */
    W.run = (void *)W.workspace;
    REFUSED(DST_ERROR_ORDER, DST(run_advance)(W.run, 1, &W.progress));
    W.seeds.time_weight = 0;
    W.seeds.loss_weight = 1;
    CHECK(DST(gradient_advance)(W.run, &W.seeds, SIZE_MAX, &W.remaining) == DST_OK);
    CHECK(DST(gradient_read)(W.run, &W.result) == DST_OK && W.theta_gradient[0] < 0);
}

/* A callback fails at each of its calls in turn: with a code, or with unwritten or NaN results. */
static void OWN(callbacks)(void)
{
    static const int32_t integrators[] = { DST_EULER, DST_HEUN, DST_RK4, DST_MAP };
    for (int choice = 0; choice < 4; choice++)
        for (int which = 0; which < 3; which++)
            for (size_t at = 1; at <= 7; at += 3)
                for (int code = -7; code <= 0; code += 7) {
                    dst_status expected;
                    OWN(reset)();
                    T.which = which;
                    T.at = at;
                    T.code = code;
                    OWN(choose)(integrators[choice]);
                    W.options.mode = which == 2 ? DST_TANGENT : DST_ADJOINT;
                    OWN(before) = W;
                    if (code != 0) {
                        expected = DST_ABORTED;
                        OWN(before).abort_code = code;
                    } else if (which == 0) {
                        /* A missing criterion is detected, except in intermediate stages. */
                        expected = DST_ERROR_NON_FINITE;
                    } else {
                        expected = DST_ERROR_NON_FINITE_GRADIENT;
                    }
                    dst_status status = ONE_SHOT();
                    /* If the first pullback is wrong, there is no slope at the crossing. */
                    CHECK(status == expected
                          || (code == 0 && which == 1 && at == 1 && status == DST_ERROR_FLAT_CROSSING));
                    memcpy(OWN(before).workspace, W.workspace, sizeof W.workspace);
                    CHECK(same_bytes(&OWN(before), &W, sizeof W));
                    /* No callback is called after an abort. */
                    CHECK(code == 0 || T.calls[which] == at);
                }

    /* Nor is the weight called after an abort; and the best iterate matches its J. */
    for (int which = 0; which < 3; which++)
        for (size_t at = 1; at <= 7; at++) {
            OWN(reset)();
            T.which = which;
            T.at = at;
            T.code = 9;
            W.seeds.weight = OWN(weight);
            W.seeds.loss_weight = 1;
            W.options.mode = which == 2 ? DST_TANGENT : DST_ADJOINT;
            CHECK(ONE_SHOT() == DST_ABORTED && W.abort_code == 9 && T.calls[which] == at);
            CHECK(T.weighed_late == 0 && (T.weighed > 0 || which == 0 || at == 1));
            if (which == 0 && at > 1) {
                OWN(reset)();
                T.at = at;
                T.code = 9;
                CHECK(INIT() == DST_OK && DST(run_advance)(W.run, SIZE_MAX, &W.progress) == DST_ABORTED);
                CHECK(DST(run_iterate)(W.run, &W.iterate) == DST_OK && W.iterate.best[0] == W.iterate.best_criterion);
            }
        }
    /* The weight itself aborts. */
    for (int mode = DST_ADJOINT; mode <= DST_TANGENT; mode++)
        for (size_t at = 1; at <= 5; at += 2) {
            OWN(reset)();
            T.weight_at = at;
            T.code = 11;
            W.seeds.weight = OWN(weight);
            W.options.mode = mode;
            CHECK(ONE_SHOT() == DST_ABORTED && W.abort_code == 11 && T.weighed == at);
        }

    /* Run in small budgets: the abort is final, and the best iterate remains available. */
    OWN(reset)();
    T.at = 4;
    T.code = 42;
    CHECK(INIT() == DST_OK);
    CHECK(DST(run_advance)(W.run, 2, &W.progress) == DST_OK);
    FAILED(DST_ABORTED, (W.abort_code = OWN(before).abort_code = 42, DST(run_advance)(W.run, 5, &W.progress)));
    CHECK(DST(run_advance)(W.run, 5, &W.progress) == DST_ABORTED && T.calls[0] == 4);
    CHECK(DST(run_iterate)(W.run, &W.iterate) == DST_OK && W.iterate.best_criterion < 1);
    CHECK(DST(gradient_advance)(W.run, NULL, 1, &W.remaining) == DST_ABORTED);
    /* The same for a gradient in small budgets. */
    OWN(reset)();
    T.which = 1;
    T.at = 3;
    T.code = 43;
    W.options.mode = DST_ADJOINT;
    CHECK(INIT() == DST_OK && DST(run_advance)(W.run, SIZE_MAX, &W.progress) == DST_OK);
    CHECK(DST(gradient_advance)(W.run, NULL, 1, &W.remaining) == DST_OK);
    CHECK(DST(gradient_advance)(W.run, NULL, 9, &W.remaining) == DST_ABORTED && W.abort_code == 43);
    CHECK(DST(gradient_advance)(W.run, NULL, 9, &W.remaining) == DST_ABORTED && T.calls[1] == 3);
    CHECK(DST(gradient_read)(W.run, &W.result) != DST_OK);

    /* Adaptive runs. */
    OWN(reset)();
    T.at = 1;
    T.code = 5;
    FAILED(DST_ABORTED, (W.abort_code = OWN(before).abort_code = 5, OLA_INIT()));
    REFUSED(DST_ERROR_NOT_INITIALISED, DST(ola_advance)((void *)W.workspace, 1, &W.progress));
    OWN(reset)();
    T.at = 3;
    T.code = 6;
    CHECK(OLA_INIT() == DST_OK);
    CHECK(DST(ola_advance)(W.ola, 9, &W.progress) == DST_ABORTED && W.abort_code == 6 && T.calls[0] == 3);
    CHECK(DST(ola_advance)(W.ola, 9, &W.progress) == DST_ABORTED && T.calls[0] == 3);
    OWN(reset)();
    T.at = 3;
    CHECK(OLA_INIT() == DST_OK && DST(ola_advance)(W.ola, 9, &W.progress) == DST_ERROR_NON_FINITE);
    CHECK(DST(ola_advance)(W.ola, 9, &W.progress) == DST_ERROR_NON_FINITE);
    OWN(reset)();
    T.which = 1;
    T.at = 1;
    T.code = 8;
    CHECK(WINDOW_INIT() == DST_OK);
    CHECK(DST(window_advance)(W.window, 100, &W.report) == DST_ABORTED && W.abort_code == 8);
    CHECK(DST(window_advance)(W.window, 100, &W.report) == DST_ABORTED && T.calls[1] == 1);
    /* A failed window has no effect. */
    OWN(reset)();
    T.at = 2;
    CHECK(WINDOW_INIT() == DST_OK);
    CHECK(DST(window_advance)(W.window, 100, &W.report) == DST_ERROR_NON_FINITE);
    CHECK(DST(window_read)(W.window, &W.ola_state) == DST_OK && W.ola_state.iterations == 0);
    CHECK(W.ola_state.x[0] == 1 && W.ola_state.alpha == (REAL)0.01);
    T.at = 0;
    CHECK(DST(window_advance)(W.window, 100, &W.report) == DST_OK && W.report.outcome == DST_WINDOW_ADAPTED);
}

/* Calls any function of this precision, by number, on this workspace, with otherwise valid arguments. Outputs are left
 * unchanged. */
static dst_status OWN(call)(unsigned which, void *workspace, size_t size)
{
    static const REAL numbers[2] = { 1, 1 };
    DST(options) options = DST(options_default)((REAL)0.125, (REAL)0.5);
    DST(ola_options) ola_options = DST(ola_options_default)((REAL)0.01, (REAL)1e-3, (REAL)1e-3);
    DST(result) result = { .theta_gradient = NULL };
    DST(iterate) iterate = { .steps = 77 };
    DST(ola_state) state = { .iterations = 77 };
    DST(window_report) report = { .steps = 77 };
    int32_t progress = 77;
    size_t remaining = 77;
    void *handle = &remaining;
    dst_status status;
    result.steps = 77;
    switch (which % CALLS) {
    case 0:
        status = DST(run_init)(&W.problem, &options, numbers, numbers, workspace, size, (void *)&handle);
        break;
    case 1:
        status = DST(sensitivity)(&W.problem, &options, numbers, numbers, NULL, workspace, size, &result);
        break;
    case 2:
        status = DST(run_advance)(workspace, 1, &progress);
        break;
    case 3:
        status = DST(run_iterate)(workspace, &iterate);
        break;
    case 4:
        status = DST(gradient_advance)(workspace, NULL, 1, &remaining);
        break;
    case 5:
        status = DST(gradient_read)(workspace, &result);
        break;
    case 6:
        status = DST(ola_init)(&W.objective, &ola_options, numbers, workspace, size, (void *)&handle);
        break;
    case 7:
        status = DST(ola_advance)(workspace, 1, &progress);
        break;
    case 8:
        status = DST(ola_read)(workspace, &state);
        break;
    case 9:
        status = DST(window_init)(&W.objective, &ola_options, numbers, workspace, size, (void *)&handle);
        break;
    case 10:
        status = DST(window_advance)(workspace, 1, &report);
        break;
    default:
        status = DST(window_read)(workspace, &state);
    }
    CHECK(handle == &remaining && progress == 77 && remaining == 77 && result.steps == 77);
    CHECK(iterate.steps == 77 && state.iterations == 77 && report.steps == 77);
    return status;
}

/* Calls a function of either precision on the workspace of the current call. */
static void OWN(reenter)(OWN(trouble) * trouble)
{
    unsigned which;
    dst_status status;
    if (!trouble->reenters)
        return;
    which = next_random();
    status = which & 64 ? call_f32(which >> 8, W.workspace, sizeof W.workspace)
                        : call_f64(which >> 8, W.workspace, sizeof W.workspace);
    trouble->entered++;
    trouble->refused += status == DST_ERROR_BUSY;
}

/* Runs with callbacks that interfere have the same bits as undisturbed runs. */
static void OWN(reentry)(void)
{
    size_t entered = 0;
    for (unsigned round = 0; entered < 1000; round++) {
        REAL numbers[2][2];
        for (int disturbed = 0; disturbed < 2; disturbed++) {
            OWN(reset)();
            T.reenters = disturbed;
            OWN(choose)(round % 7 == 3 ? DST_MAP : (int32_t)(round % 3));
            W.options.mode = round & 1 ? DST_ADJOINT : DST_TANGENT;
            W.options.slots = 1 + round % 5;
            W.seeds.weight = OWN(weight);
            if (round % 4 == 0) {
                CHECK(OLA_INIT() == DST_OK && DST(ola_advance)(W.ola, 20, &W.progress) == DST_OK);
                CHECK(DST(ola_read)(W.ola, &W.ola_state) == DST_OK);
            } else if (round % 4 == 1) {
                CHECK(WINDOW_INIT() == DST_OK && DST(window_advance)(W.window, 20, &W.report) == DST_OK);
                CHECK(DST(window_read)(W.window, &W.ola_state) == DST_OK);
            } else {
                CHECK(ONE_SHOT() == DST_OK);
            }
            numbers[disturbed][0] = round % 4 < 2 ? W.ola_state.alpha : W.theta_gradient[0];
            numbers[disturbed][1] = round % 4 < 2 ? W.ola_state.x[0] : W.x0_gradient[0];
        }
        CHECK(memcmp(numbers[0], numbers[1], sizeof numbers[0]) == 0 && numbers[0][0] != 0);
        CHECK(T.entered > 0 && T.refused == T.entered);
        entered += T.entered;
    }
}

static void OWN(all)(void)
{
    OWN(null_pointers)();
    OWN(sizes)();
    OWN(alignment)();
    OWN(numbers)();
    OWN(overlaps)();
    OWN(order)();
    OWN(callbacks)();
    OWN(reentry)();
}

#undef W
#undef T
#undef REFUSED
#undef FAILED
#undef ONE_SHOT
#undef INIT
#undef OLA_INIT
#undef WINDOW_INIT
#undef BAD
#undef BAD_SEEDS
#undef BAD_OLA
