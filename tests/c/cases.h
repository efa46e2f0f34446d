/* Known answers for one precision. Every case prints its numbers as bits, one line each:
 *
 *     case f64 decay euler paper adjoint: 81 <T> <T in steps> <dT/depsilon> <dtheta...> <dx0...> <x_N...>
 *
 * xtask compares them with the results of dst-core in Rust, and the lines of a microcontroller with those of this machine. */

static uint64_t OWN(workspace)[1024], OWN(workspace_pollable)[1024];

/* Case and its outputs. */
typedef struct {
    const char *model;
    DST(problem) problem;
    DST(options) options;
    DST(seeds) seeds;
    REAL theta[1], x0[2];
    REAL theta_gradient[1], x0_gradient[2], state[2];
    DST(result) result;
} OWN(scene);

static void OWN(aim)(OWN(scene) * s)
{
    memset(&s->result, 0, sizeof s->result);
    s->result.theta_gradient = s->theta_gradient;
    s->result.x0_gradient = s->x0_gradient;
    s->result.state = s->state;
}

static dst_status OWN(one_shot)(OWN(scene) * s)
{
    OWN(aim)(s);
    memset(s->problem.user, 0, sizeof(OWN(calls)));
    return DST(sensitivity)(&s->problem, &s->options, s->theta, s->x0, &s->seeds, OWN(workspace),
                            sizeof OWN(workspace), &s->result);
}

/* Makes a sweep in small budgets over a run that has stopped, and reads its result. */
static int OWN(sweep)(DST(run) * run, OWN(scene) * s)
{
    size_t remaining = 1, ticks = 0;
    memset(s->theta_gradient, 0, sizeof s->theta_gradient);
    memset(s->x0_gradient, 0, sizeof s->x0_gradient);
    memset(s->state, 0, sizeof s->state);
    OWN(aim)(s);
    while (remaining > 0 && ++ticks < 100000)
        if (!CHECK(DST(gradient_advance)(run, &s->seeds, 5, &remaining) == DST_OK))
            return 0;
    return CHECK(DST(gradient_read)(run, &s->result) == DST_OK);
}

/* True if all bits are the same, except the counts of evaluations. */
static int OWN(same)(const OWN(scene) * a, const OWN(scene) * b)
{
    const size_t states = a->problem.state_dim * sizeof(REAL);
    const size_t numbers = offsetof(DST(result), transversality) + sizeof(REAL) - offsetof(DST(result), steps);
    return memcmp(a->theta_gradient, b->theta_gradient, sizeof a->theta_gradient) == 0
           && memcmp(a->x0_gradient, b->x0_gradient, states) == 0 && memcmp(a->state, b->state, states) == 0
           && memcmp(&a->result.steps, &b->result.steps, numbers) == 0;
}

/* Runs the case in one call and again in small budgets, and checks that the bits are the same. Then computes another gradient
 * over the same run, and the first one again. Returns true if there is a result. */
