/* Planted mistakes and misuse of dst_check, for one precision. A = (-x1, theta0*x0 + theta1*x1 + x0^3), J = x0^2 + x1^2 +
 * t*x0, f = theta0*x1; the tape holds x0^2. */

static int OWN(plant_rate)(void *user, const REAL *theta, const REAL *x, REAL t, REAL *rate, REAL *tape,
                           REAL *criterion, REAL *loss)
{
    const mistake m = *(const mistake *)user;
    if (m != TAPE_NOT_WRITTEN)
        tape[0] = x[0] * x[0];
    rate[0] = -x[1];
    if (m != RATE_ADDS)
        rate[1] = 0;
    rate[1] += theta[0] * x[0] + theta[1] * x[1] + x[0] * x[0] * x[0];
    *criterion = m == NOT_FINITE ? (REAL)NAN : x[0] * x[0] + x[1] * x[1] + t * x[0];
    *loss = theta[0] * x[1];
    return m == ABORTS ? 42 : 0;
}

static int OWN(plant_pullback)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                               const REAL *rate_bar, REAL criterion_bar, REAL loss_bar, REAL *theta_bar, REAL *x_bar,
                               REAL *t_bar)
{
    const mistake m = *(const mistake *)user;
    const REAL factor = m == WRONG_FACTOR ? 1 : 2, sign = m == WRONG_SIGN ? -1 : 1;
    theta_bar[0] += rate_bar[1] * x[0] + loss_bar * x[1];
    if (m == OVERWRITES_THETA)
        theta_bar[1] = rate_bar[1] * x[1];
    else
        theta_bar[1] += rate_bar[1] * x[1];
    if (m == OVERWRITES_X)
        x_bar[0] = 0;
    x_bar[0] += rate_bar[1] * (theta[0] + 3 * tape[0]) + criterion_bar * (2 * x[0] + t);
    x_bar[1] += rate_bar[1] * theta[1] - sign * rate_bar[0] + criterion_bar * factor * x[1];
    if (m != MISSING_LOSS)
        x_bar[1] += loss_bar * theta[0];
    if (t_bar != NULL && m != MISSING_TIME)
        *t_bar += criterion_bar * x[0];
    return 0;
}

static int OWN(plant_pushforward)(void *user, const REAL *theta, const REAL *x, REAL t, const REAL *tape,
                                  const REAL *theta_dot, const REAL *x_dot, REAL t_dot, REAL *rate_dot,
                                  REAL *criterion_dot, REAL *loss_dot)
{
    const mistake m = *(const mistake *)user;
    rate_dot[0] = -x_dot[1];
    rate_dot[1] = theta_dot[0] * x[0] + (m == PUSH_MISSING ? 0 : theta_dot[1] * x[1]);
    rate_dot[1] += (theta[0] + 3 * tape[0]) * x_dot[0] + theta[1] * x_dot[1];
    *criterion_dot = (2 * x[0] + t) * x_dot[0] + 2 * x[1] * x_dot[1] + t_dot * x[0];
    (void)loss_dot; /* no weight on f: not needed */
    return 0;
}

static REAL OWN(start)[2] = { (REAL)0.8, (REAL)-0.6 }, OWN(gains)[2] = { 4, (REAL)0.5 };
static uint64_t OWN(room)[256];

static dst_status OWN(checked)(mistake *m, int with_pullback, int with_pushforward, dst_mismatch *wrong)
{
    DST(problem) problem = { 0 };
    DST(options) options = DST(options_default)((REAL)0.01, (REAL)1e-3);
    problem.state_dim = problem.param_dim = 2;
    problem.tape_len = 1;
    problem.rate = OWN(plant_rate);
    problem.pullback = with_pullback ? OWN(plant_pullback) : NULL;
    problem.pushforward = with_pushforward ? OWN(plant_pushforward) : NULL;
    problem.user = m;
    return DST(check)(&problem, &options, OWN(gains), OWN(start), OWN(room), sizeof OWN(room), wrong);
}

