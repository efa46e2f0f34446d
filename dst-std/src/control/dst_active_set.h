/* Exact model predictive control for microcontrollers by a dual active set: C99, no heap, no library, single precision.
 *
 * The constants of a controller come from `dst control export`. A tick takes its parameter p (the measured state, and what else
 * the model has: references, the previous input), starts from the active set of the last tick, shifted by a stage, makes at most
 * `budget` steps, and writes the inputs to apply. They are always within their bounds.
 *
 * The rows of the program are s = A u + E p, stage by stage: the inputs of the stage, then its outputs, then its rates. With
 * multipliers lambda, positive at an upper bound and negative at a lower one, s = s0 - W lambda, where s0 are the rows without
 * bounds. So a tick works on rows alone: see dst_core::qp in Rust, which makes the same operations in the same order. The bits are
 * the same, if the compiler does not fuse multiplications and additions (gcc: -ffp-contract=off).
 *
 * Sizes are read from the controller. If it is a constant of the same file, the compiler knows them. Compile with gcc -Os where flash
 * is short: half the code of -O3, and a quarter more instructions.
 */
#ifndef DST_ACTIVE_SET_H
#define DST_ACTIVE_SET_H

#include <stddef.h>
#include <stdint.h>

/* No bound, and no cap. */
#define DST_NONE 3.402823466e+38f

typedef struct {
    int inputs;                  /* per stage of a block */
    int parameters;              /* length of p of a block; with a roll-out, the number of states */
    int blocks;                  /* independent copies of the plant */
    int capacity;                /* most rows that the active set can hold; a tick that needs more is late */
    int rows;                    /* of a block: m */
    int kinds;                   /* rows of a stage */
    const float *gram;           /* W, m x m, row by row; the diagonal contains 1/rho of a quadratic penalty */
    const float *scale;          /* 1/sqrt(W_jj) */
    const float *caps;           /* of one stage: c of the penalty c|v|, DST_NONE for a hard row; NULL for none */
    const float *lifts;          /* of one stage: 1/rho of the penalty rho/2 v^2, 0 for a hard row; NULL for none */
    float tolerance;             /* violation that counts as zero, relative to the terms of the row */
    const float *lower, *upper;  /* of one stage */
    const float *map;            /* s0 = M p, column by column; NULL for a roll-out */
    const float *a, *b;          /* roll-out: x+ = A x + B u, row by row */
    const float *feedback;       /* K: u = -feed extra - K x; NULL for none */
    const float *outputs;        /* C: the outputs of a stage are C x+; NULL for x+ itself, or for none */
    const float *feed;           /* NULL if ticks have no extra term */
} dst_controller;

typedef enum {
    DST_CONTROLLER_SOLVED = 0,    /* all rows are within their bounds */
    DST_CONTROLLER_SOFTENED = 1,  /* solved, and at least one soft row is beyond its bound */
    DST_CONTROLLER_LATE = 2,      /* the deadline or the end of the memory came first */
    DST_CONTROLLER_INFEASIBLE = 3 /* no inputs satisfy the hard rows */
} dst_controller_status;

typedef struct {
    dst_controller_status status; /* of all blocks: the largest */
    int steps;                    /* of all blocks: solutions with the factor, one per change of the set */
} dst_outcome;

/* Numbers of memory; `states` is 0 with a map. Their first value does not matter. */
#define DST_CONTROLLER_NUMBERS(rows, capacity, states)                                                                            \
    (2 * (rows) + (capacity) * ((capacity)-1) / 2 + 5 * (capacity) + 2 * (states))
/* Words of memory; zero them before the first tick. */
#define DST_CONTROLLER_WORDS(capacity, blocks) ((blocks) * (2 * (capacity) + 2))

/* Violated rows that a pass over all rows remembers. */
#define DST_SEARCH_CANDIDATES 16

/* Violation that counts as zero: one machine epsilon, and eight where rounding decides. */
#define DST_SEARCH_FINE 1.1920928955078125e-7f
#define DST_SEARCH_COARSE 9.5367431640625e-7f

/* Functions that are called from several places stay functions, for their size. */
#if defined(__GNUC__)
#define DST_SEARCH_SHARED static __attribute__((noinline, unused))
#else
#define DST_SEARCH_SHARED static inline
#endif

/* Loops over all rows, with few operations for each. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE_SIZE__)
#define DST_SEARCH_UNROLL _Pragma("GCC unroll 9")
#else
#define DST_SEARCH_UNROLL
#endif

/* Rows of the set that are subtracted together. Pointers to four of them do not fit into the registers at -Os. */
#if defined(__OPTIMIZE_SIZE__)
#define DST_SEARCH_ROWS 3
#else
#define DST_SEARCH_ROWS 4
#endif

/* A condition that is seldom true. */
#if defined(__GNUC__)
#define DST_SEARCH_SELDOM(condition) __builtin_expect(condition, 0)
#else
#define DST_SEARCH_SELDOM(condition) (condition)
#endif

