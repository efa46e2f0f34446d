/* Tuned controllers in closed loop with simulated plants: bit-identical to dst_models::ticks in Rust.
 *
 * No library: only dst_controller.h and the constants written by `dst control export`. */

#include "check.h"

#include "quadrotor.h"
#include "safety_filter.h"

#define TICKS 12
#define BUDGET 150
#define H 0.05f

typedef struct {
    uint32_t iterations, worst, unsolved, inputs, state;
} report;

static void digest(uint32_t *sum, const float *values, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        *sum = (*sum ^ bits) * 0x01000193U;
    }
}

/* Nominal inputs over the horizon, from a PD controller that follows a triangle wave beyond the box. */
static void wish(int tick, int axis, const float *x, float *linear, int stages)
{
    float p = x[0], v = x[1];
    for (int k = 0; k < stages; k++) {
        const int phase = (tick + k + 13 * axis) % 80;
        const float target = phase < 40 ? 0.1f * (float)phase - 2.0f : 6.0f - 0.1f * (float)phase;
        const float speed = phase < 40 ? 2.0f : -2.0f;
        const float u = 7.0f * (target - p) + 3.0f * (speed - v);
        p += H * v + 0.5f * H * H * u;
        v += H * u;
        linear[k] = -200.0f * u;
    }
}

static void advance(const dst_admm_controller *c, const float *a, const float *b, float *x, const float *u)
{
    float old[12];
    for (int block = 0; block < c->blocks; block++, x += c->states, u += c->inputs) {
        memcpy(old, x, (size_t)c->states * sizeof *x);
        for (int i = 0; i < c->states; i++) {
            float sum = 0;
            for (int j = 0; j < c->states; j++)
                sum += a[i * c->states + j] * old[j];
            for (int j = 0; j < c->inputs; j++)
                sum += b[i * c->inputs + j] * u[j];
            x[i] = sum;
        }
    }
}

/* Begin and end of a tick, for the count of instructions; one address each. */
void dst_safety_begins(void);
void dst_safety_ends(void);
void dst_hover_begins(void);
void dst_hover_ends(void);
__attribute__((noinline)) void dst_safety_begins(void) { __asm__ volatile(""); }
__attribute__((noinline)) void dst_safety_ends(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void dst_hover_begins(void) { __asm__ volatile("" ::: "cc"); }
__attribute__((noinline)) void dst_hover_ends(void) { __asm__ volatile("" ::: "memory", "cc"); }

static float memory[SAFETY_FILTER_MEMORY > QUADROTOR_MEMORY ? SAFETY_FILTER_MEMORY : QUADROTOR_MEMORY];

static report run(const dst_admm_controller *c, const float *a, const float *b, float *x, float *extra, void (*begins)(void),
                  void (*ends)(void))
{
    report r = { 0, 0, 0, 0x811c9dc5U, 0x811c9dc5U };
    float u[4];
    memset(memory, 0, sizeof memory);
    for (int k = 0; k < TICKS; k++) {
        dst_admm_outcome outcome;
        int refused;
        for (int axis = 0; extra != NULL && axis < c->blocks; axis++)
            wish(k, axis, x + axis * c->states, extra + axis * c->stages * c->inputs, c->stages);
        begins();
        refused = dst_admm_tick(c, memory, x, extra, BUDGET, u, &outcome);
        ends();
        CHECK(refused == 0);
        for (int i = 0; i < c->blocks * c->inputs; i++)
            CHECK(c->lower[i % c->inputs] <= u[i] && u[i] <= c->upper[i % c->inputs]);
        r.iterations += (uint32_t)outcome.iterations;
        if ((uint32_t)outcome.iterations > r.worst)
            r.worst = (uint32_t)outcome.iterations;
        r.unsolved += !outcome.solved;
        digest(&r.inputs, u, c->blocks * c->inputs);
        advance(c, a, b, x, u);
    }
    digest(&r.state, x, c->blocks * c->states);
    return r;
}

static void show(const char *name, report r)
{
    const uint32_t words[6] = { 0, r.iterations, r.worst, r.unsolved, r.inputs, r.state };
    put("ticks ");
    put(name);
    for (int i = 0; i < 6; i++) {
        put(" ");
        put_hex(words[i], 8);
    }
    put("\n");
}

int main(void)
{
    float axes[8] = { 0.2f, -0.3f, -0.5f, 0.4f, 0.6f, 0.1f, 0.0f, 0.7f };
    float body[12] = { 1.0f, -0.8f, 0.6f, 0.1f, -0.1f, 0.2f, 0.3f, -0.2f, 0.1f, 0.2f, -0.3f, 0.1f };
    float extra[36], u[4];
    dst_admm_outcome outcome;
    show("safety_filter", run(&safety_filter, safety_filter_a, safety_filter_b, axes, extra, dst_safety_begins, dst_safety_ends));
    show("quadrotor", run(&quadrotor, quadrotor_a, quadrotor_b, body, NULL, dst_hover_begins, dst_hover_ends));
    /* A state so large that the program overflows is not solved; the inputs keep their bounds, and the next tick is valid. */
    for (int place = 0; place < 12; place++)
        for (int budget = 0; budget <= 3; budget++) {
            const float kept = body[place];
            body[place] = place % 2 == 0 ? 3e38f : -3e38f;
            CHECK(dst_admm_tick(&quadrotor, memory, body, NULL, budget, u, &outcome) == 0 && !outcome.solved);
            for (int i = 0; i < 4; i++)
                CHECK(quadrotor.lower[i] <= u[i] && u[i] <= quadrotor.upper[i]);
            body[place] = kept;
            CHECK(dst_admm_tick(&quadrotor, memory, body, NULL, BUDGET, u, &outcome) == 0 && outcome.solved);
            for (int i = 0; i < 4; i++)
                CHECK(quadrotor.lower[i] <= u[i] && u[i] <= quadrotor.upper[i]);
        }
    /* A state with NaN is rejected, and nothing is written. */
    memset(&body[3], 0xff, sizeof body[3]);
    outcome.iterations = -1;
    CHECK(dst_admm_tick(&quadrotor, memory, body, NULL, 5, u, &outcome) == 1 && outcome.iterations == -1);
    return summary("ticks");
}
