/* Position controller of a motor. A tick measures the state, solves a quadratic program and applies its input.
 *
 * motor.h and dst_active_set.h are written by `dst control export`. */

#include "motor.h"

/* Steps that a tick may take: the number that the certificate in motor.h is about. */
#define BUDGET 44

/* State and input of a simulated motor. Replace them by your sensors and your actuator. */
static volatile float position = 1.0f, speed = 0.0f;
volatile float input;
/* Ticks that did not reach their end, for a debugger. */
volatile unsigned late;

static motor_memory memory; /* zero at first */

static void move(float u)
{
    const float p = position, v = speed;
    position = motor_a[0] * p + motor_a[1] * v + motor_b[0] * u;
    speed = motor_a[2] * p + motor_a[3] * v + motor_b[1] * u;
}

int main(void)
{
    for (;;) {
        const float x[MOTOR_PARAMETERS] = { position, speed };
        float u[MOTOR_INPUTS] = { 0.0f };
        dst_outcome outcome;
        /* Wait here for your timer: the model has ticks of 50 ms. */
        if (dst_controller_tick(&motor, memory.numbers, memory.words, x, NULL, BUDGET, u, &outcome) != 0)
            return 1; /* the state is not a number */
        late += outcome.status == DST_CONTROLLER_LATE;
        input = u[0];
        move(u[0]);
    }
}