/* A short loop that the compiler must not turn into a call of memmove. */
#if defined(__GNUC__)
#define DST_SEARCH_SHORT_LOOP __asm__ volatile("")
#else
#define DST_SEARCH_SHORT_LOOP ((void)0)
#endif

/* Solve in progress. An entry of the set is a row, shifted by two, whether it is an equation (2), and its side (1: upper). Numbers are
 * last: short instructions reach the first words only, and none of them loads a number. */
typedef struct {
    const float *lower, *upper;
    float *start, *rows;   /* s0, without the rows that are saturated; room for s */
    const float *solution; /* s: one of them */
    float *packed;         /* L without its diagonal, row by row */
    float *inverse;        /* 1/D */
    float *forward;        /* inverse of L times (s0 - b) */
    float *multipliers, *target, *bounds;
    uint16_t *free, *saturated;
    int frees, saturates;  /* entries of the two lists */
    int factored;          /* rows of the set that are part of the factor */
    int fresh;             /* no row was taken out of the factor since it was built */
    int steps, budget;
    int narrow;            /* the multipliers cancel each other: the rows of the set are nearly dependent */
    int accurate;          /* the rows of the set were at their bounds, to rounding */
    int stale;             /* s is not that of the multipliers */
    int candidates;        /* violated rows that are not in the set */
    int chosen;            /* place of the worst one among them */
    /* Worst violation. Its entry is -1 for none and -2 if s is not finite; `place` is that in the list of saturated rows, for one
     * that returns within its bound, or -1. */
    int entry, place;
    float bound, amount;
    float pivot;            /* of the last row that was found dependent, at least the rounding of it */
    float tolerance, noise; /* violation that counts as zero: relative, and what the multipliers add to it */
    float coarse;           /* tolerance where rounding decides */
    float norm;             /* size of what is summed in W lambda */
    float square;           /* lambda'(s0 - s) before the last row was added */
    uint16_t candidate[DST_SEARCH_CANDIDATES];
} dst_search;

static inline float dst_search_abs(float x)
{
#if defined(__GNUC__)
    return __builtin_fabsf(x);
#else
    return x < 0 ? -x : x;
#endif
}

static inline float dst_search_outward(int entry, float value)
{
    return (entry & 1) != 0 ? value : -value;
}

static inline float dst_search_cap(const dst_controller *c, int row)
{
    return c->caps != NULL ? c->caps[row % c->kinds] : DST_NONE;
}

/* Saturated rows; without caps there are none, and no code for them. */
static inline int dst_search_saturates(const dst_controller *c, const dst_search *s)
{
    return c->caps != NULL ? s->saturates : 0;
}

static inline float dst_search_bound(const dst_controller *c, const dst_search *s, int entry)
{
    return ((entry & 1) != 0 ? s->upper : s->lower)[(entry >> 2) % c->kinds];
}

/* The entry of a row and a side, with the mark of an equation. */
static inline int dst_search_entry(const dst_controller *c, const dst_search *s, int entry)
{
    const int kind = (entry >> 2) % c->kinds;
    return entry | (s->lower[kind] == s->upper[kind] ? 2 : 0);
}

/* Adds the part of a saturated row to s0, or takes it out (-1). */
DST_SEARCH_SHARED void dst_search_move(const dst_controller *c, dst_search *s, int place, float sign)
{
    const int m = c->rows, entry = s->saturated[place], row = entry >> 2;
    const float multiplier = dst_search_outward(entry, dst_search_cap(c, row)) * sign;
    const float *gram = c->gram + row * m;
    for (int j = 0; j < m; j++)
        s->start[j] += multiplier * gram[j];
}

/* Forgets the set; s is then s0. */
static inline void dst_search_discard(const dst_controller *c, dst_search *s)
{
    for (int place = 0; place < dst_search_saturates(c, s); place++)
        dst_search_move(c, s, place, 1);
    s->saturates = s->frees = s->factored = 0;
    s->solution = s->start;
}

/* Forward substitution of row k. */
DST_SEARCH_SHARED void dst_search_substitute(dst_search *s, int k)
{
    const float *l = s->packed + k * (k - 1) / 2;
    float value = s->start[s->free[k] >> 2] - s->bounds[k];
    for (int t = 0; t < k; t++)
        value -= l[t] * s->forward[t];
    s->forward[k] = value;
}

/* Solves L' x = x for the first n rows, in place; two rows at a time, so that an entry of x is loaded and stored once for both. */
DST_SEARCH_SHARED void dst_search_back(const dst_search *s, int n)
{
    float *x = s->target;
    const float *row = s->packed + n * (n - 1) / 2;
    int k = n - 1;
    for (; k > 1; k -= 2) {
        const float *last = row - k, *before = last - (k - 1);
        const float p = x[k], q = x[k - 1] - last[k - 1] * p;
        x[k - 1] = q;
        row = before;
        for (int i = 0; i < k - 1; i++)
            x[i] = x[i] - *last++ * p - *before++ * q;
    }
    if (k == 1)
        x[0] -= row[-1] * x[1];
}