static int OWN(solve)(OWN(scene) * s)
{
    OWN(calls) *calls = s->problem.user;
    OWN(scene) portions = *s, other, fresh;
    DST(run) *run = NULL;
    DST(iterate) iterate;
    int32_t progress = DST_RUNNING;
    dst_status status;

    if (!CHECK(DST(workspace_size)(&s->problem, &s->options) <= sizeof OWN(workspace)))
        return 0;
    status = OWN(one_shot)(s);
    if (!CHECK(status == DST_OK)) {
        put(dst_status_message(status));
        put("\n");
        return 0;
    }
    CHECK(s->result.rate_evaluations == calls->rates);
    CHECK(s->result.pullbacks == calls->pullbacks);
    CHECK(s->result.pushforwards == calls->pushforwards);

    CHECK(DST(run_init)(&s->problem, &s->options, s->theta, s->x0, OWN(workspace_pollable),
                        sizeof OWN(workspace_pollable), &run) == DST_OK);
    while (progress == DST_RUNNING) {
        if (!CHECK(DST(run_advance)(run, 7, &progress) == DST_OK))
            return 0;
        CHECK(DST(run_iterate)(run, &iterate) == DST_OK);
        CHECK(iterate.best_criterion <= iterate.criterion);
    }
    CHECK((s->seeds.time_weight == 0 ? iterate.steps : iterate.entry) == s->result.steps);
    if (!OWN(sweep)(run, &portions))
        return 0;
    CHECK(OWN(same)(&portions, s) && portions.result.rate_evaluations == s->result.rate_evaluations);

    other = *s;
    other.seeds.time_weight *= 3;
    other.seeds.criterion_weight = 1;
    other.seeds.loss_weight = (REAL)0.5;
    fresh = other;
    if (OWN(sweep)(run, &other) && CHECK(OWN(one_shot)(&fresh) == DST_OK))
        CHECK(OWN(same)(&other, &fresh) && !OWN(same)(&other, s));
    if (OWN(sweep)(run, &portions))
        CHECK(OWN(same)(&portions, s));
    return 1;
}

static void OWN(print)(const OWN(scene) * s, const char *words)
{
    put("case " SUFFIX " ");
    put(s->model);
    put(" ");
    put(words);
    put(": ");
    put_unsigned(s->result.steps);
    OWN(put_bits)(s->result.time);
    OWN(put_bits)(s->result.steps_interpolated);
    OWN(put_bits)(s->result.epsilon_gradient);
    OWN(put_bits)(s->theta_gradient[0]);
    for (size_t i = 0; i < s->problem.state_dim; i++)
        OWN(put_bits)(s->x0_gradient[i]);
    for (size_t i = 0; i < s->problem.state_dim; i++)
        OWN(put_bits)(s->state[i]);
    put("\n");
}

static OWN(scene) OWN(decay_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "decay", .theta = { (REAL)1.3 }, .x0 = { 2 } };
    s.problem = OWN(decay)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_default)((REAL)0.07, (REAL)1e-3);
    return s;
}

static OWN(scene) OWN(figure1_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "figure1", .theta = { (REAL)0.7 }, .x0 = { 1, 1 } };
    s.problem = OWN(figure1)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_default)((REAL)0.05, (REAL)1e-2);
    return s;
}

static OWN(scene) OWN(ball_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "ball", .theta = { 8 }, .x0 = { 3, 0 } };
    s.problem = OWN(ball)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_default)((REAL)0.01, 0);
    return s;
}

/* Must stay below epsilon to the end of its horizon. */
static OWN(scene) OWN(swing_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "swing", .theta = { (REAL)0.8 }, .x0 = { 1, 0 } };
    s.problem = OWN(swing)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_default)((REAL)0.01, (REAL)0.04);
    s.options.max_steps = 1000;
    s.options.staying = SIZE_MAX;
    return s;
}

static OWN(scene) OWN(chase_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "chase", .theta = { (REAL)0.5 }, .x0 = { 2 } };
    s.problem = OWN(chase)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_default)((REAL)0.05, 0);
    return s;
}

/* Maps: the same engine without a rate and without a step size. */
static OWN(scene) OWN(relax_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "relax", .theta = { (REAL)0.8 }, .x0 = { 1, 1 } };
    s.problem = OWN(relax)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_map)(0);
    return s;
}

static OWN(scene) OWN(spiral_scene)(OWN(calls) *calls)
{
    OWN(scene) s = { .model = "spiral", .theta = { (REAL)0.95 }, .x0 = { 1, 0 } };
    s.problem = OWN(spiral)(calls);
    s.seeds = DST(seeds_default)();
    s.options = DST(options_map)((REAL)0.01);
    s.options.max_steps = 200;
    s.options.staying = SIZE_MAX;
    return s;
}

