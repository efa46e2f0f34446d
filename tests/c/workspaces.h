/* Workspaces that are moved, for one precision. */

/* Kinds of objects. */
#ifndef KINDS
#define KINDS 3
enum { RUN, OLA, WINDOW };
#endif

/* Results of a run: T, dT/depsilon, dtheta, dx0, x_N, the best iterate, and dtheta of a second sweep. */
typedef struct {
    REAL time, epsilon_gradient, theta_gradient[1], x0_gradient[2], state[2], best[2], second[1];
} OWN(outcome);

/* Moves the workspace to a new address, or leaves it in place. */
#define MOVE() (place = moves ? moved(place, size) : place)

/* Completes a run: steps, a gradient, and a second one with other seeds. Frees the workspace. */
static void OWN(go_on)(void *place, size_t size, int moves, const DST(seeds) * seeds, OWN(outcome) * o)
{
    DST(result) result = { .theta_gradient = o->theta_gradient, .x0_gradient = o->x0_gradient, .state = o->state };
    DST(result) second = { .theta_gradient = o->second };
    DST(seeds) others = DST(seeds_default)();
    DST(iterate) iterate;
    int32_t progress = DST_RUNNING;
    size_t remaining = 1;
    memset(o, 0, sizeof *o);
    others.time_weight = 0;
    others.loss_weight = 1;
    while (progress == DST_RUNNING) {
        MOVE();
        if (!CHECK(DST(run_advance)(place, 3, &progress) == DST_OK))
            break;
    }
    MOVE();
    CHECK(progress == DST_REACHED && DST(run_iterate)(place, &iterate) == DST_OK);
    o->best[0] = iterate.best[0];
    while (remaining > 0) {
        MOVE();
        if (!CHECK(DST(gradient_advance)(place, seeds, 2, &remaining) == DST_OK))
            break;
    }
    MOVE();
    CHECK(DST(gradient_read)(place, &result) == DST_OK);
    o->time = result.time;
    o->epsilon_gradient = result.epsilon_gradient;
    for (remaining = 1; remaining > 0;) {
        MOVE();
        if (!CHECK(DST(gradient_advance)(place, &others, 4, &remaining) == DST_OK))
            break;
    }
    MOVE();
    CHECK(DST(gradient_read)(place, &second) == DST_OK && second.time != second.time);
    free(place);
}

static void OWN(moving_run)(DST(problem) problem, DST(options) options, const REAL *theta, const REAL *x0)
{
    DST(seeds) seeds = DST(seeds_default)();
    const int32_t last = options.integrator == DST_MAP ? DST_MAP : DST_RK4;
    for (; options.integrator <= last; options.integrator++)
        for (options.mode = DST_ADJOINT; options.mode <= DST_TANGENT; options.mode++)
            for (options.slots = 1; options.slots <= 400; options.slots = options.slots * 4 + 1) {
                OWN(outcome) still, moving, twin;
                void *place, *copy;
                size_t size;
                DST(run) *run = NULL;
                int32_t progress = -1;
                options.keep_records = !options.keep_records;
                seeds.crossing = (seeds.crossing + 1) % 4;
                size = DST(workspace_size)(&problem, &options);
                place = allocated(size);
                CHECK(DST(run_init)(&problem, &options, theta, x0, place, size, &run) == DST_OK);
                CHECK((void *)run == place);
                OWN(go_on)(place, size, 0, &seeds, &still);
                place = allocated(size);
                CHECK(DST(run_init)(&problem, &options, theta, x0, place, size, &run) == DST_OK);
                CHECK(DST(run_advance)(run, 5, &progress) == DST_OK);
                /* Two runs from here on. */
                copy = allocated(size);
                memcpy(copy, place, size);
                OWN(go_on)(place, size, 1, &seeds, &moving);
                OWN(go_on)(copy, size, 1, &seeds, &twin);
                CHECK(memcmp(&still, &moving, sizeof still) == 0 && memcmp(&still, &twin, sizeof still) == 0);
                CHECK(still.theta_gradient[0] != 0 && still.second[0] != 0);
            }
}

