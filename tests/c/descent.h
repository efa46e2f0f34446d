/* The descent, for one precision: known minima, a cliff, moved workspaces, and every kind of misuse. */

static uint64_t OWN(tuning)[128], OWN(other_place)[128];

/* 1 + (t0 - 3)^2 + 4*(t1 - 1/4)^2 + (t0 - 3)*(t1 - 1/4), with its gradient. */
static REAL OWN(tilted)(const REAL *t, REAL *gradient)
{
    const REAL a = t[0] - 3, b = t[1] - (REAL)0.25;
    gradient[0] = 2 * a + b;
    gradient[1] = 8 * b + a;
    return 1 + a * a + 4 * b * b + a * b;
}

/* Descends to the end; beyond `cliff` in t0 every run fails. `lazy`: the value first. `moves`: the workspace moves between calls. */
static DST(descent_state) OWN(descended)(const DST(coordinate) * coordinates, REAL cliff, int lazy, int moves)
{
    static const REAL start[2] = { 0, (REAL)0.9 };
    DST(descent_options) options = DST(descent_options_default)(2, coordinates);
    DST(descent) *descent = NULL;
    DST(descent_state) now;
    REAL gradient[2];
    int32_t verdict = -1;
    memset(OWN(tuning), 0, sizeof OWN(tuning));
    CHECK(DST(descent_workspace_size)(&options) <= sizeof OWN(tuning));
    CHECK(DST(descent_init)(&options, start, OWN(tuning), sizeof OWN(tuning), &descent) == DST_OK);
    for (;;) {
        if (!CHECK(DST(descent_read)(descent, &now) == DST_OK) || now.finished)
            return now;
        const REAL value = OWN(tilted)(now.theta, gradient);
        dst_status status;
        if (now.theta[0] > cliff) {
            status = DST(descent_tell_failed)(descent, &verdict);
            CHECK(verdict == DST_FAILED);
        } else {
            verdict = DST_GRADIENT_WANTED;
            status = lazy ? DST(descent_tell_value)(descent, value, &verdict) : DST_OK;
            if (verdict == DST_GRADIENT_WANTED)
                status = DST(descent_tell)(descent, value, gradient, &verdict);
            CHECK(verdict == DST_ACCEPTED || verdict == DST_REJECTED);
        }
        if (!CHECK(status == DST_OK && now.runs < 1000))
            return now;
        if (moves) {
            void *from = descent, *to = from == (void *)OWN(tuning) ? OWN(other_place) : OWN(tuning);
            memcpy(to, from, sizeof OWN(tuning));
            memset(from, 0x5a, sizeof OWN(tuning));
            descent = to;
        }
    }
}

static void OWN(descents)(void)
{
    const DST(coordinate) bounded[2] = { { .kind = DST_BETWEEN, .lower = -1, .upper = 2 },
                                         { .kind = DST_LOGIT, .lower = 0, .upper = 1 } };
    const DST(coordinate) open[2] = { { .kind = DST_FREE, .scale = 1 }, { .kind = DST_LOG } };
    for (int lazy = 0; lazy <= 1; lazy++) {
        DST(descent_state) end = OWN(descended)(bounded, 100, lazy, 0);
        /* On the edge t0 = 2 the minimum has 8*(t1 - 1/4) = 1. */
        CHECK(end.best[0] == 2 && close_to((double)end.best[1], 0.375, 0.02) && end.runs < 80);
        end = OWN(descended)(open, 100, lazy, 0);
        CHECK(close_to((double)end.best[0], 3, 0.01) && close_to((double)end.best[1], 0.25, 0.02) && end.runs < 40);
        CHECK(close_to((double)end.value, 1, 1e-3) && end.theta[0] == end.best[0]);
        /* The same minimum on the edge of a cliff. */
        end = OWN(descended)(open, 2, lazy, 0);
        CHECK(end.best[0] <= 2 && close_to((double)end.value, 1.9375, 0.02) && end.runs < 150);
    }
    {
        const DST(descent_state) still = OWN(descended)(open, 2, 0, 0);
        const REAL best[2] = { still.best[0], still.best[1] };
        const DST(descent_state) moved = OWN(descended)(open, 2, 0, 1);
        CHECK(moved.runs == still.runs && moved.value == still.value);
        CHECK(memcmp(best, moved.best, sizeof best) == 0);
    }
}