/* The mistake is found in this callback, with this output, entry and kind, and the sentence begins like this. */
static void OWN(finds)(mistake m, int function, int output, int entry, size_t index, int kind, const char *begin)
{
    for (int both = 0; both <= 1; both++) {
        dst_mismatch wrong;
        char text[160];
        if (function == DST_CHECK_PUSHFORWARD && !both)
            continue;
        if (!CHECK(OWN(checked)(&m, 1, both, &wrong) == DST_WRONG_DERIVATIVE))
            continue;
        CHECK(wrong.function == function && wrong.kind == kind);
        CHECK(output < 0 || wrong.output == output);
        CHECK(wrong.entry == entry && wrong.entry_index == index);
        CHECK(dst_mismatch_message(&wrong, text, sizeof text) == strlen(text));
        if (!CHECK(strncmp(text, begin, strlen(begin)) == 0)) {
            put(text);
            put("\n");
        }
    }
}

static void OWN(mistakes)(void)
{
    mistake m = RIGHT;
    dst_mismatch wrong, before;
    memset(&wrong, 0xa5, sizeof wrong);
    before = wrong;
    CHECK(OWN(checked)(&m, 1, 1, &wrong) == DST_OK);
    CHECK(OWN(checked)(&m, 1, 0, &wrong) == DST_OK);
    CHECK(OWN(checked)(&m, 0, 1, &wrong) == DST_OK);
    CHECK(OWN(checked)(&m, 0, 0, &wrong) == DST_ERROR_NO_PULLBACK);
    m = NOT_FINITE;
    CHECK(OWN(checked)(&m, 1, 0, &wrong) == DST_ERROR_NON_FINITE);
    m = ABORTS;
    CHECK(OWN(checked)(&m, 1, 0, &wrong) == DST_ABORTED);
    /* Only a mismatch is written. */
    CHECK(memcmp(&wrong, &before, sizeof wrong) == 0);
    OWN(finds)(WRONG_FACTOR, DST_CHECK_PULLBACK, DST_CHECK_J, DST_CHECK_X, 1, DST_CHECK_FACTOR,
               "pullback: d(J)/d(x[1]) is -0.6 where differences give -1.2");
    OWN(finds)(WRONG_SIGN, DST_CHECK_PULLBACK, DST_CHECK_A, DST_CHECK_X, 1, DST_CHECK_SIGN,
               "pullback: d(A[0])/d(x[1]) is 1 where differences give -1 (wrong sign)");
    OWN(finds)(OVERWRITES_THETA, DST_CHECK_PULLBACK, -1, DST_CHECK_THETA, 1, DST_CHECK_OVERWRITES,
               "pullback: the cotangent of theta[1] is overwritten: add to it with += instead of =");
    OWN(finds)(OVERWRITES_X, DST_CHECK_PULLBACK, -1, DST_CHECK_X, 0, DST_CHECK_OVERWRITES,
               "pullback: the cotangent of x[0] is overwritten");
    OWN(finds)(MISSING_LOSS, DST_CHECK_PULLBACK, DST_CHECK_F, DST_CHECK_X, 1, DST_CHECK_MISSING,
               "pullback: d(f)/d(x[1]) is 0 where differences give 4 (the term is missing)");
    OWN(finds)(MISSING_TIME, DST_CHECK_PULLBACK, DST_CHECK_J, DST_CHECK_T, 0, DST_CHECK_MISSING,
               "pullback: d(J)/d(t) is 0 where differences give 0.8");
    OWN(finds)(RATE_ADDS, DST_CHECK_RATE, DST_CHECK_A, DST_CHECK_NO_ENTRY, 0, DST_CHECK_ADDS,
               "rate: A[1] is added to its old content: write it with = instead of +=");
    OWN(finds)(PUSH_MISSING, DST_CHECK_PUSHFORWARD, DST_CHECK_A, DST_CHECK_THETA, 1, DST_CHECK_MISSING,
               "pushforward: d(A[1])/d(theta[1]) is 0 where differences give -0.6 (the term is missing)");
    m = TAPE_NOT_WRITTEN;
    CHECK(OWN(checked)(&m, 1, 0, &wrong) == DST_WRONG_DERIVATIVE);
    CHECK(wrong.kind == DST_CHECK_UNWRITTEN_TAPE && wrong.tape_index == 0);
}

