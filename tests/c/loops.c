/* An exported controller in many closed loops at once, for dst-std/tests/certificate_in_c.rs: the plant is simulated there. Reads the
 * number of runs and the budget, then the parameters of all runs, tick after tick, until the input ends. Writes for every run whether
 * the tick was refused, its status, its steps and its inputs. -DCONTROLLER and -DHEADER name the controller. */

#include <stdio.h>
#include <stdlib.h>

#include HEADER

#define JOIN_EXPANDED(a, b) a##b
#define JOIN(a, b) JOIN_EXPANDED(a, b)

typedef JOIN(CONTROLLER, _memory) controller_memory;

int main(void)
{
    const dst_controller *c = &CONTROLLER;
    const size_t parameters = (size_t)(c->blocks * c->parameters), inputs = (size_t)(c->blocks * c->inputs);
    int32_t sizes[2];
    size_t runs;
    float *p, *u;
    controller_memory *memory;
    if (fread(sizes, sizeof *sizes, 2, stdin) != 2 || sizes[0] < 1)
        return 2;
    runs = (size_t)sizes[0];
    p = malloc(runs * parameters * sizeof *p);
    u = calloc(runs * inputs, sizeof *u);
    memory = calloc(runs, sizeof *memory);
    if (p == NULL || u == NULL || memory == NULL)
        return 3;
    while (fread(p, parameters * sizeof *p, runs, stdin) == runs) {
        for (size_t run = 0; run < runs; run++) {
            dst_outcome outcome = { DST_CONTROLLER_LATE, 0 };
            int32_t head[3];
            controller_memory *own = &memory[run];
            float *inputs_of_run = &u[run * inputs];
            head[0] = dst_controller_tick(c, own->numbers, own->words, &p[run * parameters], NULL, sizes[1], inputs_of_run, &outcome);
            head[1] = (int32_t)outcome.status;
            head[2] = outcome.steps;
            if (fwrite(head, sizeof *head, 3, stdout) != 3 || fwrite(inputs_of_run, sizeof *u, inputs, stdout) != inputs)
                return 4;
        }
        if (fflush(stdout) != 0)
            return 4;
    }
    free(p);
    free(u);
    free(memory);
    return 0;
}