/* Advances two copies of one run alternately. */
static void OWN(taking_turns)(DST(problem) problem, DST(options) options, const REAL *theta, const REAL *x0)
{
    const size_t size = DST(workspace_size)(&problem, &options);
    void *places[2] = { allocated(size), allocated(size) };
    REAL gradients[2] = { 0, 1 };
    DST(run) *run = NULL;
    int32_t progress = -1;
    size_t remaining[2] = { 1, 1 };
    CHECK(DST(run_init)(&problem, &options, theta, x0, places[0], size, &run) == DST_OK);
    CHECK(DST(run_advance)(run, 9, &progress) == DST_OK && progress == DST_RUNNING);
    memcpy(places[1], places[0], size);
    CHECK(DST(run_advance)(places[0], SIZE_MAX, &progress) == DST_OK && progress == DST_REACHED);
    CHECK(DST(run_advance)(places[1], 1, &progress) == DST_OK && progress == DST_RUNNING);
    CHECK(DST(gradient_advance)(places[0], NULL, 3, &remaining[0]) == DST_OK && remaining[0] > 0);
    CHECK(DST(run_advance)(places[1], SIZE_MAX, &progress) == DST_OK && progress == DST_REACHED);
    while (remaining[0] + remaining[1] > 0)
        for (int i = 0; i < 2; i++)
            if (remaining[i] > 0
                && !CHECK(DST(gradient_advance)(places[i], NULL, 1 + (size_t)i, &remaining[i]) == DST_OK))
                return;
    for (int i = 0; i < 2; i++) {
        DST(result) result = { .theta_gradient = &gradients[i] };
        CHECK(DST(gradient_read)(places[i], &result) == DST_OK);
        free(places[i]);
    }
    CHECK(memcmp(&gradients[0], &gradients[1], sizeof(REAL)) == 0);
}

/* Does the same for the adaptive methods, with 40 calls of five iterations. */
static void OWN(moving_adaptation)(int kind)
{
    static const REAL x0[3] = { 1, (REAL)-0.7, (REAL)0.4 };
    OWN(calls) calls = { 0, 0, 0 };
    DST(objective) objective = OWN(bowl)(&calls);
    DST(ola_options) options = DST(ola_options_default)((REAL)0.01, (REAL)1e-4, (REAL)1e-2);
    size_t size;
    REAL seen[2][6];
    options.slots = 3;
    size = kind == OLA ? DST(ola_workspace_size)(&objective, &options) : DST(window_workspace_size)(&objective, &options);
    for (int moves = 0; moves < 2; moves++) {
        void *place = allocated(size);
        DST(ola_state) state;
        DST(ola) *ola;
        DST(window) *window;
        memset(&state, 0, sizeof state);
        CHECK((kind == OLA ? DST(ola_init)(&objective, &options, x0, place, size, &ola)
                           : DST(window_init)(&objective, &options, x0, place, size, &window)) == DST_OK);
        for (int i = 0; i < 40; i++) {
            int32_t progress;
            DST(window_report) report;
            MOVE();
            CHECK((kind == OLA ? DST(ola_advance)(place, 5, &progress) : DST(window_advance)(place, 5, &report))
                  == DST_OK);
            MOVE();
            CHECK((kind == OLA ? DST(ola_read)(place, &state) : DST(window_read)(place, &state)) == DST_OK);
        }
        memcpy(seen[moves], state.x, 3 * sizeof(REAL));
        seen[moves][3] = state.alpha;
        seen[moves][4] = state.value;
        seen[moves][5] = (REAL)(state.iterations + 1000 * state.adaptations);
        CHECK(state.adaptations > 2);
        free(place);
    }
    CHECK(memcmp(seen[0], seen[1], sizeof seen[0]) == 0);
}

static void OWN(moves)(void)
{
    static const REAL one[2] = { 1, 1 }, swinging[2] = { 1, 0 }, falling[2] = { 3, 0 };
    static const REAL decay = (REAL)1.3, figure1 = (REAL)0.7, swing = (REAL)0.8, chase = (REAL)0.5, ball = 8, spiral = (REAL)0.95;
    OWN(calls) calls = { 0, 0, 0 };
    DST(options) options = DST(options_default)((REAL)0.05, (REAL)1e-2);
    OWN(moving_run)(OWN(decay)(&calls), options, &decay, one);
    OWN(moving_run)(OWN(figure1)(&calls), options, &figure1, one);
    OWN(taking_turns)(OWN(figure1)(&calls), options, &figure1, one);
    OWN(moving_run)(OWN(ball)(&calls), options, &ball, falling);
    OWN(moving_run)(OWN(chase)(&calls), options, &chase, one);
    options.staying = SIZE_MAX;
    options.epsilon = (REAL)0.04;
    options.step = (REAL)0.02;
    options.max_steps = 300;
    OWN(moving_run)(OWN(swing)(&calls), options, &swing, swinging);
    options = DST(options_map)(0);
    OWN(moving_run)(OWN(relax)(&calls), options, &swing, one);
    options.staying = SIZE_MAX;
    options.epsilon = (REAL)0.01;
    options.max_steps = 100;
    OWN(moving_run)(OWN(spiral)(&calls), options, &spiral, swinging);
    OWN(taking_turns)(OWN(spiral)(&calls), options, &spiral, swinging);
    OWN(moving_adaptation)(OLA);
    OWN(moving_adaptation)(WINDOW);
}

