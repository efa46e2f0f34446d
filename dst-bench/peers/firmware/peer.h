/* What a system gives to the loop in peer.c that runs the recorded ticks. */
#ifndef PEER_H
#define PEER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Called once, before the first tick. */
void peer_start(void);
/* Forgets the last solution: the next tick is cold. */
void peer_reset(void);
/* One tick, from the parameters of all blocks to their first inputs. Returns 0 if it is solved. */
int peer_tick(const float *p, const float *extra, float *u, uint32_t *iterations);

#ifdef __cplusplus
}
#endif

#endif