static void OWN(descent_misuse)(void)
{
    DST(coordinate) coordinates[2] = { { .kind = DST_LOG }, { .kind = DST_BETWEEN, .lower = 0, .upper = 1 } };
    DST(descent_options) options = DST(descent_options_default)(2, coordinates), bad;
    REAL theta[2] = { 1, (REAL)0.5 }, gradient[2] = { 1, 1 };
    DST(descent) *descent = NULL;
    DST(descent_state) now;
    int32_t verdict = -1;
    const size_t size = DST(descent_workspace_size)(&options);
    const REAL none = theta[0] - theta[0], nan = none / none;
#define INIT(o, t, w, s, d) DST(descent_init)(o, t, w, s, d)
    memset(OWN(tuning), 0, sizeof OWN(tuning));
    CHECK(size > 0 && size <= sizeof OWN(tuning) && DST(descent_workspace_size)(NULL) == 0);
    CHECK(INIT(NULL, theta, OWN(tuning), size, &descent) == DST_ERROR_NULL);
    CHECK(INIT(&options, NULL, OWN(tuning), size, &descent) == DST_ERROR_NULL);
    CHECK(INIT(&options, theta, NULL, size, &descent) == DST_ERROR_NULL);
    CHECK(INIT(&options, theta, OWN(tuning), size, NULL) == DST_ERROR_NULL);
    CHECK(INIT(&options, theta, OWN(tuning), size - 1, &descent) == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(INIT(&options, theta, (char *)OWN(tuning) + 1, size, &descent) == DST_ERROR_MISALIGNED);
    CHECK(INIT(&options, (REAL *)OWN(tuning), OWN(tuning), size, &descent) == DST_ERROR_OVERLAP);
    bad = options, bad.coordinates = (DST(coordinate) *)OWN(tuning);
    CHECK(INIT(&bad, theta, OWN(tuning), size, &descent) == DST_ERROR_OVERLAP);
    bad = options, bad.coordinates = NULL;
    CHECK(INIT(&bad, theta, OWN(tuning), size, &descent) == DST_ERROR_NULL);
    bad = options, bad.param_dim = 0;
    CHECK(INIT(&bad, theta, OWN(tuning), size, &descent) == DST_ERROR_SIZE && DST(descent_workspace_size)(&bad) == 0);
    bad = options, bad.param_dim = SIZE_MAX / 4;
    CHECK(INIT(&bad, theta, OWN(tuning), size, &descent) == DST_ERROR_SIZE);
    bad = options, bad.radius = 0;
    CHECK(INIT(&bad, theta, OWN(tuning), size, &descent) == DST_ERROR_COORDINATE);
    bad = options, bad.least_radius = 1;
    CHECK(INIT(&bad, theta, OWN(tuning), size, &descent) == DST_ERROR_COORDINATE);
    coordinates[0].kind = 4;
    CHECK(INIT(&options, theta, OWN(tuning), size, &descent) == DST_ERROR_CHOICE);
    coordinates[0].kind = DST_FREE, coordinates[0].scale = 0;
    CHECK(INIT(&options, theta, OWN(tuning), size, &descent) == DST_ERROR_COORDINATE);
    coordinates[0].kind = DST_LOG, theta[0] = -1;
    CHECK(INIT(&options, theta, OWN(tuning), size, &descent) == DST_ERROR_COORDINATE);
    theta[0] = nan;
    CHECK(INIT(&options, theta, OWN(tuning), size, &descent) == DST_ERROR_THETA);
    theta[0] = 1;
    CHECK(descent == NULL);
    /* A failed start leaves nothing behind. */
    CHECK(DST(descent_read)((void *)OWN(tuning), &now) == DST_ERROR_NOT_INITIALISED);
    CHECK(INIT(&options, theta, OWN(tuning), size, &descent) == DST_OK && (void *)descent == (void *)OWN(tuning));
    CHECK(DST(descent_read)(NULL, &now) == DST_ERROR_NULL && DST(descent_read)(descent, NULL) == DST_ERROR_NULL);
    CHECK(DST(descent_read)(descent, &now) == DST_OK && now.best == NULL && now.runs == 0 && !now.finished);
    CHECK(DST(descent_tell)(NULL, 1, gradient, &verdict) == DST_ERROR_NULL);
    CHECK(DST(descent_tell)(descent, 1, NULL, &verdict) == DST_ERROR_NULL);
    CHECK(DST(descent_tell)(descent, 1, gradient, NULL) == DST_ERROR_NULL);
    CHECK(DST(descent_tell)(descent, 1, now.theta, &verdict) == DST_ERROR_OVERLAP);
    CHECK(DST(descent_tell_value)(descent, 1, NULL) == DST_ERROR_NULL);
    CHECK(DST(descent_tell_failed)(descent, (int32_t *)OWN(tuning)) == DST_ERROR_OVERLAP);
    CHECK(DST(run_advance)((void *)descent, 1, &verdict) == DST_ERROR_NOT_INITIALISED && verdict == -1);
    CHECK(DST(descent_read)(descent, &now) == DST_OK && now.runs == 0);
    /* Numbers that are not finite are a failed run, not an error. */
    CHECK(DST(descent_tell)(descent, nan, gradient, &verdict) == DST_OK && verdict == DST_FAILED);
    gradient[1] = nan;
    CHECK(DST(descent_tell)(descent, 1, gradient, &verdict) == DST_OK && verdict == DST_FAILED);
    CHECK(DST(descent_read)(descent, &now) == DST_OK && now.runs == 2 && now.best == NULL && now.value != now.value);
#undef INIT
}
