/* Misuse of the C interface, in both precisions: every wrong call returns its code and changes nothing. */

#include <math.h>

#include "check.h"
#include "dst.h"

/* Not memcmp: this also compares padding, which valgrind.supp allows here only. */
static int same_bytes(const void *a, const void *b, size_t size)
{
    const unsigned char *p = a, *q = b;
    while (size-- > 0)
        if (*p++ != *q++)
            return 0;
    return 1;
}

/* Calls any of the functions, by number. */
#define CALLS 12
static dst_status call_f32(unsigned which, void *workspace, size_t size);
static dst_status call_f64(unsigned which, void *workspace, size_t size);

static unsigned next_random(void)
{
    static uint32_t state = 1;
    state = state * 1664525U + 1013904223U;
    return state >> 8;
}

#define PRECISION 32
#include "precision.h"
#include "misuse.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "misuse.h"

/* Every status has its own message, and so does an invalid one. */
static void messages(void)
{
    for (int status = -1; status <= DST_ERROR_PROGRAM + 1; status++) {
        const char *text = dst_status_message(status);
        CHECK(text != NULL && strlen(text) > 1);
        for (int other = 0; other < status; other++)
            CHECK((strcmp(text, dst_status_message(other)) == 0)
                  == (status > DST_ERROR_PROGRAM && other > DST_ERROR_PROGRAM));
    }
    CHECK(strcmp(dst_status_message(DST_OK), "ok") == 0);
    CHECK(strcmp(dst_status_message(INT32_MAX), dst_status_message(-1)) == 0);
}

/* Handle of the other precision. */
static void other_precision(void)
{
    reset_f32();
    CHECK(dst_run_init_f32(&w_f32.problem, &w_f32.options, w_f32.theta, w_f32.x0, w_f32.workspace,
                           sizeof w_f32.workspace, &w_f32.run) == DST_OK);
    CHECK(dst_run_advance_f64((void *)w_f32.run, 1, &w_f32.progress) == DST_ERROR_NOT_INITIALISED);
    CHECK(dst_run_advance_f32(w_f32.run, 1, &w_f32.progress) == DST_OK);
}

int main(void)
{
    messages();
    reset_f64(); /* callbacks of one precision call functions of the other */
    all_f32();
    all_f64();
    other_precision();
    return summary("misuse");
}
