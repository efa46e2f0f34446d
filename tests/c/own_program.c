/* Quadratic program of a user, solved for every q. P, A and samples of q, l and u are in programs/boxes.json; then
 *
 *     dst qp tune --problem boxes.json --out .
 *
 * writes boxes.h with the prepared program and a certificate of its longest solve. The answers are compared with those of a
 * program that is prepared here, in double precision. */

#include <math.h>
#include <stdio.h>

#include "boxes.h"

static const double hessian[4] = { 2, 0.5, 0.5, 1 }, matrix[6] = { 1, 0, 0, 1, 1, 1 };
static const double samples[8][2] = { { 0.0, 4.0 },    { 2.87, 2.79 },   { 4.0, -0.12 },  { 2.7, -2.95 },
                                      { -0.23, -3.99 }, { -3.03, -2.61 }, { -3.98, 0.35 }, { -2.53, 3.1 } };

int main(void)
{
    /* Of a firmware: */
    static float numbers[BOXES_NUMBERS];
    static uint16_t words[BOXES_WORDS]; /* zero at first */
    const float lower[BOXES_ROWS] = { -1, -1, -INFINITY }, upper[BOXES_ROWS] = { 1, 1, 1.5f };
    /* Of the comparison: */
    static double constants[64], scratch[64];
    static uint16_t set[64];
    const double wide_lower[BOXES_ROWS] = { -1, -1, -(double)INFINITY }, wide_upper[BOXES_ROWS] = { 1, 1, 1.5 };
    dst_qp_f64 exact = { BOXES_VARIABLES, BOXES_ROWS, 3, NULL, NULL, NULL, NULL, 0 };
    double worst = 0;
    size_t most = 0;
    exact.hessian = hessian;
    exact.matrix = matrix;
    if (dst_qp_prepare_f64(&exact, constants, 64) != DST_OK)
        return 1;
    for (int k = 0; k < 8; k++) {
        const float q[BOXES_VARIABLES] = { (float)samples[k][0], (float)samples[k][1] };
        float u[BOXES_VARIABLES];
        double answer[BOXES_VARIABLES];
        dst_qp_outcome outcome;
        if (dst_qp_solve_f32(&boxes, boxes_prepared, BOXES_CONSTANTS, numbers, BOXES_NUMBERS, words, BOXES_WORDS, q, lower, upper,
                             BOXES_BUDGET, u, &outcome) != DST_OK)
            return 2; /* q is not a number */
        if (outcome.status != DST_QP_SOLVED)
            return 3; /* late */
        if (outcome.steps > most)
            most = outcome.steps;
        if (dst_qp_solve_f64(&exact, constants, 64, scratch, 64, set, 64, samples[k], wide_lower, wide_upper, 100, answer, &outcome) !=
                DST_OK ||
            outcome.status != DST_QP_SOLVED)
            return 4;
        for (int i = 0; i < BOXES_VARIABLES; i++) {
            if (u[i] < lower[i] || u[i] > upper[i])
                return 5;
            if (fabs((double)u[i] - answer[i]) > worst)
                worst = fabs((double)u[i] - answer[i]);
        }
    }
    if (!(worst < 1e-4) || most == 0)
        return 6;
    printf("8 programs solved: error below 1e-4, at most %d of %d steps\n", (int)most, BOXES_BUDGET);
    return 0;
}
