/* Quadratic programs in one precision: known answers, misuse, and random programs against the conditions of optimality. */

#define QP_MOST_VARIABLES 6
#define QP_MOST_ROWS 12

typedef struct {
    DST(qp) program;
    REAL hessian[QP_MOST_VARIABLES * QP_MOST_VARIABLES], matrix[QP_MOST_ROWS * QP_MOST_VARIABLES];
    REAL caps[QP_MOST_ROWS], lifts[QP_MOST_ROWS];
    REAL q[QP_MOST_VARIABLES], lower[QP_MOST_ROWS], upper[QP_MOST_ROWS], u[QP_MOST_VARIABLES];
    REAL constants[400], numbers[200];
    uint16_t words[64];
    dst_qp_outcome outcome;
} OWN(qp_case);

static OWN(qp_case) OWN(qp);

/* Solves with the words as they are. */
static dst_status OWN(qp_run)(size_t budget)
{
    OWN(qp_case) *k = &OWN(qp);
    return DST(qp_solve)(&k->program, k->constants, DST(qp_constants)(&k->program), k->numbers, DST(qp_numbers)(&k->program), k->words,
                         DST(qp_words)(&k->program), k->q, k->lower, k->upper, budget, k->u, &k->outcome);
}

static dst_status OWN(qp_start)(size_t variables, size_t rows)
{
    OWN(qp_case) *k = &OWN(qp);
    k->program.variables = variables;
    k->program.rows = rows;
    k->program.capacity = (variables < rows ? variables : rows) + 1;
    k->program.hessian = k->hessian;
    k->program.matrix = k->matrix;
    memset(k->words, 0, sizeof k->words);
    return DST(qp_prepare)(&k->program, k->constants, DST(qp_constants)(&k->program));
}

/* min (u0 - 3)^2/2 + (u1 + 1)^2/2 with 0 <= u <= 2 and u0 + u1 <= bound. */
static void OWN(qp_two)(void)
{
    const REAL hessian[4] = { 1, 0, 0, 1 }, matrix[6] = { 1, 0, 0, 1, 1, 1 };
    OWN(qp_case) *k = &OWN(qp);
    memset(k, 0, sizeof *k);
    memcpy(k->hessian, hessian, sizeof hessian);
    memcpy(k->matrix, matrix, sizeof matrix);
    k->q[0] = -3;
    k->q[1] = 1;
    k->upper[0] = k->upper[1] = 2;
    k->lower[2] = -(REAL)INFINITY;
    k->upper[2] = (REAL)INFINITY;
    CHECK(OWN(qp_start)(2, 3) == DST_OK);
}

static void OWN(qp_known)(void)
{
    OWN(qp_case) *k = &OWN(qp);
    OWN(qp_two)();
    CHECK(OWN(qp_run)(10) == DST_OK && k->outcome.status == DST_QP_SOLVED);
    CHECK(k->u[0] == 2 && k->u[1] == 0);
    k->upper[2] = 1; /* the sum binds: u = (1, 0) */
    CHECK(OWN(qp_run)(10) == DST_OK && k->outcome.status == DST_QP_SOLVED && k->outcome.steps >= 1);
    CHECK(k->u[0] > 1 - 4 * REAL_EPSILON && k->u[0] < 1 + 4 * REAL_EPSILON && k->u[1] == 0);
    /* Contradictions. */
    k->upper[2] = -1;
    k->lower[2] = -2;
    CHECK(OWN(qp_run)(10) == DST_OK && k->outcome.status == DST_QP_INFEASIBLE);
    k->lower[2] = 3;
    k->upper[2] = 2;
    CHECK(OWN(qp_run)(10) == DST_OK && k->outcome.status == DST_QP_INFEASIBLE);
    /* No step: late, and within the bounds of the variables. */
    k->lower[2] = -2;
    k->upper[2] = 1;
    memset(k->words, 0, sizeof k->words);
    CHECK(OWN(qp_run)(0) == DST_OK && k->outcome.status == DST_QP_LATE);
    CHECK(k->u[0] >= 0 && k->u[0] <= 2 && k->u[1] >= 0 && k->u[1] <= 2);
    /* min u^2/2 with u >= 1 softened by c|v|: u = c for c < 1; by v^2/(2 lift): u = 1/(1 + lift). */
    memset(k, 0, sizeof *k);
    k->hessian[0] = k->matrix[0] = k->lower[0] = 1;
    k->matrix[0] = (REAL)0.5; /* not a bound on the variable, which would be kept */
    k->lower[0] = (REAL)0.5;
    k->upper[0] = (REAL)INFINITY;
    k->caps[0] = (REAL)0.5;
    k->program.caps = k->caps;
    CHECK(OWN(qp_start)(1, 1) == DST_OK);
    CHECK(OWN(qp_run)(10) == DST_OK && k->outcome.status == DST_QP_SOFTENED && k->u[0] == (REAL)0.25);
    k->program.caps = NULL;
    k->program.lifts = k->lifts;
    k->lifts[0] = (REAL)0.25;
    CHECK(OWN(qp_start)(1, 1) == DST_OK);
    CHECK(OWN(qp_run)(10) == DST_OK && k->outcome.status == DST_QP_SOFTENED && k->u[0] == (REAL)0.5);
}

