/* Calls of dst.h with random arguments, for one precision. */

/* True if the callback returns its code. */
static int OWN(due)(problem_system *s, REAL *output)
{
    int32_t progress;
    const int now = ++s->calls == s->at;
    if (s->trouble == CALLS && s->own != NULL)
        HOLDS(refused(DST(run_advance)(s->own, 1, &progress)));
    if (s->trouble == WRITES_NAN && now)
        *output = (REAL)NAN;
    return s->trouble == ABORTS && now;
}

static REAL OWN(factor)(const problem_system * s, const REAL *theta, size_t i)
{
    return s->p > 0 ? theta[i % s->p] : 1;
}

static int OWN(rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape, REAL *criterion, REAL *loss)
{
    problem_system *s = user;
    (void)t;
    *criterion = 0;
    for (size_t i = 0; i < s->n; i++) {
        rate[i] = OWN(factor)(s, theta, i) * x[i];
        *criterion += x[i] * x[i];
    }
    for (size_t i = 0; i < s->tape; i++)
        tape[i] = x[i % s->n];
    *loss = x[0];
    return OWN(due)(s, rate) ? 7 : 0;
}

static int OWN(pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape, const REAL *rate_bar,
                         REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar, REAL *t_bar)
{
    problem_system *s = user;
    (void)t, (void)tape, (void)t_bar;
    for (size_t i = 0; i < s->n; i++) {
        x_bar[i] += rate_bar[i] * OWN(factor)(s, theta, i) + 2 * criterion_bar * x[i];
        if (s->p > 0)
            theta_bar[i % s->p] += rate_bar[i] * x[i];
    }
    x_bar[0] += loss_bar;
    return OWN(due)(s, x_bar) ? 8 : 0;
}

static int OWN(pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape, const REAL *theta_dot,
                            const REAL *x_dot, REAL t_dot, REAL *rate_dot, REAL *criterion_dot, REAL *loss_dot)
{
    problem_system *s = user;
    (void)t, (void)tape, (void)t_dot;
    *criterion_dot = 0;
    for (size_t i = 0; i < s->n; i++) {
        rate_dot[i] = OWN(factor)(s, theta, i) * x_dot[i] + (s->p > 0 ? theta_dot[i % s->p] * x[i] : 0);
        *criterion_dot += 2 * x[i] * x_dot[i];
    }
    *loss_dot = x_dot[0];
    return OWN(due)(s, rate_dot) ? 9 : 0;
}

static int OWN(value)(void *user, const REAL *x, REAL *value, REAL *gradient, REAL *tape)
{
    problem_system *s = user;
    *value = 0;
    for (size_t i = 0; i < s->n; i++) {
        *value += (REAL)(i + 1) * x[i] * x[i] / 2;
        gradient[i] = (REAL)(i + 1) * x[i];
    }
    for (size_t i = 0; i < s->tape; i++)
        tape[i] = 1;
    return OWN(due)(s, value) ? 7 : 0;
}

static int OWN(hessian)(void *user, const REAL *x, const REAL *v, const REAL *tape, REAL *out)
{
    problem_system *s = user;
    (void)x, (void)tape;
    for (size_t i = 0; i < s->n; i++)
        out[i] += (REAL)(i + 1) * v[i];
    return OWN(due)(s, out) ? 8 : 0;
}

static int OWN(weight)(void *user, size_t step, REAL *criterion_weight, REAL *loss_weight)
{
    problem_system *s = user;
    *loss_weight = (REAL)(step % 3);
    return OWN(due)(s, criterion_weight) ? 5 : 0;
}

static int *OWN(abort_place)(void)
{
    const uint8_t b = byte();
    return b % 4 == 0 ? NULL : b == 255 ? (int *)((char *)abort_codes + 1) : abort_codes;
}

static DST(problem) OWN(some_problem)(problem_system * s)
{
    DST(problem) problem = { .state_dim = s->n, .param_dim = s->p, .tape_len = s->tape, .user = s };
    const uint8_t b = byte();
    problem.rate = b == 255 ? NULL : OWN(rate);
    problem.pullback = b % 16 == 14 ? NULL : OWN(pullback);
    problem.pushforward = b % 16 == 13 ? NULL : OWN(pushforward);
    problem.abort_code = OWN(abort_place)();
    return problem;
}