/* Direction in which the multipliers change nothing if row k depends on those before: it ends with `sign`. */
static inline void dst_search_null_direction(const dst_search *s, int k, float sign)
{
    const float *row = s->packed + k * (k - 1) / 2;
    for (int i = 0; i < k; i++)
        s->target[i] = -row[i] * sign;
    dst_search_back(s, k);
    s->target[k] = sign;
}

/* Judges a pivot that may be rounding: rounding of W changes it by up to epsilon (sum of |y_i| sqrt(W_ii))^2, where y is the null
 * direction. Returns 1 if it is more than that. */
DST_SEARCH_SHARED int dst_search_resolve(const dst_controller *c, dst_search *s, int k, float pivot, float least)
{
    float sum = 0, noise;
    dst_search_null_direction(s, k, 1);
    for (int i = 0; i <= k; i++) {
        const int row = s->free[i] >> 2;
        sum += dst_search_abs(s->target[i]) * c->gram[row * (c->rows + 1)] * c->scale[row];
    }
    noise = 1.1920928955078125e-7f * sum * sum;
    if (pivot > least && pivot > 16 * noise)
        return 1;
    pivot = dst_search_abs(pivot);
    s->pivot = pivot > 0.0625f * noise ? pivot : 0.0625f * noise;
    return 0;
}

/* Appends the next row of the set to the factor; 0 if it depends on those before. */
DST_SEARCH_SHARED int dst_search_append(const dst_controller *c, dst_search *s)
{
    const int m = c->rows, k = s->factored, own = s->free[k] >> 2;
    const float *gram = c->gram + own * m, *before = s->packed;
    float *row = s->packed + k * (k - 1) / 2;
    float pivot = gram[own], value = s->start[own] - s->bounds[k];
    const float least = 1.9073486328125e-6f * pivot; /* 16 machine epsilons */
    int done = 0;
#ifndef __OPTIMIZE_SIZE__
    /* Two entries at a time: an entry of the row is loaded once for both. */
    for (; done + 1 < k; done += 2) {
        float p = gram[s->free[done] >> 2], q = gram[s->free[done + 1] >> 2];
        const float *next = before + done;
        for (int t = 0; t < done; t++) {
            p -= *before++ * row[t];
            q -= *next++ * row[t];
        }
        row[done] = p;
        row[done + 1] = q - *next++ * p;
        before = next;
    }
#endif
    for (; done < k; done++) {
        float p = gram[s->free[done] >> 2];
        for (int t = 0; t < done; t++)
            p -= *before++ * row[t];
        row[done] = p;
#ifndef __OPTIMIZE_SIZE__
        break; /* It was the last. */
#endif
    }
    for (int i = 0; i < k; i++) {
        const float entry = row[i], l = entry * s->inverse[i];
        row[i] = l;
        pivot -= entry * l;
        value -= l * s->forward[i];
    }
    s->forward[k] = value;
    /* Written so that a NaN depends on the others. */
    s->inverse[k] = pivot > least ? 1 / pivot : 0;
    if (!(pivot > 0.01f * gram[own]) || s->narrow)
        if (!dst_search_resolve(c, s, k, pivot, least))
            return 0;
    s->factored = k + 1;
    return 1;
}

/* The multipliers are those of `target`. */
static inline void dst_search_arrive(dst_search *s)
{
    float *from = s->multipliers;
    s->multipliers = s->target;
    s->target = from;
}

/* Multipliers of the rows of the factor, to `target`. */
static inline void dst_search_solve(dst_search *s)
{
    for (int k = 0; k < s->factored; k++)
        s->target[k] = s->forward[k] * s->inverse[k];
    dst_search_back(s, s->factored);
    s->steps++;
}

/* Takes row k out of the factor by a rank-one update of the rows behind it. `target` and `forward` are scratch. */
static inline void dst_search_remove(dst_search *s, int k)
{
    const int n = s->factored;
    float alpha = 1 / s->inverse[k], *p = s->target, *beta = s->forward + k;
    for (int i = k + 1; i < n; i++) {
        /* Row i becomes row i - 1: the part before column k stays, the part behind it moves left and is updated. */
        const float *from = s->packed + i * (i - 1) / 2;
        float *to = s->packed + (i - 1) * (i - 2) / 2;
        const int done = i - 1 - k;
        for (int t = 0; t < k; t++)
            to[t] = from[t];
        from += k;
        to += k;
        float w = *from++;
        for (int t = 0; t < done; t++) {
            const float l = from[t];
            w -= p[t] * l;
            to[t] = l + beta[t] * w;
        }
        const float d = 1 / s->inverse[i], inverted = 1 / (d + alpha * w * w);
        s->inverse[i - 1] = inverted;
        p[done] = w;
        beta[done] = w * alpha * inverted;
        alpha *= d * inverted;
    }
    s->factored = n - 1;
}

