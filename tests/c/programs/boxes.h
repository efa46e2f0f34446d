/* Written by `dst qp tune`; do not edit.
 *
 * 2 variables, 3 rows; dual active set, at most 5 steps per solve.
 * Share of late solves at most 0.5272 with 95 % confidence (0 of 4 held-out instances were late).
 * Error on them at most 8.106e-8. Another distribution of q, l and u is not covered.
 * Memory: 120 bytes; constants: 84 bytes.
 *
 * dst_qp_solve_f32(&boxes, boxes_prepared, BOXES_CONSTANTS, numbers, BOXES_NUMBERS, words, BOXES_WORDS,
 *                  q, lower, upper, BOXES_BUDGET, u, &outcome)
 * with libdst; zero the words before the first solve, or for a cold start. */
#ifndef BOXES_H
#define BOXES_H

#include "dst.h"

#define BOXES_VARIABLES 2
#define BOXES_ROWS 3
#define BOXES_CAPACITY 3
#define BOXES_BUDGET 5
#define BOXES_CONSTANTS 22
#define BOXES_NUMBERS 26
#define BOXES_WORDS 8

/* Sizes and tolerance; P and A are not needed again. */
static const dst_qp_f32 boxes = { 2, 3, 3, NULL, NULL, NULL, NULL, 0.0001f };

/* Constants, as dst_qp_prepare_f32 writes them. */
static const float boxes_prepared[BOXES_CONSTANTS] = {
    /* L of P = L D L', row by row without its diagonal. */
    0.25f,
    /* 1/D */
    0.5f, 1.1428572f,
    /* M = A L'^-1, column by column. */
    1.0f, 0.0f, 1.0f, -0.25f, 1.0f, 0.75f,
    /* W = A P^-1 A', row by row. */
    0.5714286f, -0.2857143f, 0.2857143f, -0.2857143f, 1.1428572f, 0.85714287f, 0.2857143f, 0.85714287f,
    1.1428572f,
    /* 1/sqrt(W_jj) */
    1.3228756f, 0.9354144f, 0.9354144f,
    /* Leading rows of A that are bounds on variables. */
    2.0f,
};

#endif