/* Every integrator, crossing and mode; for a map, only DST_MAP. With the adjoint, other slots and kept records give the same bits. */
static void OWN(grid)(OWN(scene) s)
{
    static const char *const integrators[] = { "euler", "heun", "rk4", "symplectic", "map" };
    static const char *const crossings[] = { "paper", "interpolated", "slope", "hermite" };
    static const char *const modes[] = { "auto", "adjoint", "tangent" };
    const int32_t last = s.options.integrator == DST_MAP       ? DST_MAP
                         : strcmp(s.model, "ball") == 0 ? DST_SYMPLECTIC
                                                        : DST_RK4;
    for (; s.options.integrator <= last; s.options.integrator++)
        for (s.seeds.crossing = DST_PAPER; s.seeds.crossing <= DST_HERMITE; s.seeds.crossing++)
            for (s.options.mode = DST_ADJOINT; s.options.mode <= DST_TANGENT; s.options.mode++) {
                char words[40];
                OWN(scene) other = s;
                strcpy(words, integrators[s.options.integrator]);
                strcat(strcat(words, " "), crossings[s.seeds.crossing]);
                strcat(strcat(words, " "), modes[s.options.mode]);
                if (!OWN(solve)(&s))
                    continue;
                OWN(print)(&s, words);
                other.options.slots = 3;
                other.options.keep_records = 1;
                if (OWN(solve)(&other))
                    CHECK(OWN(same)(&other, &s));
            }
}

/* N* of Euler on the decay, and its derivative, in closed form: x_n = x0*(1 - h*theta)^n. */
static void OWN(decay_closed_form)(OWN(scene) s)
{
    double q = 1 - (double)s.options.step * (double)s.theta[0], x0 = (double)s.x0[0];
    double epsilon = (double)s.options.epsilon, h = (double)s.options.step;
    double before = x0, after = x0, alpha, slope, tolerance = PRECISION == 64 ? 1e-11 : 1e-3;
    int n = 0;
    for (; after > epsilon; n++) {
        before = after;
        after *= q;
    }
    alpha = (before - epsilon) / (before - after);
    slope = -h * ((1 - alpha) * (n - 1) * before + alpha * n * after) / q / (before - after);
    s.options.mode = DST_ADJOINT;
    if (OWN(solve)(&s)) {
        CHECK(s.result.steps == (size_t)n);
        CHECK(close_to((double)s.result.steps_interpolated, n - 1 + alpha, tolerance));
        CHECK(close_to((double)s.theta_gradient[0] / h, slope, tolerance));
        CHECK(s.result.transversality > (REAL)0.9 && s.result.rounding > 1000);
    }
    /* Without theta_gradient or the other vectors, the remaining results are the same. */
    {
        DST(result) bare = { .theta_gradient = NULL };
        CHECK(DST(sensitivity)(&s.problem, &s.options, s.theta, s.x0, NULL, OWN(workspace), sizeof OWN(workspace),
                               &bare) == DST_OK);
        CHECK(bare.steps == s.result.steps && bare.time == s.result.time);
    }
    /* DST_AUTO uses the mode that is available. */
    s.options.mode = DST_AUTO;
    s.problem.pullback = NULL;
    CHECK(OWN(solve)(&s) && s.result.pullbacks == 0 && s.result.pushforwards > 0);
    s.problem = OWN(decay)(s.problem.user);
    s.problem.pushforward = NULL;
    CHECK(OWN(solve)(&s) && s.result.pullbacks > 0 && s.result.pushforwards == 0);
}

