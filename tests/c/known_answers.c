/* Known answers through the C interface, in both precisions. Runs on this machine and as firmware. */

#include "check.h"
#include "dst.h"

#define PRECISION 32
#include "precision.h"
#include "models.h"
#include "cases.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "models.h"
#include "cases.h"

int main(void)
{
    CHECK(strcmp(dst_version(), EXPECTED_VERSION) == 0);
    all_f32();
    all_f64();
    return summary("known answers");
}
