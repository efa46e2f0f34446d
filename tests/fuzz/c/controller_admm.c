/* The part of the target `controller` for ADMM. */

#include "controller.h"

#include "../../c/controllers/quadrotor.h"
#include "../../c/controllers/safety_filter.h"

static void loop(const dst_admm_controller *c, const float *a, const float *b)
{
    const int length = c->blocks * c->states, inputs = c->blocks * c->inputs;
    /* With F, the linear term comes from the state. */
    const int extras = c->linear == NULL ? inputs * c->stages : 0;
    const size_t size = (size_t)DST_ADMM_MEMORY(c->inputs, c->outputs, c->stages, c->blocks) * sizeof(float);
    float *memory = exactly(size), *kept = exactly(size), *x = exactly((size_t)length * sizeof *x);
    float *extra = exactly((size_t)extras * sizeof *extra), *u = exactly((size_t)inputs * sizeof *u);
    for (int tick = 0; tick < MOST_TICKS && left > 0; tick++) {
        dst_admm_outcome outcome = { -1, -1, -1 };
        const uint8_t how = byte();
        const int budget = how & 1 ? byte() : 60;
        int numeric = 1, refused;
        if (how & 4)
            x[byte() % length] = number();
        else
            advance(c->blocks, c->states, c->inputs, a, b, x, u);
        for (int i = 0; i < extras; i++)
            extra[i] = how & 8 ? number() : 0;
        for (int i = 0; i < length; i++)
            numeric &= isfinite(x[i]) != 0;
        for (int i = 0; i < extras; i++)
            numeric &= isfinite(extra[i]) != 0;
        memcpy(kept, memory, size);
        refused = dst_admm_tick(c, memory, x, extras > 0 ? extra : NULL, budget, u, &outcome);
        HOLDS(refused == !numeric);
        if (refused) {
            HOLDS(outcome.iterations == -1 && memcmp(kept, memory, size) == 0);
            for (int i = 0; i < length; i++)
                x[i] = 0;
            continue;
        }
        HOLDS(outcome.iterations >= 0 && outcome.iterations <= budget);
        for (int i = 0; i < inputs; i++)
            HOLDS(c->lower[i % c->inputs] <= u[i] && u[i] <= c->upper[i % c->inputs]);
    }
    free(memory);
    free(kept);
    free(x);
    free(extra);
    free(u);
}

void with_admm(void)
{
    if (byte() % 2)
        loop(&quadrotor, quadrotor_a, quadrotor_b);
    else
        loop(&safety_filter, safety_filter_a, safety_filter_b);
}