/* Definition 3 of the paper, by hand, on its Figure 1: x_n = ((1 - h)^n, (1 - 4*h*theta)^n). */
static void OWN(figure1_definition_3)(OWN(scene) s)
{
    double h = (double)s.options.step, p = 1 - h, q = 1 - 4 * h * (double)s.theta[0];
    double x1 = 1, x2 = 1, j = 17, j_before = 17, sensitivity;
    int n = 0;
    for (; j > (double)s.options.epsilon; n++) {
        x1 *= p;
        x2 *= q;
        j_before = j;
        j = x1 * x1 + 16 * x2 * x2;
    }
    sensitivity = 16 * 2 * n * x2 * x2 / q * (-4 * h);
    s.seeds.crossing = DST_PAPER;
    if (OWN(solve)(&s)) {
        CHECK(s.result.steps == (size_t)n && s.result.steps_interpolated == (REAL)n);
        CHECK(close_to((double)s.theta_gradient[0], -h * sensitivity / (j - j_before), PRECISION == 64 ? 1e-12 : 1e-3));
    }
}

/* J is quadratic in time, so RK4 and the cubic are exact. */
static void OWN(ball_exact)(OWN(scene) s)
{
    double tolerance = PRECISION == 64 ? 1e-9 : 1e-4;
    s.options.integrator = DST_RK4;
    s.seeds.crossing = DST_HERMITE;
    if (OWN(solve)(&s)) {
        CHECK(close_to((double)s.result.time, 0.86602540378443865, tolerance));
        CHECK(close_to((double)s.x0_gradient[0], 0.14433756729740643, tolerance));
        CHECK(close_to((double)s.theta_gradient[0], -0.86602540378443865 / 16, tolerance));
    }
}

static int OWN(falling_weight)(void *user, size_t step, REAL *criterion_weight, REAL *loss_weight)
{
    *(size_t *)user += 1;
    CHECK(*criterion_weight == 0 && *loss_weight == 7);
    *loss_weight = 1 / (1 + (REAL)step);
    return 0;
}

/* sum_k w_k*f(x_k) + mu*T */
static void OWN(weighted)(OWN(scene) s)
{
    static const char *const words[][3] = { { "uniform auto", "uniform adjoint", "uniform tangent" },
                                            { "falling auto", "falling adjoint", "falling tangent" },
                                            { "limit auto", "limit adjoint", "limit tangent" } };
    for (int kind = 0; kind < 3; kind++)
        for (s.options.mode = DST_ADJOINT; s.options.mode <= DST_TANGENT; s.options.mode++) {
            size_t asked = 0;
            s.seeds.loss_weight = kind == 1 ? 7 : (REAL)0.1;
            s.seeds.weight = kind == 1 ? OWN(falling_weight) : NULL;
            s.seeds.user = &asked;
            s.seeds.time_weight = kind == 2 ? 0 : 2;
            s.options.max_steps = kind == 2 ? 40 : 10000;
            if (kind == 1) {
                CHECK(OWN(one_shot)(&s) == DST_OK && asked > s.result.steps);
                OWN(print)(&s, words[kind][s.options.mode]);
            } else if (OWN(solve)(&s)) {
                OWN(print)(&s, words[kind][s.options.mode]);
                /* Without a weight on the stop there is no stopping time. */
                CHECK((s.result.time != s.result.time) == (kind == 2));
            }
        }
}