/* Takes row `place` out of the set and, if it is part of it, out of the factor. */
DST_SEARCH_SHARED void dst_search_take_out(dst_search *s, int place)
{
    if (place < s->factored) {
        dst_search_remove(s, place);
        s->fresh = s->fresh && place == s->factored;
    }
    s->frees--;
    for (int i = place; i < s->frees; i++) {
        s->free[i] = s->free[i + 1];
        s->multipliers[i] = s->multipliers[i + 1];
        s->bounds[i] = s->bounds[i + 1];
        DST_SEARCH_SHORT_LOOP;
    }
    for (int k = place; k < s->factored; k++)
        dst_search_substitute(s, k);
}

/* Moves a row of the set to the saturated ones; 0 if there is no room. */
static inline int dst_search_saturate(const dst_controller *c, dst_search *s, int place)
{
    if (s->saturates >= c->capacity)
        return 0;
    s->saturated[s->saturates++] = s->free[place];
    dst_search_take_out(s, place);
    dst_search_move(c, s, s->saturates - 1, -1);
    for (int k = 0; k < s->factored; k++)
        dst_search_substitute(s, k);
    return 1;
}

/* Moves every row of a list of the last tick to the stage before, and keeps those that have a bound; notes the bounds. Returns
 * their number. */
DST_SEARCH_SHARED int dst_search_shift(const dst_controller *c, const dst_search *s, uint16_t *list, int count, float *bounds)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const int row = (list[i] >> 2) - c->kinds, upper = list[i] & 1;
        if (row >= 0 && row < c->rows) {
            const int kind = row % c->kinds;
            const float lower_bound = s->lower[kind], upper_bound = s->upper[kind], bound = upper != 0 ? upper_bound : lower_bound;
            if (dst_search_abs(bound) < DST_NONE) {
                bounds[kept] = bound;
                list[kept++] = (uint16_t)((row << 2) | (lower_bound == upper_bound ? 2 : 0) | upper);
            }
        }
    }
    return kept;
}

static inline int dst_search_is_saturated(const dst_controller *c, const dst_search *s, int row)
{
    for (int i = 0; i < dst_search_saturates(c, s); i++)
        if (s->saturated[i] >> 2 == row)
            return 1;
    return 0;
}

/* Notes a row that is violated. The worst one enters the set next, and others are candidates for the steps after it; in a cold
 * start, one that is violated by more than its own bound enters the set at once. */
DST_SEARCH_SHARED void dst_search_note(const dst_controller *c, dst_search *s, int row, float value, int cold)
{
    const int kind = row % c->kinds;
    const int above = value > s->upper[kind];
    const float bound = above ? s->upper[kind] : s->lower[kind], scale = c->scale[row];
    const float off = dst_search_abs(value - bound), amount = off * scale;
    const float size = dst_search_abs(bound) + dst_search_abs(s->start[row]);
    const int entry = (row << 2) | above;
    /* Written so that a NaN is noted. */
    if (amount <= s->tolerance * size * scale + s->noise || dst_search_is_saturated(c, s, row))
        return;
    /* One place is left for the first row that is added. */
    if (cold && off > dst_search_abs(bound) && s->frees + 1 < c->capacity) {
        s->bounds[s->frees] = bound;
        s->free[s->frees++] = (uint16_t)dst_search_entry(c, s, entry);
        return;
    }
    if (amount > s->amount) {
        s->entry = entry;
        s->chosen = s->candidates;
        s->place = -1;
        s->bound = bound;
        s->amount = amount;
    } else if (amount != amount) {
        s->entry = -2;
        s->amount = DST_NONE;
    }
    if (s->candidates < DST_SEARCH_CANDIDATES)
        s->candidate[s->candidates++] = (uint16_t)row;
}

/* Finds the largest violation that is not rounding, and the candidates. */
static inline void dst_search_scan(const dst_controller *c, dst_search *s, const float *rows, int cold)
{
    const int m = c->rows, kinds = c->kinds;
    s->candidates = 0;
    s->entry = -1;
    s->amount = 0;
    for (int first = 0; first < m; first += kinds)
        DST_SEARCH_UNROLL
        for (int kind = 0; kind < kinds; kind++) {
            const float value = rows[first + kind];
            /* Written so that a NaN is violated. */
            if (DST_SEARCH_SELDOM(!(value <= s->upper[kind] && value >= s->lower[kind])))
                dst_search_note(c, s, first + kind, value, cold);
        }
}

/* Makes the set dual feasible: factors it without dependent rows, and takes rows out whose multiplier has the wrong sign.
 * Returns 0 if the deadline came first. */
static inline int dst_search_restore(const dst_controller *c, dst_search *s)
{
    while (s->frees > 0) {
        int changed = 0;
        if (s->steps >= s->budget)
            return 0;
        while (s->factored < s->frees)
            if (!dst_search_append(c, s))
                dst_search_take_out(s, s->factored);
        dst_search_solve(s);
        for (int place = s->frees - 1; place >= 0; place--) {
            const int entry = s->free[place];
            const float value = dst_search_outward(entry, s->target[place]);
            const int wrong = value < 0 && (entry & 2) == 0;
            if (wrong || (c->caps != NULL && value > dst_search_cap(c, entry >> 2))) {
                /* The factor of the rows before stays valid: cheaper than an update for each of them. */
                if (s->factored > place)
                    s->factored = place;
                if (wrong)
                    dst_search_take_out(s, place);
                else if (!dst_search_saturate(c, s, place))
                    return 0;
                changed = 1;
            }
        }
        if (!changed)
            break;
    }
    dst_search_arrive(s);
    return 1;
}