static DST(options) OWN(some_options)(void)
{
    DST(options) o = DST(options_default)((REAL)usual(0.1), (REAL)usual(0.01));
    if (once_in(4))
        o = DST(options_map)((REAL)usual(0.01));
    o.max_steps = byte(); /* a run that never stops is the caller's wish */
    o.staying = once_in(3) ? count() : 0;
    o.start_time = (REAL)usual(0);
    if (once_in(3))
        o.integrator = byte() % 7 - 1;
    o.mode = byte() % 4 - (once_in(8) ? 1 : 0);
    o.slots = once_in(20) ? count() : 1 + byte() % 9u;
    o.keep_records = byte() % 2;
    o.theta_only = byte() % 2;
    return o;
}

static DST(seeds) OWN(some_seeds)(problem_system * s)
{
    DST(seeds) seeds = DST(seeds_default)();
    seeds.crossing = byte() % 5;
    seeds.time_weight = (REAL)usual(1);
    seeds.criterion_weight = (REAL)usual(0);
    seeds.loss_weight = (REAL)usual(0);
    if (s != NULL && once_in(3)) {
        seeds.weight = OWN(weight);
        seeds.user = s;
    }
    if (once_in(3))
        seeds.window = count();
    return seeds;
}

/* A vector in memory of exactly its length. */
static REAL *OWN(vector)(size_t length, double base)
{
    REAL *v = malloc(length > 0 ? length * sizeof *v : 1);
    HOLDS(v != NULL);
    for (size_t i = 0; i < length; i++)
        v[i] = (REAL)usual(base);
    return v;
}

/* The system that a run in this workspace may have: vectors of its result are as long as the longest. */
static void OWN(read_gradient)(const workspace *w)
{
    REAL *theta = OWN(vector)(DIMENSION, 1), *x0 = OWN(vector)(DIMENSION, 1), *state = OWN(vector)(DIMENSION, 1);
    DST(result) result;
    dst_status status;
    memset(&result, PATTERN, sizeof result);
    result.theta_gradient = once_in(5) ? NULL : once_in(9) ? x0 : theta;
    result.x0_gradient = once_in(5) ? NULL : x0;
    result.state = once_in(5) ? NULL : once_in(9) && w->size > 64 ? (REAL *)(void *)(w->memory + 8) : state;
    status = DST(gradient_read)(handle(w), once_in(40) ? NULL : &result);
    judge(w, status);
    if (status != DST_OK)
        HOLDS(untouched(&result.steps, sizeof result - offsetof(DST(result), steps)));
    free(theta);
    free(x0);
    free(state);
}

/* Memory for an object that needs `size` bytes: as much, or less, or what is there. */
static void OWN(prepare)(workspace *w, size_t size)
{
    if (w->memory != NULL && once_in(3))
        return;
    if (size == 0 || size > 1 << 20)
        size = 64;
    renew(w, once_in(8) ? size - 1 - byte() % 64 % size : size);
}

static void OWN(begin_run)(workspace *w, int whole)
{
    problem_system *s = system_of(w);
    DST(problem) problem = OWN(some_problem)(s);
    DST(options) options = OWN(some_options)();
    REAL *theta = OWN(vector)(s->p, 1), *x0 = OWN(vector)(s->n, 1);
    dst_status status;
    OWN(prepare)(w, DST(workspace_size)(&problem, &options));
    begin(w);
    void *place = handle(w);
    const REAL *given = once_in(30) ? NULL : theta;
    if (whole == 0) {
        DST(run) *run = (void *)(uintptr_t)PATTERN;
        status = DST(run_init)(once_in(60) ? NULL : &problem, &options, given, x0, place, w->size, once_in(60) ? NULL : &run);
        HOLDS(status == DST_OK || run == (void *)(uintptr_t)PATTERN);
        HOLDS(status != DST_OK || (void *)run == place);
    } else if (whole == 1) {
        DST(seeds) seeds = OWN(some_seeds)(s);
        REAL *gradient = OWN(vector)(s->p, 0);
        DST(result) result;
        memset(&result, PATTERN, sizeof result);
        result.theta_gradient = once_in(9) ? theta : gradient;
        result.x0_gradient = result.state = NULL;
        status = DST(sensitivity)(&problem, &options, given, x0, once_in(2) ? NULL : &seeds, place, w->size, &result);
        HOLDS(status == DST_OK || untouched(&result.steps, sizeof result - offsetof(DST(result), steps)));
        free(gradient);
    } else {
        dst_mismatch mismatch;
        memset(&mismatch, PATTERN, sizeof mismatch);
        status = DST(check)(&problem, &options, given, x0, place, w->size, once_in(20) ? NULL : &mismatch);
        HOLDS(status == DST_WRONG_DERIVATIVE || untouched(&mismatch, sizeof mismatch));
    }
    judge(w, status);
    free(theta);
    free(x0);
}