/* One run, three gradients: they add up. With a window, earlier steps have no effect. */
static void OWN(three_gradients)(OWN(scene) s)
{
    const double tolerance = PRECISION == 64 ? 1e-10 : 1e-3;
    OWN(scene) time = s, sum = s, both = s, end = s;
    DST(run) *run = NULL;
    int32_t progress = -1;
    s.options.mode = DST_ADJOINT;
    sum.seeds.time_weight = 0;
    sum.seeds.loss_weight = both.seeds.loss_weight = 1;
    CHECK(DST(run_init)(&s.problem, &s.options, s.theta, s.x0, OWN(workspace), sizeof OWN(workspace), &run) == DST_OK);
    CHECK(DST(run_advance)(run, SIZE_MAX, &progress) == DST_OK && progress == DST_REACHED);
    if (OWN(sweep)(run, &time) && OWN(sweep)(run, &sum) && OWN(sweep)(run, &both)) {
        CHECK(close_to((double)(time.theta_gradient[0] + sum.theta_gradient[0]), (double)both.theta_gradient[0], tolerance));
        CHECK(close_to((double)(time.x0_gradient[0] + sum.x0_gradient[0]), (double)both.x0_gradient[0], tolerance));
        CHECK(sum.theta_gradient[0] < 0 && sum.result.time != sum.result.time && both.result.time == time.result.time);
    }
    /* Window of one step: dT/dx_{N-1} is of the order of 1/slope, and theta acts once. */
    end.seeds.window = 1;
    if (OWN(sweep)(run, &end))
        CHECK(end.theta_gradient[0] < 0 && end.theta_gradient[0] > time.theta_gradient[0] / 5);
    end.seeds.window = SIZE_MAX;
    if (OWN(sweep)(run, &end))
        CHECK(OWN(same)(&end, &time));
}

/* Settling, not first passage: T is the last entry, and the gradient is that of the last entry. */
static void OWN(settling)(OWN(scene) s)
{
    const double step = 1e-6;
    OWN(scene) passing = s, staying = s, near[2];
    DST(run) *run = NULL;
    DST(iterate) iterate;
    int32_t progress = -1;
    size_t entries = 0, entry = SIZE_MAX, remaining = 7;
    REAL above = 0;

    passing.options.staying = 0;
    CHECK(OWN(one_shot)(&passing) == DST_OK && OWN(one_shot)(&s) == DST_OK);
    CHECK(passing.result.time < (REAL)0.4 && s.result.time > 3);
    if (PRECISION == 64) {
        for (int i = 0; i < 2; i++) {
            near[i] = s;
            near[i].theta[0] += (REAL)(i == 0 ? -step : step);
            CHECK(OWN(one_shot)(&near[i]) == DST_OK && near[i].result.steps == s.result.steps);
        }
        CHECK(close_to((double)(near[1].result.time - near[0].result.time) / (2 * step), (double)s.theta_gradient[0],
                       1e-6));
    }
    /* A stay longer than one oscillation is equivalent to one to the end; J passes through a short one. */
    staying.options.staying = 100;
    CHECK(OWN(one_shot)(&staying) == DST_OK && OWN(same)(&staying, &s));
    CHECK(staying.result.rate_evaluations < s.result.rate_evaluations);
    staying.options.staying = 2;
    CHECK(OWN(one_shot)(&staying) == DST_OK && staying.result.time == passing.result.time);

    /* Step by step: entries and exits, as counted by the iterate. */
    CHECK(DST(run_init)(&s.problem, &s.options, s.theta, s.x0, OWN(workspace), sizeof OWN(workspace), &run) == DST_OK);
    CHECK(DST(run_advance)(run, 0, &progress) == DST_OK);
    while (progress == DST_RUNNING) {
        CHECK(DST(run_iterate)(run, &iterate) == DST_OK);
        if (iterate.criterion > s.options.epsilon)
            entry = SIZE_MAX;
        else if (entry == SIZE_MAX) {
            entry = iterate.steps;
            entries++;
        }
        CHECK(iterate.entry == entry && iterate.exits == entries - (entry != SIZE_MAX));
        if (!CHECK(DST(run_advance)(run, 1, &progress) == DST_OK))
            return;
    }
    CHECK(progress == DST_REACHED && entries > 4);
    CHECK(DST(run_iterate)(run, &iterate) == DST_OK && iterate.steps == 1000 && iterate.entry == s.result.steps);

    /* The step limit comes while J is above the band, or before the stay is complete. */
    s.options.max_steps = 78;
    CHECK(DST(run_init)(&s.problem, &s.options, s.theta, s.x0, OWN(workspace), sizeof OWN(workspace), &run) == DST_OK);
    CHECK(DST(run_advance)(run, SIZE_MAX, &progress) == DST_OK && progress == DST_NEVER_SETTLED);
    CHECK(DST(gradient_advance)(run, &s.seeds, 1, &remaining) == DST_ERROR_NOT_STOPPED && remaining == 7);
    CHECK(DST(run_iterate)(run, &iterate) == DST_OK);
    above = iterate.criterion;
    CHECK(above > s.options.epsilon && iterate.entry == SIZE_MAX && iterate.exits == 1);
    s.options.max_steps = 41;
    s.options.staying = 10;
    CHECK(DST(run_init)(&s.problem, &s.options, s.theta, s.x0, OWN(workspace), sizeof OWN(workspace), &run) == DST_OK);
    CHECK(DST(run_advance)(run, SIZE_MAX, &progress) == DST_OK && progress == DST_STEP_LIMIT);
    /* Without a stopping time, the weights can still be differentiated. */
    s.seeds.time_weight = 0;
    s.seeds.criterion_weight = 1;
    CHECK(OWN(sweep)(run, &s) && s.result.steps == 41 && s.theta_gradient[0] != 0);
}