/* Computes s = s0 - W lambda, all rows by their entries of W. */
static inline void dst_search_subtract(const dst_controller *c, dst_search *s)
{
    const int m = c->rows, n = s->frees;
    const float *from = s->start, *lambda = s->multipliers;
    float *to = s->rows;
    for (int i = 0; i < n; i += DST_SEARCH_ROWS) {
        const int left = n - i;
        const float *a = c->gram + (s->free[i] >> 2) * m, p = lambda[i];
        if (left == 1) {
            DST_SEARCH_UNROLL
            for (int j = 0; j < m; j++)
                to[j] = from[j] - a[j] * p;
            return;
        }
        const float *b = c->gram + (s->free[i + 1] >> 2) * m, q = lambda[i + 1];
        if (left == 2) {
            DST_SEARCH_UNROLL
            for (int j = 0; j < m; j++)
                to[j] = from[j] - a[j] * p - b[j] * q;
            return;
        }
        const float *d = c->gram + (s->free[i + 2] >> 2) * m, r = lambda[i + 2];
        if (DST_SEARCH_ROWS == 3 || left == 3) {
            DST_SEARCH_UNROLL
            for (int j = 0; j < m; j++)
                to[j] = from[j] - a[j] * p - b[j] * q - d[j] * r;
            if (DST_SEARCH_ROWS != 3)
                return;
        } else {
            const float *e = c->gram + (s->free[i + 3] >> 2) * m, v = lambda[i + 3];
            DST_SEARCH_UNROLL
            for (int j = 0; j < m; j++)
                to[j] = from[j] - a[j] * p - b[j] * q - d[j] * r - e[j] * v;
        }
        from = to;
    }
}

/* Computes s = s0 - W lambda. The rows of the set are then exactly at their bounds. */
DST_SEARCH_SHARED void dst_search_evaluate(const dst_controller *c, dst_search *s)
{
    float *rows = s->rows;
    s->stale = 0;
    /* Without a multiplier, s is s0. A saturated row can change s0 before s is computed again. */
    s->solution = s->start;
    if (s->frees + dst_search_saturates(c, s) == 0)
        return;
    s->solution = rows;
    if (s->frees == 0)
        for (int j = 0; j < c->rows; j++)
            rows[j] = s->start[j];
    dst_search_subtract(c, s);
    s->accurate = 1;
    for (int i = 0; i < s->frees; i++) {
        const int row = s->free[i] >> 2;
        const float bound = s->bounds[i];
        if (!s->fresh) {
            const float size = dst_search_abs(bound) + dst_search_abs(s->start[row]), scale = c->scale[row];
            if (!(dst_search_abs(rows[row] - bound) * scale <= s->coarse * size * scale + s->coarse * s->norm))
                s->accurate = 0;
        }
        rows[row] = bound;
    }
}

/* Sum of |lambda_i| sqrt(W_ii), the size of what is summed, and lambda'(s0 - s): the rows of the set are at their bounds. */
static inline float dst_search_sizes(const dst_controller *c, const dst_search *s, float *square)
{
    float norm = 0, sum = 0;
    for (int i = 0; i < s->frees; i++) {
        const int row = s->free[i] >> 2;
        const float value = s->multipliers[i];
        norm += dst_search_abs(value) * c->gram[row * (c->rows + 1)] * c->scale[row];
        sum += value * (s->start[row] - s->bounds[i]);
    }
    *square = sum;
    return norm;
}

/* Finds the row that enters next among all rows. */
static inline void dst_search_worst(const dst_controller *c, dst_search *s)
{
    dst_search_scan(c, s, s->solution, 0);
    /* A saturated row that is within its bound returns. */
    for (int place = 0; place < dst_search_saturates(c, s); place++) {
        const int entry = s->saturated[place], row = entry >> 2;
        const float bound = dst_search_bound(c, s, entry), scale = c->scale[row];
        const float size = dst_search_abs(bound) + dst_search_abs(s->start[row]);
        const float scaled = dst_search_outward(entry, bound - s->solution[row]) * scale;
        if (scaled > s->amount && scaled > s->tolerance * size * scale + s->noise) {
            s->entry = entry;
            s->place = place;
            s->bound = bound;
            s->amount = scaled;
        }
    }
}

