/* Position controller of a motor. A tick measures the state, solves a quadratic program and applies its input.
 *
 * motor.h and dst_active_set.h are written by `dst control export`. The plant is simulated here. */

#include <stdint.h>

#include "motor.h"

/* Steps that a tick may take: the number that the certificate in motor.h is about. */
#define BUDGET 44

/* Output and exit through the debugger (semihosting); leave them out in a product. */
static void debugger(uintptr_t operation, const void *argument)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void put(const char *text)
{
    debugger(0x04, text);
}

/* A number with four digits after the point. */
static void put_number(float value)
{
    char text[16], *at = text + sizeof text - 1;
    uint32_t digits = (uint32_t)((value < 0 ? -value : value) * 1e4f + 0.5f);
    *at = '\0';
    for (int i = 0; i < 5 || digits > 0; i++, digits /= 10) {
        if (i == 4)
            *--at = '.';
        *--at = (char)('0' + digits % 10);
    }
    if (value <= -0.5e-4f)
        *--at = '-';
    put(at);
}

static void put_count(int count)
{
    char text[12], *at = text + sizeof text - 1;
    *at = '\0';
    do
        *--at = (char)('0' + count % 10);
    while ((count /= 10) > 0);
    put(at);
}

static motor_memory memory; /* zero at first */

int main(void)
{
    float x[MOTOR_PARAMETERS] = { 1.0f, 0.0f }, u[MOTOR_INPUTS] = { 0.0f }, fastest = 0;
    uintptr_t end[2] = { 0x20026, 0 };
    int most = 0;
    for (int tick = 0; tick < 100; tick++) {
        dst_outcome outcome;
        if (dst_controller_tick(&motor, memory.numbers, memory.words, x, NULL, BUDGET, u, &outcome) != 0) {
            put("refused: the state is not a number\n");
            end[1] = 1;
            break;
        }
        /* A late tick is not an error: its input is within the bounds. */
        if (outcome.steps > most)
            most = outcome.steps;
        /* The next state. Replace it by your sensors and your actuator. */
        const float p = x[0], v = x[1];
        x[0] = motor_a[0] * p + motor_a[1] * v + motor_b[0] * u[0];
        x[1] = motor_a[2] * p + motor_a[3] * v + motor_b[1] * u[0];
        if (-x[1] > fastest)
            fastest = -x[1];
    }
    put("position ");
    put_number(x[0]);
    put(", highest speed ");
    put_number(fastest);
    put(", at most ");
    put_count(most);
    put(" steps in a tick\n");
    debugger(0x20, end);
    return 0;
}
