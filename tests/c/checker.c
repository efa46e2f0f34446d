/* dst_check in both precisions: finds mistakes in callbacks, accepts correct ones, and rejects misuse. */

#include <math.h>

#include "check.h"
#include "dst.h"

/* Mistake of the callbacks below. */
typedef enum {
    RIGHT,
    WRONG_FACTOR,
    WRONG_SIGN,
    OVERWRITES_THETA,
    OVERWRITES_X,
    MISSING_LOSS,
    MISSING_TIME,
    RATE_ADDS,
    TAPE_NOT_WRITTEN,
    PUSH_MISSING,
    NOT_FINITE,
    ABORTS
} mistake;

#define PRECISION 32
#include "precision.h"
#include "checker.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "checker.h"

/* The sentence is cut like that of snprintf. */
static void sentences(void)
{
    static const char whole[] = "pullback: d(J)/d(theta[12]) is 0.5 where differences give 1 (half of it), at step 3";
    dst_mismatch wrong = { DST_CHECK_PULLBACK, DST_CHECK_J, 0, DST_CHECK_THETA, 12, 1.0, 0.5, 0, DST_CHECK_FACTOR,
                           0.5, 0, 3 };
    char text[100];
    for (size_t size = 0; size <= sizeof text; size++) {
        size_t kept = size == 0 ? 0 : size - 1 < sizeof whole - 1 ? size - 1 : sizeof whole - 1;
        memset(text, '#', sizeof text);
        CHECK(dst_mismatch_message(&wrong, text, size) == sizeof whole - 1);
        CHECK(memcmp(text, whole, kept) == 0);
        CHECK(size == 0 || text[kept] == '\0');
        for (size_t i = size; i < sizeof text; i++)
            CHECK(text[i] == '#');
    }
    CHECK(dst_mismatch_message(&wrong, NULL, 0) == sizeof whole - 1);
    CHECK(dst_mismatch_message(&wrong, NULL, 1) == 0);
    CHECK(dst_mismatch_message(NULL, text, sizeof text) == 0);
    /* Numbers that are in no list. */
    wrong.function = wrong.output = wrong.entry = wrong.kind = wrong.reference = -7;
    CHECK(dst_mismatch_message(&wrong, text, sizeof text) > 10);
}

int main(void)
{
    all_f32();
    all_f64();
    sentences();
    return summary("checker");
}
