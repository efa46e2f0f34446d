/* Our controller as it is exported. HEADER names its header, CONTROLLER and MEMORY what the header defines. */

#include "peer.h"
#include HEADER

#define BUDGET 100000

static MEMORY memory;

void peer_start(void)
{
}

void peer_reset(void)
{
    dst_controller_reset(&CONTROLLER, memory.words);
}

int peer_tick(const float *p, const float *extra, float *u, uint32_t *iterations)
{
    dst_outcome outcome = { DST_CONTROLLER_SOLVED, 0 };
    const int refused = dst_controller_tick(&CONTROLLER, memory.numbers, memory.words, p, extra, BUDGET, u, &outcome);
    *iterations = (uint32_t)outcome.steps;
    return refused || outcome.status > DST_CONTROLLER_SOFTENED;
}