/* x0*exp(-theta*T) = T/2 and, by the implicit function theorem, dT/dtheta = -T*x/(theta*x + 1/2). */
static void OWN(moving_target)(OWN(scene) s)
{
    const double tolerance = PRECISION == 64 ? 1e-6 : 1e-3;
    double x, time;
    s.options.integrator = DST_RK4;
    s.options.step = (REAL)0.01;
    for (s.options.mode = DST_ADJOINT; s.options.mode <= DST_TANGENT; s.options.mode++)
        for (s.seeds.crossing = DST_SLOPE; s.seeds.crossing <= DST_HERMITE; s.seeds.crossing++)
            if (OWN(solve)(&s)) {
                time = (double)s.result.time;
                x = time / 2;
                CHECK(close_to((double)s.theta_gradient[0], -time * x / ((double)s.theta[0] * x + 0.5),
                               s.seeds.crossing == DST_SLOPE ? 1e-4 : tolerance));
                CHECK(close_to((double)s.result.epsilon_gradient, -1 / ((double)s.theta[0] * x + 0.5),
                               s.seeds.crossing == DST_SLOPE ? 1e-4 : tolerance));
                /* Both terms reduce J; the tangent mode does not compute this. */
                if (s.options.mode == DST_ADJOINT)
                    CHECK(s.result.transversality == 1);
                else
                    CHECK(s.result.transversality != s.result.transversality);
            }
}

static void OWN(print_ola)(const char *words, const DST(ola_state) * state, REAL sensitivity)
{
    put("case " SUFFIX " bowl ");
    put(words);
    put(": ");
    put_unsigned(state->iterations);
    put(" ");
    put_unsigned(state->adaptations);
    OWN(put_bits)(state->value);
    OWN(put_bits)(state->alpha);
    OWN(put_bits)(sensitivity);
    for (int i = 0; i < 3; i++)
        OWN(put_bits)(state->x[i]);
    put("\n");
}