static void OWN(qp_misuse)(void)
{
    OWN(qp_case) *k = &OWN(qp);
    DST(qp) * program;
    size_t constants, numbers, words;
    const REAL nan = (REAL)NAN;
    OWN(qp_two)();
    program = &k->program;
    constants = DST(qp_constants)(program);
    numbers = DST(qp_numbers)(program);
    words = DST(qp_words)(program);
    CHECK(constants > 0 && constants <= 400 && numbers > 0 && numbers <= 200 && words > 0 && words <= 64);
    CHECK(DST(qp_constants)(NULL) == 0 && DST(qp_numbers)(NULL) == 0 && DST(qp_words)(NULL) == 0);
    CHECK(DST(qp_prepare)(NULL, k->constants, constants) == DST_ERROR_NULL);
    CHECK(DST(qp_prepare)(program, NULL, constants) == DST_ERROR_NULL);
    CHECK(DST(qp_prepare)(program, k->constants, constants - 1) == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(DST(qp_prepare)(program, k->hessian, constants) == DST_ERROR_OVERLAP);
    for (int which = 0; which < 3; which++) {
        size_t *size = which == 0 ? &program->variables : which == 1 ? &program->rows : &program->capacity;
        const size_t kept = *size, bad[3] = { 0, 16384, SIZE_MAX };
        for (int i = 0; i < 3; i++) {
            *size = bad[i];
            CHECK(DST(qp_prepare)(program, k->constants, constants) == DST_ERROR_SIZE && DST(qp_numbers)(program) == 0);
            CHECK(OWN(qp_run)(10) == DST_ERROR_SIZE);
        }
        *size = kept;
    }
    program->matrix = NULL;
    CHECK(DST(qp_prepare)(program, k->constants, constants) == DST_ERROR_NULL);
    program->matrix = k->matrix;
    /* Data that is refused; the constants are then not those of a program. */
    for (int which = 0; which < 4; which++) {
        REAL *entry = which == 0 ? &k->hessian[3] : which == 1 ? &k->matrix[2] : which == 2 ? &program->tolerance : &k->hessian[0];
        const REAL kept = *entry;
        *entry = which == 3 ? -1 : nan;
        CHECK(DST(qp_prepare)(program, k->constants, constants) == DST_ERROR_PROGRAM);
        *entry = kept;
    }
    program->caps = k->caps;
    k->caps[1] = -1;
    CHECK(DST(qp_prepare)(program, k->constants, constants) == DST_ERROR_PROGRAM);
    program->caps = NULL;
    OWN(qp_two)();
    k->hessian[0] = -1;
    CHECK(DST(qp_prepare)(program, k->constants, constants) == DST_ERROR_PROGRAM);
    CHECK(OWN(qp_run)(10) == DST_ERROR_NOT_INITIALISED);
    OWN(qp_two)();
    k->u[0] = 7;
    k->outcome.steps = 99;
#define SOLVE(c, cn, n, nn, w, wn, q, l, h, u, o) DST(qp_solve)(program, c, cn, n, nn, w, wn, q, l, h, 9, u, o)
    CHECK(SOLVE(NULL, constants, k->numbers, numbers, k->words, words, k->q, k->lower, k->upper, k->u, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, NULL, numbers, k->words, words, k->q, k->lower, k->upper, k->u, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, NULL, words, k->q, k->lower, k->upper, k->u, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, NULL, k->lower, k->upper, k->u, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, k->q, NULL, k->upper, k->u, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, k->q, k->lower, NULL, k->u, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, k->q, k->lower, k->upper, NULL, &k->outcome) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, k->q, k->lower, k->upper, k->u, NULL) == DST_ERROR_NULL);
    CHECK(SOLVE(k->constants, constants - 1, k->numbers, numbers, k->words, words, k->q, k->lower, k->upper, k->u, &k->outcome)
          == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers - 1, k->words, words, k->q, k->lower, k->upper, k->u, &k->outcome)
          == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words - 1, k->q, k->lower, k->upper, k->u, &k->outcome)
          == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, k->q, k->lower, k->upper, k->q, &k->outcome)
          == DST_ERROR_OVERLAP);
    CHECK(SOLVE(k->constants, constants, k->numbers, numbers, k->words, words, k->q, k->lower, k->upper, k->numbers, &k->outcome)
          == DST_ERROR_OVERLAP);