/* Creates the smallest object of a kind, initialised, directly before a guard page. */
static guarded OWN(smallest)(int kind)
{
    static OWN(calls) calls;
    static const REAL x0[3] = { 1, 1, 1 }, theta = 1;
    DST(problem) problem = OWN(decay)(&calls);
    DST(objective) objective = OWN(bowl)(&calls);
    DST(options) options = DST(options_default)((REAL)0.125, (REAL)0.5);
    DST(ola_options) ola_options = DST(ola_options_default)((REAL)0.01, (REAL)1e-3, (REAL)1e-3);
    size_t size;
    guarded g;
    void *handle;
    options.slots = ola_options.slots = 1;
    size = kind == RUN   ? DST(workspace_size)(&problem, &options)
           : kind == OLA ? DST(ola_workspace_size)(&objective, &ola_options)
                         : DST(window_workspace_size)(&objective, &ola_options);
    g = before_a_guard(size, DST(workspace_align)());
    dst_workspace_clear(g.workspace);
    CHECK((kind == RUN   ? DST(run_init)(&problem, &options, &theta, x0, g.workspace, size, (void *)&handle)
           : kind == OLA ? DST(ola_init)(&objective, &ola_options, x0, g.workspace, size, (void *)&handle)
                         : DST(window_init)(&objective, &ola_options, x0, g.workspace, size, (void *)&handle))
          == DST_OK);
    CHECK(handle == (void *)g.workspace);
    return g;
}

/* Calls the functions of a kind on a workspace of another kind or precision: all are rejected. */
static void OWN(refuse)(void *workspace, int kind)
{
    DST(iterate) iterate;
    DST(ola_state) state;
    DST(window_report) report;
    DST(result) result = { .theta_gradient = NULL };
    int32_t progress = 77;
    size_t remaining = 77;
    if (kind == RUN) {
        CHECK(DST(run_advance)(workspace, 1, &progress) == DST_ERROR_NOT_INITIALISED);
        CHECK(DST(run_iterate)(workspace, &iterate) == DST_ERROR_NOT_INITIALISED);
        CHECK(DST(gradient_advance)(workspace, NULL, 1, &remaining) == DST_ERROR_NOT_INITIALISED);
        CHECK(DST(gradient_read)(workspace, &result) == DST_ERROR_NOT_INITIALISED);
    } else if (kind == OLA) {
        CHECK(DST(ola_advance)(workspace, 1, &progress) == DST_ERROR_NOT_INITIALISED);
        CHECK(DST(ola_read)(workspace, &state) == DST_ERROR_NOT_INITIALISED);
    } else {
        CHECK(DST(window_advance)(workspace, 1, &report) == DST_ERROR_NOT_INITIALISED);
        CHECK(DST(window_read)(workspace, &state) == DST_ERROR_NOT_INITIALISED);
    }
    CHECK(progress == 77 && remaining == 77);
}

/* Checks that the right functions still work, up to the last byte. */
static void OWN(use)(void *workspace, int kind)
{
    DST(iterate) iterate;
    DST(ola_state) state;
    DST(window_report) report;
    REAL gradient = 0;
    DST(result) result = { .theta_gradient = &gradient };
    int32_t progress = 77;
    size_t remaining = 77;
    if (kind == RUN) {
        CHECK(DST(run_advance)(workspace, SIZE_MAX, &progress) == DST_OK && progress == DST_REACHED);
        CHECK(DST(run_iterate)(workspace, &iterate) == DST_OK && iterate.entry == iterate.steps);
        CHECK(DST(gradient_advance)(workspace, NULL, SIZE_MAX, &remaining) == DST_OK && remaining == 0);
        CHECK(DST(gradient_read)(workspace, &result) == DST_OK && gradient < 0);
    } else if (kind == OLA) {
        CHECK(DST(ola_advance)(workspace, 30, &progress) == DST_OK);
        CHECK(DST(ola_read)(workspace, &state) == DST_OK && state.iterations == 30);
    } else {
        CHECK(DST(window_advance)(workspace, 30, &report) == DST_OK && report.outcome == DST_WINDOW_ADAPTED);
        CHECK(DST(window_read)(workspace, &state) == DST_OK && state.adaptations == 1);
    }
}

#undef MOVE