/* A run and its copy: the same steps in other portions. */
static void OWN(twins)(workspace *w)
{
    int32_t progress[2] = { -1, -1 };
    DST(iterate) iterates[2];
    const size_t first = count(), second = byte();
    void *copy;
    for (int i = 0; i < WORKSPACES; i++) {
        systems[i].own = NULL;
        if (systems[i].trouble != NOTHING)
            return;
    }
    if (w->size < 16)
        return;
    copy = malloc(w->size);
    HOLDS(copy != NULL);
    memcpy(copy, w->memory, w->size);
    DST(run) *run = (void *)w->memory, *other = copy;
    const size_t sum = first > SIZE_MAX - second ? SIZE_MAX : first + second;
    dst_status status = DST(run_advance)(other, sum, &progress[1]);
    if (status == DST_OK) {
        HOLDS(DST(run_advance)(run, first, &progress[0]) == DST_OK);
        HOLDS(DST(run_advance)(run, second, &progress[0]) == DST_OK && progress[0] == progress[1]);
        status = DST(run_iterate)(other, &iterates[1]);
        HOLDS(DST(run_iterate)(run, &iterates[0]) == status);
        if (status == DST_OK) {
            HOLDS(iterates[0].steps == iterates[1].steps && iterates[0].entry == iterates[1].entry);
            HOLDS(memcmp(iterates[0].state, iterates[1].state, sizeof(REAL)) == 0);
            HOLDS(memcmp(iterates[0].best, iterates[1].best, sizeof(REAL)) == 0);
        }
    }
    free(copy);
}

static void OWN(go_on)(workspace *w)
{
    problem_system *s = w->system;
    int32_t progress = PATTERN;
    size_t remaining = PATTERN;
    DST(iterate) iterate;
    DST(seeds) seeds;
    dst_status status;
    begin(w);
    switch (byte() % 6) {
    case 0:
        status = DST(run_advance)(handle(w), count(), once_in(40) ? NULL : &progress);
        HOLDS(status == DST_OK || progress == PATTERN);
        break;
    case 1:
        memset(&iterate, PATTERN, sizeof iterate);
        status = DST(run_iterate)(handle(w), once_in(40) ? NULL : &iterate);
        HOLDS(status == DST_OK || untouched(&iterate, sizeof iterate));
        if (status == DST_OK)
            HOLDS(iterate.state[0] == iterate.state[0] || iterate.steps > 0);
        break;
    case 2:
    case 3:
        seeds = OWN(some_seeds)(s);
        status = DST(gradient_advance)(handle(w), once_in(3) ? NULL : &seeds, count(), once_in(40) ? NULL : &remaining);
        HOLDS(status == DST_OK || remaining == PATTERN);
        break;
    case 4:
        OWN(read_gradient)(w);
        return;
    default:
        OWN(twins)(w);
        return;
    }
    judge(w, status);
}