/* Adam-OLA, and the windowed adaptation, which gives the same with a window of one step. */
static void OWN(adaptation)(void)
{
    static const REAL x0[3] = { 1, (REAL)-0.7, (REAL)0.4 };
    OWN(calls) calls = { 0, 0, 0 };
    DST(objective) objective = OWN(bowl)(&calls);
    DST(ola_options) options = DST(ola_options_default)((REAL)0.01, (REAL)1e-3, (REAL)1e-3);
    DST(ola) *ola = NULL;
    DST(window) *window = NULL;
    DST(ola_state) state, windowed;
    DST(window_report) report = { DST_WINDOW_OPEN, 0, 0 };
    int32_t progress = -1;
    double tolerance = PRECISION == 64 ? 1e-9 : 1e-3;

    CHECK(DST(ola_workspace_size)(&objective, &options) <= sizeof OWN(workspace));
    CHECK(DST(ola_init)(&objective, &options, x0, OWN(workspace), sizeof OWN(workspace), &ola) == DST_OK);
    CHECK(DST(ola_advance)(ola, 1, &progress) == DST_OK && progress == DST_RUNNING);
    CHECK(DST(ola_read)(ola, &state) == DST_OK && state.iterations == 1 && calls.rates == 2);
    /* The first step of Adam has length alpha in every variable, against the sign of the gradient. */
    CHECK(close_to((double)(x0[0] - state.x[0]), 0.01, 1e-4) && close_to((double)(state.x[1] - x0[1]), 0.01, 1e-4));
    CHECK(DST(ola_advance)(ola, 99, &progress) == DST_OK);
    CHECK(DST(ola_read)(ola, &state) == DST_OK && state.iterations == 100 && state.adaptations > 3);
    CHECK(calls.rates == 101 && calls.pullbacks == 0);
    OWN(print_ola)("ola", &state, 0);
    CHECK(DST(ola_advance)(ola, 100000, &progress) == DST_OK && progress == DST_REACHED);
    CHECK(DST(ola_read)(ola, &state) == DST_OK && state.gradient_max < options.tolerance);

    /* Thresholds that grow fast enough for windows of many steps, with fewer slots than steps. */
    options = DST(ola_options_default)((REAL)0.01, (REAL)1e-5, (REAL)0.1);
    options.slots = 3;
    CHECK(DST(window_workspace_size)(&objective, &options) <= sizeof OWN(workspace_pollable));
    CHECK(DST(window_init)(&objective, &options, x0, OWN(workspace_pollable), sizeof OWN(workspace_pollable),
                           &window) == DST_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(DST(window_advance)(window, 1000, &report) == DST_OK && report.outcome == DST_WINDOW_ADAPTED);
        CHECK(DST(window_read)(window, &windowed) == DST_OK && windowed.adaptations == (size_t)i + 1);
        CHECK(report.sensitivity < 0 && (i == 0 || report.steps >= 3));
        OWN(print_ola)("window", &windowed, report.sensitivity);
    }
    CHECK(DST(window_advance)(window, 0, &report) == DST_OK && report.outcome == DST_WINDOW_OPEN);

    options = DST(ola_options_default)((REAL)0.01, (REAL)1e-3, (REAL)1e-3);
    options.window = 1;
    CHECK(DST(ola_init)(&objective, &options, x0, OWN(workspace), sizeof OWN(workspace), &ola) == DST_OK);
    CHECK(DST(window_init)(&objective, &options, x0, OWN(workspace_pollable), sizeof OWN(workspace_pollable),
                           &window) == DST_OK);
    for (int i = 0; i < 10; i++) {
        CHECK(DST(window_advance)(window, 1000, &report) == DST_OK && report.outcome == DST_WINDOW_ADAPTED);
        CHECK(DST(ola_advance)(ola, report.steps, &progress) == DST_OK);
        CHECK(DST(window_read)(window, &windowed) == DST_OK && DST(ola_read)(ola, &state) == DST_OK);
        CHECK(windowed.adaptations == state.adaptations && windowed.iterations == state.iterations);
        CHECK(close_to((double)windowed.alpha, (double)state.alpha, tolerance));
        CHECK(close_to((double)windowed.x[0], (double)state.x[0], tolerance));
    }
}

