/* Sequences of calls of dst.h as a target of libFuzzer: the input is a program of up to 64 calls on four workspaces.
 *
 * Arguments are what a careless caller passes: NULL, misaligned, too small, overlapping, of another kind or precision, NaN. Memory
 * has exactly the length that the header asks for, so that AddressSanitizer sees an access beyond it. Checked besides: a rejected
 * call changes nothing, a failed one writes no output, and a copied run has the bits of its original. */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dst.h"

#define HOLDS(condition)                                                                                                         \
    do {                                                                                                                         \
        if (!(condition))                                                                                                        \
            __builtin_trap();                                                                                                    \
    } while (0)

#define WORKSPACES 4
#define MOST_CALLS 64
/* States, parameters, tape of a problem, at most. */
#define DIMENSION 5

static const uint8_t *input;
static size_t left;

static uint8_t byte(void)
{
    return left > 0 ? (left--, *input++) : 0;
}

/* True once in `n`, if the input is random; never once it has ended. */
static int once_in(uint8_t n)
{
    return byte() % n == n - 1;
}

/* A count: small, or at the end of its range. */
static size_t count(void)
{
    const uint8_t b = byte();
    return b < 250 ? b % 40 : b < 253 ? SIZE_MAX - (b - 250) : b == 253 ? SIZE_MAX / 2 : (size_t)1 << (b % 2 ? 33 : 31);
}

static double number(void)
{
    static const double some[] = { 0, 1,       0.1,      0.01,    1e-3, -1,   2,     0.5,  0.9, 1e-8, -0.25, 4, 1e3, -0.0,
                                   NAN, INFINITY, -INFINITY, FLT_MAX, DBL_MAX, -DBL_MAX, FLT_MIN, DBL_MIN, 1e-30, 1e30, -1e-3 };
    const uint8_t b = byte();
    return b < 200 ? some[b % (sizeof some / sizeof *some)] : ((double)(int8_t)byte() + 1.0 / 3) * pow(2, b % 16 - 12);
}

/* A number that a caller who means it well would take. */
static double usual(double value)
{
    return once_in(6) ? number() : value;
}

/* What callbacks do at their call number `at`, or at every call. */
enum { NOTHING, ABORTS, WRITES_NAN, CALLS };

/* A problem and an objective; `user` of the callbacks. */
typedef struct {
    size_t n, p, tape;
    unsigned calls, at;
    int trouble;
    void *own; /* the workspace of the call in progress */
} problem_system;

typedef struct {
    unsigned char *memory;
    size_t size;
    problem_system *system; /* of the object in it, if it has one */
} workspace;

static workspace workspaces[WORKSPACES];
static problem_system systems[WORKSPACES];
static unsigned char before[1 << 16];
static int abort_codes[2];

static void discard(workspace *w)
{
    free(w->memory);
    memset(w, 0, sizeof *w);
}

/* New memory for a workspace, with any content but for the seal. */
static void renew(workspace *w, size_t size)
{
    free(w->memory);
    w->memory = malloc(size);
    HOLDS(w->memory != NULL);
    memset(w->memory, 0xa5, size);
    if (size >= 8)
        dst_workspace_clear(w->memory);
    w->size = size;
}

static workspace *some_workspace(void)
{
    return &workspaces[byte() % WORKSPACES];
}

/* The system for a workspace. It stays as it is for the whole input: copies of the object use it too. */
static problem_system *system_of(workspace *w)
{
    problem_system *s = &systems[w - workspaces];
    const uint8_t b = byte();
    if (s->n == 0) {
        s->n = 1 + b % DIMENSION;
        s->p = byte() % DIMENSION;
        s->tape = byte() % DIMENSION;
        s->calls = 0;
        s->at = 1 + byte() % 30u;
        s->trouble = b < 160 ? NOTHING : 1 + b % 3;
    }
    w->system = s;
    return s;
}

/* The handle of a workspace, or no handle. */
static void *handle(const workspace *w)
{
    const uint8_t b = byte();
    if (w->memory == NULL || w->size < 16)
        return NULL;
    return b == 255 ? NULL : b == 254 ? w->memory + 1 : w->memory;
}

/* Statuses of a call that did nothing. */
static int refused(dst_status status)
{
    return status >= DST_ERROR_NULL && status <= DST_ERROR_BUSY;
}

/* Before every call. */
static void begin(const workspace *w)
{
    for (int i = 0; i < WORKSPACES; i++)
        systems[i].own = NULL;
    if (w->system != NULL)
        w->system->own = w->memory;
    if (w->size <= sizeof before && w->memory != NULL)
        memcpy(before, w->memory, w->size);
}

/* Holds for every call: a known status, and an untouched workspace after a refusal. */
static void judge(const workspace *w, dst_status status)
{
    HOLDS(status >= DST_OK && status <= DST_ERROR_PROGRAM && status != DST_ERROR_INTERNAL);
    HOLDS(dst_status_message(status)[0] != 0);
    if (refused(status) && w->memory != NULL && w->size <= sizeof before)
        HOLDS(memcmp(before, w->memory, w->size) == 0);
}

#define PATTERN 0x3c

static int untouched(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != PATTERN)
            return 0;
    return 1;
}

#define PRECISION 32
#include "precision.h"
#include "calls.h"

#undef PRECISION
#define PRECISION 64
#include "precision.h"
#include "calls.h"

/* Calls that do not depend on the precision. */
static void others(void)
{
    workspace *w = some_workspace(), *to = some_workspace();
    dst_mismatch mismatch;
    char text[200];
    size_t size, length;
    switch (byte() % 5) {
    case 0: /* moved, or copied to make a second one */
        if (w == to || w->memory == NULL)
            return;
        renew(to, w->size);
        memcpy(to->memory, w->memory, w->size);
        to->system = w->system;
        if (byte() % 2)
            discard(w);
        return;
    case 1:
        if (w->memory != NULL && w->size >= 8)
            dst_workspace_clear(w->memory);
        dst_workspace_clear(NULL);
        return;
    case 2:
        discard(w);
        return;
    case 3:
        for (size_t i = 0; i < sizeof mismatch; i++)
            ((unsigned char *)&mismatch)[i] = byte();
        size = byte() % sizeof text;
        memset(text, PATTERN, sizeof text);
        length = dst_mismatch_message(once_in(9) ? NULL : &mismatch, once_in(9) ? NULL : text, size);
        HOLDS(untouched(text + size, sizeof text - size));
        HOLDS(length == 0 || size == 0 || strlen(text) == (length < size ? length : size - 1));
        return;
    default:
        HOLDS(dst_status_message((int32_t)(byte() - 4))[0] != 0 && dst_status_message(INT32_MIN)[0] != 0);
        HOLDS(dst_version()[0] != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    input = data;
    left = len;
    memset(systems, 0, sizeof systems);
    for (int i = 0; i < MOST_CALLS && left > 0; i++) {
        const uint8_t call = byte();
        if (call % 8 == 7)
            others();
        else if (call & 128)
            call_f64(call % 8);
        else
            call_f32(call % 8);
    }
    for (int i = 0; i < WORKSPACES; i++)
        discard(&workspaces[i]);
    return 0;
}