static void OWN(misuses)(void)
{
    mistake m = RIGHT;
    DST(problem) problem = { 0 };
    DST(options) options = DST(options_default)((REAL)0.01, (REAL)1e-3);
    DST(run) *run = (void *)OWN(room);
    dst_mismatch wrong;
    int32_t progress;
    void *room = OWN(room);
    REAL *theta = OWN(gains), *x0 = OWN(start), bad[2] = { (REAL)NAN, 0 };
    size_t size;
    problem.state_dim = problem.param_dim = 2;
    problem.tape_len = 1;
    problem.rate = OWN(plant_rate);
    problem.pullback = OWN(plant_pullback);
    problem.user = &m;
    size = DST(workspace_size)(&problem, &options);
    CHECK(size <= sizeof OWN(room));
    CHECK(DST(check)(NULL, &options, theta, x0, room, size, &wrong) == DST_ERROR_NULL);
    CHECK(DST(check)(&problem, NULL, theta, x0, room, size, &wrong) == DST_ERROR_NULL);
    CHECK(DST(check)(&problem, &options, NULL, x0, room, size, &wrong) == DST_ERROR_NULL);
    CHECK(DST(check)(&problem, &options, theta, NULL, room, size, &wrong) == DST_ERROR_NULL);
    CHECK(DST(check)(&problem, &options, theta, x0, NULL, size, &wrong) == DST_ERROR_NULL);
    CHECK(DST(check)(&problem, &options, theta, x0, room, size, NULL) == DST_ERROR_NULL);
    CHECK(DST(check)(&problem, &options, theta, x0, room, size - 1, &wrong) == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(DST(check)(&problem, &options, theta, x0, (char *)room + 1, size, &wrong) == DST_ERROR_MISALIGNED);
    CHECK(DST(check)(&problem, &options, theta, x0, room, size, room) == DST_ERROR_OVERLAP);
    CHECK(DST(check)(&problem, &options, bad, x0, room, size, &wrong) == DST_ERROR_THETA);
    CHECK(DST(check)(&problem, &options, theta, bad, room, size, &wrong) == DST_ERROR_X0);
    options.step = 0;
    CHECK(DST(check)(&problem, &options, theta, x0, room, size, &wrong) == DST_ERROR_STEP_SIZE);
    options.step = (REAL)0.01;
    CHECK(DST(check)(&problem, &options, theta, x0, room, size, &wrong) == DST_OK);
    /* No run is left in the workspace, which can be used again. */
    CHECK(DST(run_advance)(run, 1, &progress) == DST_ERROR_NOT_INITIALISED);
    CHECK(DST(run_init)(&problem, &options, theta, x0, room, size, &run) == DST_OK);
    CHECK(DST(run_advance)(run, 1, &progress) == DST_OK);
    /* A gradient without a pullback names it. */
    problem.pullback = NULL;
    {
        DST(result) result = { 0 };
        CHECK(DST(sensitivity)(&problem, &options, theta, x0, NULL, room, sizeof OWN(room), &result)
              == DST_ERROR_NO_PULLBACK);
        CHECK(strstr(dst_status_message(DST_ERROR_NO_PULLBACK), "set .pullback") != NULL);
        options.mode = DST_ADJOINT;
        problem.pushforward = OWN(plant_pushforward);
        CHECK(DST(sensitivity)(&problem, &options, theta, x0, NULL, room, sizeof OWN(room), &result)
              == DST_ERROR_NO_PULLBACK);
        options.mode = DST_TANGENT;
        problem.pushforward = NULL;
        CHECK(DST(sensitivity)(&problem, &options, theta, x0, NULL, room, sizeof OWN(room), &result)
              == DST_ERROR_NO_PUSHFORWARD);
        CHECK(strstr(dst_status_message(DST_ERROR_NO_PUSHFORWARD), "set .pushforward") != NULL);
    }
}

static void OWN(all)(void)
{
    OWN(mistakes)();
    OWN(misuses)();
}
