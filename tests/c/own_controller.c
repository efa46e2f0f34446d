/* Controller for a user's plant, in C. The model is a JSON file with A, B, Q, R and the bounds; then
 *
 *     dst control export --model motor.json --out .
 *
 * writes motor.h and dst_active_set.h, with a certificate of the longest tick. Only this program is left to write: */

#include <stdio.h>

#include "motor.h"

static motor_memory memory; /* zero at first */

int main(void)
{
    float x[MOTOR_PARAMETERS] = { 1.0f, 0.0f }; /* a motor, one turn away from where it should be; its speed may not exceed 0.6 */
    float u[MOTOR_INPUTS] = { 0.0f }, fastest = 0;
    int worst = 0;
    for (int tick = 0; tick < 100; tick++) {
        dst_outcome outcome;
        if (dst_controller_tick(&motor, memory.numbers, memory.words, x, NULL, 44, u, &outcome) != 0)
            return 1; /* the state is not a number */
        if (outcome.status > DST_CONTROLLER_SOFTENED)
            return 2; /* late */
        if (outcome.steps > worst)
            worst = outcome.steps;
        /* The plant is simulated here; on a real one, measure x and apply u. */
        x[0] += 0.05f * x[1] + 0.002f * u[0];
        x[1] = 0.9f * x[1] + 0.08f * u[0];
        if (-x[1] > fastest)
            fastest = -x[1];
    }
    printf("after 100 ticks: position %.4f, highest speed %.4f, at most %d steps in a tick\n", x[0], fastest, worst);
    return x[0] < 0.01f && x[0] > -0.01f && fastest < 0.602f && fastest > 0.5f && worst < 44 ? 0 : 1;
}