/* Finds the largest violation among the candidates; those that are satisfied are forgotten. */
static inline void dst_search_worst_candidate(const dst_controller *c, dst_search *s)
{
    const int m = c->rows, kinds = c->kinds, n = s->frees, count = s->candidates;
    s->candidates = 0;
    s->entry = -1;
    s->amount = 0;
    for (int i = 0; i < count; i++) {
        const int row = s->candidate[i], kind = row % kinds;
        const float *gram = c->gram + row * m;
        float value = s->start[row];
        for (int k = 0; k < n; k++)
            value -= gram[s->free[k] >> 2] * s->multipliers[k];
        if (!(value <= s->upper[kind] && value >= s->lower[kind]))
            dst_search_note(c, s, row, value, 0);
    }
}

static inline dst_controller_status dst_search_solved(const dst_controller *c, const dst_search *s)
{
    if (dst_search_saturates(c, s) > 0)
        return DST_CONTROLLER_SOFTENED;
    for (int i = 0; c->lifts != NULL && i < s->frees; i++)
        if (c->lifts[(s->free[i] >> 2) % c->kinds] > 0)
            return DST_CONTROLLER_SOFTENED;
    return DST_CONTROLLER_SOLVED;
}

/* Puts the worst row at the end of the set, with the multiplier that it has now. */
static inline void dst_search_enter(const dst_controller *c, dst_search *s)
{
    float multiplier = 0;
    if (c->caps != NULL && s->place >= 0) {
        multiplier = dst_search_outward(s->entry, dst_search_cap(c, s->entry >> 2));
        dst_search_move(c, s, s->place, 1);
        s->saturates--;
        for (int i = s->place; i < dst_search_saturates(c, s); i++)
            s->saturated[i] = s->saturated[i + 1];
        for (int k = 0; k < s->factored; k++)
            dst_search_substitute(s, k);
    } else if (s->chosen < s->candidates) {
        /* It is a candidate no more. */
        s->candidate[s->chosen] = s->candidate[--s->candidates];
    }
    s->free[s->frees] = (uint16_t)dst_search_entry(c, s, s->entry);
    s->multipliers[s->frees] = multiplier;
    s->bounds[s->frees] = s->bound;
    s->frees++;
}

/* First row whose multiplier reaches its limit on the way to `target`, or in its direction; -1 for none. */
static inline int dst_search_limiting_row(const dst_controller *c, const dst_search *s, int direction, float *length, int *saturates)
{
    /* num/den is the shortest step so far; products instead of quotients, because a division takes 14 cycles. */
    float num = 1, den = 1;
    int block = -1;
    for (int i = 0; i < s->frees; i++) {
        const int entry = s->free[i];
        const float target = dst_search_outward(entry, s->target[i]);
        float value, way, speed;
        int capped = 0;
        if (target < 0 && (entry & 2) == 0) {
            way = value = dst_search_outward(entry, s->multipliers[i]);
        } else if (c->caps != NULL && target > 0) {
            const float cap = dst_search_cap(c, entry >> 2);
            if (cap >= DST_NONE || !(direction || target > cap))
                continue;
            value = dst_search_outward(entry, s->multipliers[i]);
            way = cap - value;
            capped = 1;
        } else {
            continue;
        }
        speed = dst_search_abs(direction ? target : target - value);
        way = way > 0 ? way : 0;
        if (way * den < num * speed || (direction && block < 0)) {
            num = way;
            den = speed;
            block = i;
            *saturates = capped;
        }
    }
    if (block >= 0)
        *length = num / den;
    return block;
}

/* Nothing blocks the null direction. That proves that there is no solution, unless the new row is only nearly dependent and a
 * distant point satisfies it. */
static inline dst_controller_status dst_search_no_way(const dst_controller *c, dst_search *s)
{
    s->frees--;
    return s->amount * s->amount * c->gram[(s->entry >> 2) * (c->rows + 1)] > s->pivot * s->square ? DST_CONTROLLER_INFEASIBLE
                                                                                                   : DST_CONTROLLER_LATE;
}

/* Results of a climb and of an ascent that are no status. */
#define DST_SEARCH_ON (-1)
#define DST_SEARCH_AGAIN 4

/* Solves with the new row, the last of the set; rows that block the way leave. */
static inline int dst_search_climb(const dst_controller *c, dst_search *s)
{
    for (;;) {
        const int last = s->frees - 1;
        const int singular = s->factored < s->frees && !dst_search_append(c, s);
        float length = 0;
        int block, saturates = 0;
        if (singular) {
            const float sign = (c->caps == NULL || s->place < 0) == (s->entry & 1) ? 1.0f : -1.0f;
            dst_search_null_direction(s, last, sign);
            s->steps++;
        } else {
            dst_search_solve(s);
        }
        block = dst_search_limiting_row(c, s, singular, &length, &saturates);
        if (block < 0) {
            if (singular) {
                const int status = dst_search_no_way(c, s);
                /* A violation that may be rounding proves nothing. */
                if (s->tolerance < s->coarse) {
                    s->tolerance = s->coarse;
                    return DST_SEARCH_ON;
                }
                return s->fresh ? status : status + DST_SEARCH_AGAIN;
            }
            dst_search_arrive(s);
            return DST_SEARCH_ON;
        }
        for (int i = 0; i < s->frees; i++)
            s->multipliers[i] += length * (singular ? s->target[i] : s->target[i] - s->multipliers[i]);
        if (c->caps == NULL || !saturates)
            dst_search_take_out(s, block);
        else if (!dst_search_saturate(c, s, block))
            return DST_CONTROLLER_LATE;
        /* The new row itself has left: at its cap, or without a multiplier. */
        if (block == last)
            return DST_SEARCH_ON;
        if (s->steps >= s->budget)
            return DST_CONTROLLER_LATE;
    }
}