/* x_n = theta^n in closed form, and the gradient of the interpolated N*, with respect to theta and x0. */
static void OWN(map_closed_form)(OWN(scene) s)
{
    const double tolerance = PRECISION == 64 ? 1e-12 : 1e-4, epsilon = (double)(REAL)1e-3;
    double theta, before, after, alpha, slope;
    int n = 0;
    s.options = DST(options_map)((REAL)1e-3);
    s.theta[0] = (REAL)0.9;
    s.x0[0] = 2;
    theta = (double)s.theta[0];
    for (before = after = 2; after > epsilon; n++) {
        before = after;
        after *= theta;
    }
    alpha = (before - epsilon) / (before - after);
    slope = ((1 - alpha) * (n - 1) * before + alpha * n * after) / theta / (before - after);
    for (s.options.mode = DST_ADJOINT; s.options.mode <= DST_TANGENT; s.options.mode++)
        if (OWN(solve)(&s)) {
            CHECK(s.result.steps == (size_t)n && s.result.time == s.result.steps_interpolated);
            CHECK(close_to((double)s.result.time, n - 1 + alpha, tolerance));
            CHECK(close_to((double)s.theta_gradient[0], slope, tolerance * 10));
            CHECK(close_to((double)s.x0_gradient[0], epsilon / 2 / (before - after), tolerance * 10));
        }
    /* A start time shifts T, here in steps. */
    s.options.mode = DST_AUTO;
    s.options.start_time = 100;
    CHECK(OWN(one_shot)(&s) == DST_OK && close_to((double)s.result.time, 100 + n - 1 + alpha, tolerance));
}

/* Deadline before the stop: the best iterate of a run that rises and falls. */
static void OWN(deadline)(OWN(scene) s)
{
    DST(run) *run = NULL;
    DST(iterate) iterate;
    int32_t progress = -1;
    /* J rises from 3 before it falls: 10*t against 8/2*t^2. */
    s.x0[1] = 10;
    s.options.step = (REAL)0.25;
    CHECK(DST(run_init)(&s.problem, &s.options, s.theta, s.x0, OWN(workspace), sizeof OWN(workspace), &run) == DST_OK);
    CHECK(DST(run_iterate)(run, &iterate) == DST_OK && iterate.steps == 0 && iterate.criterion != iterate.criterion);
    CHECK(DST(run_advance)(run, 3, &progress) == DST_OK && progress == DST_RUNNING);
    CHECK(DST(run_iterate)(run, &iterate) == DST_OK && iterate.steps == 3);
    CHECK(iterate.best_criterion == 3 && iterate.best[0] == 3 && iterate.state[0] > 6);
    CHECK(iterate.loss == iterate.state[0] && iterate.entry == SIZE_MAX && iterate.exits == 0);
    CHECK(close_to((double)iterate.time, 0.75, 1e-12));
}

static void OWN(all)(void)
{
    OWN(calls) calls;
    OWN(grid)(OWN(decay_scene)(&calls));
    OWN(grid)(OWN(figure1_scene)(&calls));
    OWN(grid)(OWN(ball_scene)(&calls));
    OWN(grid)(OWN(swing_scene)(&calls));
    OWN(grid)(OWN(chase_scene)(&calls));
    OWN(grid)(OWN(relax_scene)(&calls));
    OWN(grid)(OWN(spiral_scene)(&calls));
    OWN(decay_closed_form)(OWN(decay_scene)(&calls));
    OWN(figure1_definition_3)(OWN(figure1_scene)(&calls));
    OWN(ball_exact)(OWN(ball_scene)(&calls));
    OWN(weighted)(OWN(figure1_scene)(&calls));
    OWN(three_gradients)(OWN(figure1_scene)(&calls));
    OWN(map_closed_form)(OWN(decay_scene)(&calls));
    OWN(settling)(OWN(swing_scene)(&calls));
    OWN(moving_target)(OWN(chase_scene)(&calls));
    OWN(deadline)(OWN(ball_scene)(&calls));
    OWN(adaptation)();
    {
        OWN(scene) s = OWN(figure1_scene)(&calls);
        put("workspace " SUFFIX ", 2 states, 1 parameter, 8 slots: ");
        put_unsigned(DST(workspace_size)(&s.problem, &s.options));
        put(" bytes\n");
    }
    CHECK(((uintptr_t)OWN(workspace) % DST(workspace_align)()) == 0);
}