#undef SOLVE
    for (int which = 0; which < 3; which++) {
        REAL *entry = which == 0 ? k->q : which == 1 ? k->lower : k->upper, kept = *entry;
        *entry = nan;
        CHECK(OWN(qp_run)(10) == DST_ERROR_PROGRAM);
        *entry = kept;
    }
    k->q[1] = (REAL)INFINITY;
    CHECK(OWN(qp_run)(10) == DST_ERROR_PROGRAM);
    CHECK(k->u[0] == 7 && k->outcome.steps == 99);
}

static REAL OWN(qp_random)(void)
{
    return (REAL)next_random() / (REAL)(1 << 23) - 1;
}

/* One random program, solved several times from the last set and from words that are no set. */
static void OWN(qp_fuzz)(unsigned *solved)
{
    OWN(qp_case) *k = &OWN(qp);
    const size_t n = 1 + next_random() % QP_MOST_VARIABLES, m = 1 + next_random() % QP_MOST_ROWS;
    const size_t boxed = next_random() % ((n < m ? n : m) + 1);
    const REAL close = 2000 * REAL_EPSILON;
    REAL root[QP_MOST_VARIABLES * QP_MOST_VARIABLES];
    memset(k, 0, sizeof *k);
    for (size_t i = 0; i < n * n; i++)
        root[i] = OWN(qp_random)();
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            REAL sum = i == j;
            for (size_t t = 0; t < n; t++)
                sum += root[i * n + t] * root[j * n + t];
            k->hessian[i * n + j] = sum;
        }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            k->matrix[i * n + j] = i < boxed ? (REAL)(i == j) : OWN(qp_random)();
    CHECK(OWN(qp_start)(n, m) == DST_OK);
    for (int round = 0; round < 4; round++) {
        const size_t budget = round == 3 ? next_random() % 4 : 100;
        for (size_t j = 0; j < n; j++)
            k->q[j] = 4 * OWN(qp_random)();
        for (size_t i = 0; i < m; i++) {
            const REAL a = OWN(qp_random)(), b = OWN(qp_random)();
            k->lower[i] = a < b ? a : b;
            k->upper[i] = a < b ? b : a;
            if (next_random() % 4 == 0)
                k->lower[i] = -(REAL)INFINITY;
            if (next_random() % 4 == 0)
                k->upper[i] = (REAL)INFINITY;
            if (next_random() % 16 == 0)
                k->upper[i] = k->lower[i] = a;
        }
        if (round == 2)
            for (size_t i = 0; i < DST(qp_words)(&k->program); i++)
                k->words[i] = (uint16_t)next_random();
        CHECK(OWN(qp_run)(budget) == DST_OK);
        for (size_t i = 0; i < boxed; i++)
            CHECK(k->lower[i] <= k->u[i] && k->u[i] <= k->upper[i]);
        if (k->outcome.status != DST_QP_SOLVED)
            continue;
        ++*solved;
        /* The rows are within their bounds. */
        REAL rows[QP_MOST_ROWS], gradient[QP_MOST_VARIABLES], descent = 0, size = 1;
        for (size_t i = 0; i < m; i++) {
            rows[i] = 0;
            for (size_t j = 0; j < n; j++)
                rows[i] += k->matrix[i * n + j] * k->u[j];
            CHECK(rows[i] >= k->lower[i] - close && rows[i] <= k->upper[i] + close);
        }
        /* No feasible point is better: f is convex, so its gradient at u does not descend towards random feasible points, which
         * lie between u and the points of a random walk. Stationarity: the gradient is a combination of the rows at a bound. */
        for (size_t j = 0; j < n; j++) {
            gradient[j] = k->q[j];
            for (size_t t = 0; t < n; t++)
                gradient[j] += k->hessian[j * n + t] * k->u[t];
            size += gradient[j] < 0 ? -gradient[j] : gradient[j];
        }
        for (int trial = 0; trial < 200; trial++) {
            REAL step[QP_MOST_VARIABLES], slope = 0;
            int allowed = 1;
            for (size_t j = 0; j < n; j++) {
                step[j] = OWN(qp_random)();
                slope += step[j] * gradient[j];
            }
            for (size_t i = 0; i < m; i++) {
                REAL moved = 0;
                for (size_t j = 0; j < n; j++)
                    moved += k->matrix[i * n + j] * step[j];
                if ((rows[i] >= k->upper[i] - close && moved > 0) || (rows[i] <= k->lower[i] + close && moved < 0))
                    allowed = 0;
            }
            if (allowed && slope < descent)
                descent = slope;
        }
        CHECK(descent >= -close * size);
    }
}
