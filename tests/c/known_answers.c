/* Known answers through the C interface, in both precisions. Runs on this machine and as firmware. */

#include "check.h"
#include "dst.h"

#define PRECISION 32
#include "precision.h"
#include "models.h"
#include "cases.h"
#include "descent.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "models.h"
#include "cases.h"
#include "descent.h"

int main(void)
{
    CHECK(strcmp(dst_version(), EXPECTED_VERSION) == 0);
    all_f32();
    all_f64();
    descents_f32();
    descents_f64();
    descent_misuse_f32();
    descent_misuse_f64();
    return summary("known answers");
}
