/* Quadratic programs of libdst in both precisions: known answers, misuse, random programs. */

#include <math.h>

#include "check.h"
#include "dst.h"

static unsigned next_random(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(state >> 40);
}

#define PRECISION 32
#include "precision.h"
#include "qp.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "qp.h"

int main(void)
{
    unsigned solved = 0;
    qp_known_f32();
    qp_known_f64();
    qp_misuse_f32();
    qp_misuse_f64();
    for (int i = 0; i < 500; i++) {
        qp_fuzz_f32(&solved);
        qp_fuzz_f64(&solved);
    }
    CHECK(solved > 1000);
    return summary("qp");
}