static void OWN(adapt)(workspace *w)
{
    int32_t progress = PATTERN;
    DST(ola_state) state;
    DST(window_report) report;
    dst_status status;
    const uint8_t which = byte() % 6;
    if (which < 2) {
        problem_system *s = system_of(w);
        DST(objective) f = { .dim = s->n, .tape_len = s->tape, .value_gradient = OWN(value), .hessian_vector = OWN(hessian),
                             .user = s };
        DST(ola_options) o = DST(ola_options_default)((REAL)usual(0.01), (REAL)usual(1e-3), (REAL)usual(0.1));
        REAL *x0 = OWN(vector)(s->n, 1);
        if (once_in(20))
            f.hessian_vector = NULL;
        if (once_in(40))
            f.value_gradient = NULL;
        f.abort_code = OWN(abort_place)();
        o.beta1 = (REAL)usual(0.9);
        o.tolerance = (REAL)usual(1e-4);
        o.window = once_in(2) ? count() : SIZE_MAX;
        o.slots = once_in(20) ? count() : 1 + byte() % 9u;
        if (which == 0) {
            DST(ola) *ola = NULL;
            OWN(prepare)(w, DST(ola_workspace_size)(&f, &o));
            begin(w);
            status = DST(ola_init)(&f, &o, x0, handle(w), w->size, once_in(60) ? NULL : &ola);
        } else {
            DST(window) *window = NULL;
            OWN(prepare)(w, DST(window_workspace_size)(&f, &o));
            begin(w);
            status = DST(window_init)(&f, &o, x0, handle(w), w->size, once_in(60) ? NULL : &window);
        }
        judge(w, status);
        free(x0);
        return;
    }
    begin(w);
    memset(&state, PATTERN, sizeof state);
    memset(&report, PATTERN, sizeof report);
    switch (which) {
    case 2:
        status = DST(ola_advance)(handle(w), byte(), once_in(40) ? NULL : &progress);
        HOLDS(status == DST_OK || progress == PATTERN);
        break;
    case 3:
        status = DST(window_advance)(handle(w), byte(), once_in(40) ? NULL : &report);
        HOLDS(status == DST_OK || untouched(&report, sizeof report));
        break;
    case 4:
        status = DST(ola_read)(handle(w), once_in(40) ? NULL : &state);
        HOLDS(status == DST_OK || untouched(&state, sizeof state));
        break;
    default:
        status = DST(window_read)(handle(w), once_in(40) ? NULL : &state);
        HOLDS(status == DST_OK || untouched(&state, sizeof state));
    }
    judge(w, status);
}

static void OWN(descend)(workspace *w)
{
    DST(descent_state) state;
    int32_t verdict = PATTERN;
    dst_status status;
    const uint8_t which = byte() % 5;
    if (which == 0) {
        const size_t p = byte() % DIMENSION;
        DST(coordinate) *coordinates = malloc(p > 0 ? p * sizeof *coordinates : 1);
        REAL *theta = OWN(vector)(p, 0.5);
        DST(descent) *descent = NULL;
        HOLDS(coordinates != NULL);
        for (size_t i = 0; i < p; i++)
            coordinates[i] = (DST(coordinate)){ .kind = byte() % 5, .scale = (REAL)usual(1), .lower = (REAL)usual(0),
                                                .upper = (REAL)usual(1) };
        DST(descent_options) o = DST(descent_options_default)(p, once_in(40) ? NULL : coordinates);
        o.max_runs = count();
        o.radius = (REAL)usual(0.25);
        o.least_radius = (REAL)usual(1e-4);
        OWN(prepare)(w, DST(descent_workspace_size)(&o));
        begin(w);
        status = DST(descent_init)(&o, theta, handle(w), w->size, once_in(60) ? NULL : &descent);
        judge(w, status);
        free(coordinates);
        free(theta);
        return;
    }
    begin(w);
    memset(&state, PATTERN, sizeof state);
    if (which == 1) {
        status = DST(descent_read)(handle(w), once_in(40) ? NULL : &state);
        HOLDS(status == DST_OK || untouched(&state, sizeof state));
    } else if (which == 2) {
        REAL *gradient = OWN(vector)(DIMENSION, 0.1);
        status = DST(descent_tell)(handle(w), (REAL)number(), once_in(40) ? NULL : gradient, &verdict);
        free(gradient);
    } else if (which == 3) {
        status = DST(descent_tell_value)(handle(w), (REAL)number(), once_in(40) ? NULL : &verdict);
    } else {
        status = DST(descent_tell_failed)(handle(w), &verdict);
    }
    HOLDS(status == DST_OK || verdict == PATTERN);
    judge(w, status);
}