/* Adds violated rows until there is none: the worst of the candidates, or the worst of all rows if no candidate is violated. A
 * status that a factor built anew might change is raised by DST_SEARCH_AGAIN. */
static inline int dst_search_ascend(const dst_controller *c, dst_search *s)
{
    for (;;) {
        float square;
        const float norm = dst_search_sizes(c, s, &square);
        int status = DST_CONTROLLER_LATE;
        /* As many steps are a sign that rounding decides. */
        if (s->steps >= 2 * c->capacity)
            s->tolerance = s->coarse;
        s->narrow = 0.01f * norm * norm > square;
        s->noise = s->tolerance * norm;
        s->norm = norm;
        s->square = square;
        s->entry = -1;
        if (s->candidates > 0)
            dst_search_worst_candidate(c, s);
        if (s->entry == -1) {
            dst_search_evaluate(c, s);
            dst_search_worst(c, s);
        }
        if (s->entry == -2 || !(norm <= DST_NONE)) {
            dst_search_discard(c, s);
            return DST_CONTROLLER_LATE;
        }
        if (s->entry < 0) {
            status = dst_search_solved(c, s);
            return s->fresh || s->accurate ? status : status + DST_SEARCH_AGAIN;
        }
        /* A row that is added takes a step at least. */
        if (s->steps < s->budget && s->frees < c->capacity) {
            dst_search_enter(c, s);
            status = dst_search_climb(c, s);
            s->stale = 1;
        }
        if (status != DST_SEARCH_ON) {
            if (s->stale)
                dst_search_evaluate(c, s);
            return status;
        }
    }
}

static inline dst_controller_status dst_search_run(const dst_controller *c, dst_search *s)
{
    int repaired = 0;
    for (int kind = 0; kind < c->kinds; kind++)
        if (!(s->lower[kind] <= s->upper[kind])) {
            /* Nothing has been moved into s0 yet. */
            s->saturates = 0;
            dst_search_discard(c, s);
            return DST_CONTROLLER_INFEASIBLE;
        }
    if (dst_search_saturates(c, s) > 0) {
        /* The bounds of saturated rows are not needed. */
        s->saturates = dst_search_shift(c, s, s->saturated, s->saturates, s->bounds);
        for (int place = 0; place < s->saturates; place++)
            dst_search_move(c, s, place, -1);
    }
    s->frees = dst_search_shift(c, s, s->free, s->frees, s->bounds);
    if (s->frees + dst_search_saturates(c, s) == 0) {
        dst_search_scan(c, s, s->start, 1);
        if (s->entry == -2) {
            dst_search_discard(c, s);
            return DST_CONTROLLER_LATE;
        }
        if (s->entry == -1 && s->frees == 0)
            return DST_CONTROLLER_SOLVED;
    }
    for (;;) {
        int status;
        if (!dst_search_restore(c, s)) {
            dst_search_discard(c, s);
            return DST_CONTROLLER_LATE;
        }
        status = dst_search_ascend(c, s);
        /* Updates have made the factor inaccurate: build it again, once. */
        if (status < DST_SEARCH_AGAIN || repaired || s->fresh)
            return (dst_controller_status)(status & 3);
        repaired = 1;
        s->factored = 0;
        s->fresh = 1;
    }
}

/* s0 of a block; `state` has room for the state and the next one. */
static inline void dst_search_respond(const dst_controller *c, float *start, const float *p, const float *extra, float *state)
{
    const int m = c->rows, nx = c->parameters, nu = c->inputs;
    if (c->map != NULL) {
        const float *column = c->map;
        for (int j = 0; j < m; j++)
            start[j] = 0;
        for (int k = nx / 6; k > 0; k--, p += 6, column += 6 * m) {
            const float p0 = p[0], p1 = p[1], p2 = p[2], p3 = p[3], p4 = p[4], p5 = p[5];
            const float *a = column, *b = a + m, *d = b + m, *e = d + m, *f = e + m, *g = f + m;
            DST_SEARCH_UNROLL
            for (int j = 0; j < m; j++)
                start[j] = start[j] + a[j] * p0 + b[j] * p1 + d[j] * p2 + e[j] * p3 + f[j] * p4 + g[j] * p5;
        }
        for (int k = nx % 6; k > 0; k--, p++, column += m) {
            const float p0 = *p;
            DST_SEARCH_UNROLL
            for (int j = 0; j < m; j++)
                start[j] += column[j] * p0;
        }
        return;
    }
    const float *x = p;
    for (int first = 0; first < m; first += c->kinds) {
        float *u = start + first, *next = c->outputs == NULL && c->kinds > nu ? u + nu : x == state ? state + nx : state;
        for (int i = 0; i < nu; i++) {
            float sum = 0;
            if (extra != NULL && c->feed != NULL)
                for (int j = 0; j < nu; j++)
                    sum += c->feed[i * nu + j] * extra[j];
            if (c->feedback != NULL)
                for (int j = 0; j < nx; j++)
                    sum += c->feedback[i * nx + j] * x[j];
            u[i] = -sum;
        }
        if (extra != NULL)
            extra += nu;
        for (int i = 0; i < nx; i++) {
            float sum = 0;
            for (int j = 0; j < nx; j++)
                sum += c->a[i * nx + j] * x[j];
            for (int j = 0; j < nu; j++)
                sum += c->b[i * nu + j] * u[j];
            next[i] = sum;
        }
        x = next;
        if (c->outputs != NULL)
            for (int i = 0; i < c->kinds - nu; i++) {
                float sum = 0;
                for (int j = 0; j < nx; j++)
                    sum += c->outputs[i * nx + j] * x[j];
                u[nu + i] = sum;
            }
    }
}

