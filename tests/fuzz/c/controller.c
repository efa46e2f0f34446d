/* Exported controllers in C as a target of libFuzzer: the first byte chooses one, the rest are its ticks.
 *
 * States come from the plant, from the input, or are not numbers; bounds change at run time. Whatever happens, a tick ends, its
 * inputs are within their bounds, and a refused tick changes nothing. The memory has exactly its length. */

#include "controller.h"

#include "../../c/active_set/quadrotor.h"
#include "../../c/active_set/safety_filter.h"
#include "../../c/controllers/motor.h"

#define MOST_ROWS_OF_STAGE 8

const uint8_t *input;
size_t left;

float number(void)
{
    static const float some[] = { 0, 1, -1, 0.1f, -0.3f, 2, 1e-3f, 10, -50, 1e6f, -1e20f, 3.4e38f, -3.4e38f, 1e-40f, NAN, INFINITY,
                                  -INFINITY, 0.6f };
    const uint8_t b = byte();
    float value;
    uint8_t bytes[4];
    if (b < 128)
        return (float)(b - 64) / 32;
    if (b < 220)
        return some[b % (sizeof some / sizeof *some)];
    for (int i = 0; i < 4; i++)
        bytes[i] = byte();
    memcpy(&value, bytes, sizeof value);
    return value;
}

void advance(int blocks, int states, int inputs, const float *a, const float *b, float *x, const float *u)
{
    float old[12];
    for (int block = 0; block < blocks; block++, x += states, u += inputs) {
        memcpy(old, x, (size_t)states * sizeof *x);
        for (int i = 0; i < states; i++) {
            x[i] = 0;
            for (int j = 0; j < states; j++)
                x[i] += a[i * states + j] * old[j];
            for (int j = 0; j < inputs; j++)
                x[i] += b[i * inputs + j] * u[j];
        }
    }
}

static void loop(const dst_controller *c, const float *a, const float *b)
{
    const int states = c->map == NULL ? c->parameters : 0, length = c->blocks * c->parameters, inputs = c->blocks * c->inputs;
    const int extras = c->feed != NULL ? inputs * (c->rows / c->kinds) : 0;
    const size_t count = (size_t)DST_CONTROLLER_NUMBERS(c->rows, c->capacity, states) * sizeof(float);
    const size_t words_size = (size_t)DST_CONTROLLER_WORDS(c->capacity, c->blocks) * sizeof(uint16_t);
    float *numbers = exactly(count), *p = exactly((size_t)length * sizeof *p), *u = exactly((size_t)inputs * sizeof *u);
    float *extra = exactly((size_t)extras * sizeof *extra), *kept = exactly(count), *inputs_kept = exactly((size_t)inputs * sizeof *u);
    float lower[MOST_ROWS_OF_STAGE], upper[MOST_ROWS_OF_STAGE];
    uint16_t *words = exactly(words_size), *words_kept = exactly(words_size);
    memset(numbers, 0xff, count);
    for (int tick = 0; tick < MOST_TICKS && left > 0; tick++) {
        dst_outcome outcome = { DST_CONTROLLER_SOLVED, -1 };
        const uint8_t how = byte();
        const int budget = how & 1 ? byte() : how & 2 ? 1000 : 40;
        int ordered = 1, numeric = 1, refused;
        if (how & 4)
            p[byte() % length] = number();
        else
            advance(c->blocks, c->parameters, c->inputs, a, b, p, u);
        for (int i = 0; i < extras; i++)
            extra[i] = how & 8 ? number() : 0;
        memcpy(lower, c->lower, (size_t)c->kinds * sizeof *lower);
        memcpy(upper, c->upper, (size_t)c->kinds * sizeof *upper);
        if (how & 16) {
            const int kind = byte() % c->kinds;
            lower[kind] = number();
            upper[kind] = how & 32 ? lower[kind] : number();
        }
        if (how & 64)
            dst_controller_reset(c, words);
        for (int i = 0; i < length; i++)
            numeric &= isfinite(p[i]) != 0;
        for (int i = 0; i < extras; i++)
            numeric &= isfinite(extra[i]) != 0;
        for (int kind = 0; kind < c->kinds; kind++) {
            numeric &= lower[kind] == lower[kind] && upper[kind] == upper[kind];
            ordered &= lower[kind] <= upper[kind];
        }
        memcpy(kept, numbers, count);
        memcpy(words_kept, words, words_size);
        memcpy(inputs_kept, u, (size_t)inputs * sizeof *u);
        if (how & 16)
            refused = dst_controller_tick_within(c, numbers, words, p, extras > 0 ? extra : NULL, lower, upper, budget, u, &outcome);
        else
            refused = dst_controller_tick(c, numbers, words, p, extras > 0 ? extra : NULL, budget, u, &outcome);
        HOLDS(refused == !numeric);
        if (refused) {
            HOLDS(outcome.steps == -1 && memcmp(kept, numbers, count) == 0 && memcmp(words_kept, words, words_size) == 0);
            HOLDS(memcmp(inputs_kept, u, (size_t)inputs * sizeof *u) == 0);
            for (int i = 0; i < length; i++)
                p[i] = 0;
            continue;
        }
        HOLDS(outcome.status >= DST_CONTROLLER_SOLVED && outcome.status <= DST_CONTROLLER_INFEASIBLE);
        HOLDS(outcome.steps >= 0 && outcome.steps <= c->blocks * budget);
        HOLDS(ordered || outcome.status == DST_CONTROLLER_INFEASIBLE);
        for (int i = 0; i < inputs; i++) {
            const int kind = i % c->inputs;
            HOLDS(lower[kind] > upper[kind] || (lower[kind] <= u[i] && u[i] <= upper[kind]));
            /* An infinite bound that the input was moved to. */
            if (!isfinite(u[i]))
                u[i] = 0;
        }
    }
    free(numbers);
    free(p);
    free(u);
    free(extra);
    free(kept);
    free(inputs_kept);
    free(words);
    free(words_kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    input = data;
    left = len;
    switch (byte() % 5) {
    case 0:
        loop(&motor, motor_a, motor_b);
        break;
    case 1:
        loop(&quadrotor, quadrotor_a, quadrotor_b);
        break;
    case 2:
        loop(&safety_filter, safety_filter_a, safety_filter_b);
        break;
    default:
        with_admm();
    }
    return 0;
}