/* A quadratic program: prepared once, solved a few times. */
static void OWN(program)(void)
{
    const size_t n = 1 + byte() % DIMENSION, m = 1 + byte() % 7u, capacity = once_in(4) ? byte() % 9u : (n < m ? n : m) + 1;
    const size_t boxed = byte() % (m + 1 < n + 1 ? m + 1 : n + 1);
    REAL *hessian = OWN(vector)(n * n, 0), *matrix = OWN(vector)(m * n, 1);
    REAL *caps = OWN(vector)(m, 10), *lifts = OWN(vector)(m, 0.1), *u = OWN(vector)(n, 0);
    DST(qp) program = { .variables = n, .rows = m, .capacity = capacity, .hessian = hessian, .matrix = matrix,
                        .tolerance = (REAL)usual(0) };
    for (size_t i = 0; i < n; i++)
        hessian[i * n + i] = (REAL)usual(1 + (double)i);
    for (size_t i = 0; i < boxed * n; i++)
        matrix[i] = (REAL)(i % n == i / n);
    if (once_in(3))
        program.caps = caps;
    if (once_in(3))
        program.lifts = lifts;
    const size_t constants_len = DST(qp_constants)(&program), numbers_len = DST(qp_numbers)(&program);
    const size_t words_len = DST(qp_words)(&program);
    HOLDS(constants_len < 10000 && numbers_len < 10000 && words_len < 10000);
    REAL *constants = OWN(vector)(constants_len, 0), *numbers = OWN(vector)(numbers_len, (double)NAN);
    uint16_t *words = calloc(words_len > 0 ? words_len : 1, sizeof *words);
    HOLDS(words != NULL);
    dst_status status = DST(qp_prepare)(&program, constants, constants_len - (once_in(40) && constants_len > 0));
    HOLDS(status >= DST_OK && status <= DST_ERROR_PROGRAM && status != DST_ERROR_INTERNAL);
    for (int solves = byte() % 5; status == DST_OK && solves > 0; solves--) {
        REAL *q = OWN(vector)(n, 1), *lower = OWN(vector)(m, -1), *upper = OWN(vector)(m, 1);
        dst_qp_outcome outcome;
        const size_t budget = count();
        memset(u, PATTERN, n * sizeof *u);
        memset(&outcome, PATTERN, sizeof outcome);
        const dst_status solved = DST(qp_solve)(&program, constants, constants_len, numbers, numbers_len - (once_in(40) && numbers_len > 0),
                                                words, words_len, q, once_in(40) ? NULL : lower, upper, budget, u, &outcome);
        HOLDS(solved >= DST_OK && solved <= DST_ERROR_PROGRAM && solved != DST_ERROR_INTERNAL);
        if (solved != DST_OK) {
            HOLDS(untouched(u, n * sizeof *u) && untouched(&outcome, sizeof outcome));
        } else {
            HOLDS(outcome.status >= DST_QP_SOLVED && outcome.status <= DST_QP_INFEASIBLE && outcome.steps <= budget);
            for (size_t i = 0; i < boxed && program.caps == NULL && program.lifts == NULL; i++)
                HOLDS(lower[i] > upper[i] || (u[i] >= lower[i] && u[i] <= upper[i]));
        }
        free(q);
        free(lower);
        free(upper);
    }
    free(hessian);
    free(matrix);
    free(caps);
    free(lifts);
    free(u);
    free(constants);
    free(numbers);
    free(words);
}

/* Sizes of what cannot be allocated. */
static void OWN(sizes)(void)
{
    problem_system s = { .n = 1 };
    DST(problem) problem = OWN(some_problem)(&s);
    DST(options) options = OWN(some_options)();
    DST(objective) f = { .dim = count(), .tape_len = count(), .value_gradient = OWN(value), .hessian_vector = OWN(hessian) };
    DST(ola_options) o = DST(ola_options_default)((REAL)0.1, (REAL)0.1, (REAL)0.1);
    DST(coordinate) coordinates[2] = { { .kind = DST_LOG }, { .kind = DST_LOG } };
    DST(descent_options) d = DST(descent_options_default)(2, coordinates);
    DST(qp) program = { .variables = count(), .rows = count(), .capacity = count() };
    problem.state_dim = count();
    problem.param_dim = count();
    problem.tape_len = count();
    options.slots = count();
    o.slots = count();
    o.window = count();
    (void)DST(workspace_size)(once_in(20) ? NULL : &problem, once_in(20) ? NULL : &options);
    (void)DST(ola_workspace_size)(&f, &o);
    (void)DST(window_workspace_size)(&f, once_in(20) ? NULL : &o);
    (void)DST(descent_workspace_size)(once_in(20) ? NULL : &d);
    (void)DST(qp_constants)(&program);
    (void)DST(qp_numbers)(&program);
    (void)DST(qp_words)(once_in(20) ? NULL : &program);
    HOLDS(DST(workspace_align)() <= 16);
}

static void OWN(call)(unsigned which)
{
    workspace *w = some_workspace();
    switch (which) {
    case 0:
        OWN(begin_run)(w, 0);
        break;
    case 1:
        OWN(begin_run)(w, once_in(3) ? 2 : 1);
        break;
    case 2:
    case 3:
        OWN(go_on)(w);
        break;
    case 4:
        OWN(adapt)(w);
        break;
    case 5:
        OWN(descend)(w);
        break;
    default:
        if (byte() % 2)
            OWN(program)();
        else
            OWN(sizes)();
    }
}