/* 1 if all numbers are finite. */
static inline int dst_search_finite(const float *values, int count)
{
    float sum = 0;
    DST_SEARCH_UNROLL
    for (int i = 0; i < count; i++)
        sum += values[i] * 0;
    return sum == 0;
}

/* Discards the active set: the next tick starts cold. */
static inline void dst_controller_reset(const dst_controller *c, uint16_t *words)
{
    for (int i = 0; i < DST_CONTROLLER_WORDS(c->capacity, c->blocks); i++)
        words[i] = 0;
}

/* One tick with other bounds than those of the controller, one pair for each row of a stage.
 *
 * p: the parameters of all blocks. extra: a linear term of the cost of the inputs, for a roll-out with a feed, or NULL. numbers and
 * words: the memory. u: the inputs of all blocks; on entry the last ones, which stay if a tick overflows. Returns 0, or 1 if p,
 * extra or a bound is not a number, and then changes nothing. */
static inline int dst_controller_tick_within(const dst_controller *c, float *numbers, uint16_t *words, const float *p,
                                             const float *extra, const float *lower, const float *upper, int budget, float *u,
                                             dst_outcome *outcome)
{
    const int m = c->rows, n = c->capacity, inputs = c->inputs;
    dst_outcome all = { DST_CONTROLLER_SOLVED, 0 };
    if (!dst_search_finite(p, c->blocks * c->parameters))
        return 1;
    if (extra != NULL && !dst_search_finite(extra, c->blocks * (m / c->kinds) * inputs))
        return 1;
    for (int kind = 0; kind < c->kinds; kind++)
        if (lower[kind] != lower[kind] || upper[kind] != upper[kind])
            return 1;
    for (int block = 0; block < c->blocks; block++) {
        dst_search s;
        dst_controller_status status;
        s.lower = lower;
        s.upper = upper;
        s.start = numbers;
        s.rows = s.start + m;
        s.packed = s.rows + m;
        s.inverse = s.packed + n * (n - 1) / 2;
        s.forward = s.inverse + n;
        s.multipliers = s.forward + n;
        s.target = s.multipliers + n;
        s.bounds = s.target + n;
        s.free = words + 2;
        s.saturated = s.free + n;
        s.solution = s.start;
        s.factored = 0;
        s.fresh = s.stale = 1;
        s.candidates = s.narrow = 0;
        s.pivot = 0;
        s.steps = 0;
        s.budget = budget;
        s.tolerance = c->tolerance > DST_SEARCH_FINE ? c->tolerance : DST_SEARCH_FINE;
        s.coarse = c->tolerance > DST_SEARCH_COARSE ? c->tolerance : DST_SEARCH_COARSE;
        s.noise = 0;
        dst_search_respond(c, s.start, p, extra, s.bounds + n);
        s.frees = words[0] < n ? words[0] : n;
        s.saturates = words[1] < n ? words[1] : n;
        status = dst_search_run(c, &s);
        words[0] = (uint16_t)s.frees;
        words[1] = (uint16_t)s.saturates;
        for (int i = 0; i < inputs; i++) {
            const float row = s.solution[i], value = dst_search_abs(row) <= DST_NONE ? row : u[i];
            u[i] = value < lower[i] ? lower[i] : value > upper[i] ? upper[i] : value;
        }
        if (status > all.status)
            all.status = status;
        all.steps += s.steps;
        p += c->parameters;
        u += inputs;
        words += 2 * n + 2;
        if (extra != NULL)
            extra += m / c->kinds * inputs;
    }
    *outcome = all;
    return 0;
}

/* One tick: see dst_controller_tick_within. */
static inline int dst_controller_tick(const dst_controller *c, float *numbers, uint16_t *words, const float *p,
                                      const float *extra, int budget, float *u, dst_outcome *outcome)
{
    return dst_controller_tick_within(c, numbers, words, p, extra, c->lower, c->upper, budget, u, outcome);
}

#endif
