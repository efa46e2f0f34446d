/* dst.h - differentiates the stopping time of an iterative algorithm. No heap, no globals, no panic.
 *
 * An iteration x_{k+1} = x_k - h*A(theta, x_k, t_k) stops at the first N with J(x_N) <= epsilon. This library runs it, finds
 * N, and computes the gradient of the stopping time T with respect to theta, x0 and epsilon. Generated from dst-core/ffi by
 * `cargo xtask c-header`; do not edit.
 *
 * MINIMAL EXAMPLE
 *
 *     static int rate(void *user, const float *theta, const float *x, float t,
 *                     float *rate, float *tape, float *criterion, float *loss)
 *     {
 *         rate[0] = theta[0] * x[0];                      (x' = -theta*x, stop when x <= epsilon)
 *         *criterion = x[0];
 *         return 0;                                       (any other value aborts)
 *     }
 *     static int pullback(void *user, const float *theta, const float *x, float t, const float *tape,
 *                         const float *rate_bar, float criterion_bar, float loss_bar,
 *                         float *theta_bar, float *x_bar, float *t_bar)
 *     {
 *         theta_bar[0] += rate_bar[0] * x[0];
 *         x_bar[0] += rate_bar[0] * theta[0] + criterion_bar;
 *         return 0;
 *     }
 *
 *     dst_problem_f32 problem = { .state_dim = 1, .param_dim = 1, .rate = rate, .pullback = pullback };
 *     dst_options_f32 options = dst_options_default_f32(0.01f, 0.5f);     (step size, epsilon)
 *     float theta[1] = { 0.1f }, x0[1] = { 1.0f }, gradient[1];
 *     dst_result_f32 result = { .theta_gradient = gradient };
 *     static uint64_t workspace[256];                     (at least dst_workspace_size_f32(&problem, &options) bytes)
 *     dst_status status = dst_sensitivity_f32(&problem, &options, theta, x0, NULL, workspace, sizeof workspace, &result);
 *     if (status != DST_OK) puts(dst_status_message(status));
 *
 * IN A CONTROL LOOP, a few steps per tick: dst_run_init, then dst_run_advance until DST_REACHED (dst_run_iterate gives the
 * best iterate at an earlier deadline), dst_gradient_advance until nothing remains, dst_gradient_read. The result has the
 * same bits as that of dst_sensitivity. Further gradients of the same run, of the stopping time or of weighted sums of J and
 * of a loss f (dst_seeds), only need dst_gradient_advance and dst_gradient_read.
 *
 * AN ITERATION x_{k+1} = F(theta, x_k, t_k), such as a recurrent network or a projection: dst_options_map, and `rate` writes F.
 * Nothing is subtracted, the step size is 1, and T counts steps.
 *
 * FIRST PASSAGE OR SETTLING: by default a run stops at the first J <= epsilon, whatever J does later. An oscillating loop
 * passes its target long before it settles: set `staying` in dst_options for the settling time.
 *
 * DESCENT: dst_descent_init, then until dst_descent_read reports the end: a run at its theta, and dst_descent_tell with the
 * time and the gradient, or dst_descent_tell_failed if the run did not stop. The best theta is never lost.
 *
 * ONLINE ADAPTATION: dst_ola (Adam with an adapted learning rate) and dst_window (the same with the exact sensitivity
 * of each window).
 *
 * QUADRATIC PROGRAMS min u'Pu/2 + q'u with lower <= Au <= upper: dst_qp_prepare once, then dst_qp_solve for every q, lower and
 * upper, by a dual active set, warm-started. There is no workspace: constants, numbers and words are arrays of the caller.
 *
 * CHECK YOUR DERIVATIVES first: dst_check compares pullback and pushforward with differences of rate, and names what is wrong.
 * A wrong pullback gives a wrong gradient and DST_OK.
 *
 * RULES for every function
 * - float functions end in _f32, double functions in _f64. Everything else is the same.
 * - The return value is DST_OK or the reason why the call did nothing. Outputs are written on success only.
 * - A pointer must be NULL or point to memory of the size given in its comment, [in brackets]. A required pointer that is
 *   NULL, a misaligned pointer, or outputs that overlap other arguments are rejected.
 * - The caller owns all memory: the workspace. Functions return its size and alignment. Its first eight bytes must be zero
 *   when it is first used, as in a static array; otherwise call dst_workspace_clear once. The rest may be uninitialised.
 * - A run is stored in its workspace only. Between two calls it may be moved or copied by memcpy to an address of the
 *   same alignment; the handle is the address of the workspace. Do not change its content. Nothing needs to be freed.
 * - A handle of another kind or of the other precision is rejected, and so is every call from a callback on the workspace of
 *   its own run, including dst_run_init and dst_sensitivity. Neither changes anything.
 * - Workspaces are independent of each other: use any number of them, from any thread, one call at a time on each.
 * - Results have the same bits on every target and with any budget and number of slots, if your callbacks do.
 *   (Compile those with -ffp-contract=off to compare bits.)
 */


#ifndef DST_H
#define DST_H

#include <stddef.h>
#include <stdint.h>

// Result of a call: DST_OK, or the reason why it did nothing. dst_status_message() returns the message.
enum dst_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Success.
    DST_OK = 0,
    // A required pointer is NULL.
    DST_ERROR_NULL = 1,
    // A pointer or the workspace is not aligned: see dst_workspace_align.
    DST_ERROR_MISALIGNED = 2,
    // An output overlaps an input, the workspace or another output.
    DST_ERROR_OVERLAP = 3,
    // The workspace is smaller than dst_workspace_size (dst_ola_workspace_size, dst_window_workspace_size) returns.
    DST_ERROR_WORKSPACE_TOO_SMALL = 4,
    // There are no states, or a size in bytes does not fit into a size_t.
    DST_ERROR_SIZE = 5,
    // The handle is not of this kind: its workspace was never initialised, or holds an object of another kind or precision.
    DST_ERROR_NOT_INITIALISED = 6,
    // The call is out of order: an advance after a gradient has begun, or a read of a gradient that is not complete.
    DST_ERROR_ORDER = 7,
    // A call on this workspace is in progress: a callback used the workspace of its own run. Or the workspace was never cleared,
    // or a reset interrupted a call: see dst_workspace_clear.
    DST_ERROR_BUSY = 8,
    // A callback returned a value other than zero; the value is in *abort_code of the problem or objective.
    DST_ABORTED = 9,
    // An entry of theta is infinite or NaN.
    DST_ERROR_THETA = 10,
    // An entry of x0 is infinite or NaN.
    DST_ERROR_X0 = 11,
    // The step size is not a positive finite number or, with DST_MAP, not 1.
    DST_ERROR_STEP_SIZE = 12,
    // Epsilon is infinite or NaN.
    DST_ERROR_EPSILON = 13,
    // The start time is infinite or NaN.
    DST_ERROR_START_TIME = 14,
    // A weight of the seeds is infinite or NaN.
    DST_ERROR_WEIGHT = 15,
    // The integrator, the crossing or the mode is not in the list, or was left out of this library (c-lib --small).
    DST_ERROR_CHOICE = 16,
    // A hyperparameter of an adaptive method is out of range: alpha > 0, 0 <= beta < 1, stability, descent and tolerance >= 0.
    DST_ERROR_HYPERPARAMETER = 17,
    // The number of checkpoint slots is zero; the starting point needs one.
    DST_ERROR_NO_SLOTS = 18,
    // The symplectic integrator needs an even number of states: positions, then velocities.
    DST_ERROR_ODD_STATE = 19,
    // The problem has no pullback, which the adjoint needs.
    DST_ERROR_NO_PULLBACK = 20,
    // The problem has no pushforward, which the tangent mode needs.
    DST_ERROR_NO_PUSHFORWARD = 21,
    // The objective has no Hessian-vector product, which the windowed adaptation needs.
    DST_ERROR_NO_HESSIAN_VECTOR = 22,
    // The state, the criterion or, in an adaptive run, the objective is infinite or NaN.
    DST_ERROR_NON_FINITE = 23,
    // The derivatives are infinite or NaN.
    DST_ERROR_NON_FINITE_GRADIENT = 24,
    // The seeds contain the stopping time, but the run has not stopped, or has not settled.
    DST_ERROR_NOT_STOPPED = 25,
    // The criterion already holds at x0: there is no step to differentiate.
    DST_ERROR_STOPPED_AT_START = 26,
    // The criterion is flat where it crosses epsilon: the stopping time has no derivative.
    DST_ERROR_FLAT_CROSSING = 27,
    // dst_check has found a wrong derivative, and has written it to *mismatch.
    DST_WRONG_DERIVATIVE = 28,
    // Any other error: a defect of this library.
    DST_ERROR_INTERNAL = 29,
    // A coordinate or a radius of a descent is out of range, or theta is not in the range of its coordinate.
    DST_ERROR_COORDINATE = 30,
    // The data of a quadratic program is refused: P is not positive definite, or a number is NaN, infinite or out of range.
    DST_ERROR_PROGRAM = 31,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_status dst_status;
#else
typedef int32_t dst_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Integrator for one step of the iteration: for the field `integrator`.
enum dst_integrator
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // x - h*A, the plain iteration. One evaluation per step.
    DST_EULER = 0,
    // Second order, two evaluations per step.
    DST_HEUN = 1,
    // The classical Runge-Kutta method: fourth order, four evaluations per step.
    DST_RK4 = 2,
    // Semi-implicit Euler for x = (positions, velocities): velocity first, then position with the new velocity.
    DST_SYMPLECTIC = 3,
    // x_{k+1} = F(theta, x_k, t_k): `rate` writes F itself, and pullback and pushforward are those of F. The step size must be
    // 1, so that t_k = start_time + k and T is in steps: see dst_options_map_f32 (or _f64). One evaluation per step.
    DST_MAP = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_integrator dst_integrator;
#else
typedef int32_t dst_integrator;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Definition of the stopping time within the last step: for the field `crossing` of dst_seeds.
enum dst_crossing
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Definition 3 of the paper: -h*dJ_N/(J_N - J_{N-1}).
    DST_PAPER = 0,
    // The exact gradient of the linearly interpolated stopping time: agrees with finite differences of it.
    DST_INTERPOLATED = 1,
    // Interpolated numerator over the slope dJ/dt - grad(J)*A; second order with DST_HEUN.
    DST_SLOPE = 2,
    // Cubic Hermite interpolation of J; third order with DST_RK4.
    DST_HERMITE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_crossing dst_crossing;
#else
typedef int32_t dst_crossing;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Method by which a gradient is computed: for the field `mode`.
enum dst_mode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The cheaper mode for this problem, these slots and the N at which the run stopped.
    DST_AUTO = 0,
    // Backward sweep over checkpoints; needs the pullback. Its cost does not depend on the number of parameters.
    DST_ADJOINT = 1,
    // One direction per parameter (and state) carried forward; needs the pushforward.
    DST_TANGENT = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_mode dst_mode;
#else
typedef int32_t dst_mode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Progress of a run.
enum dst_progress
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The budget of the call is exhausted: call again, or use the best iterate at the deadline.
    DST_RUNNING = 0,
    // The run stopped: J <= epsilon and, if required, J has stayed there. In an adaptive run: max |gradient| < tolerance.
    DST_REACHED = 1,
    // The step limit max_steps came first, or cut a stay short.
    DST_STEP_LIMIT = 2,
    // A run that had to stay below epsilon met max_steps above it.
    DST_NEVER_SETTLED = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_progress dst_progress;
#else
typedef int32_t dst_progress;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Outcome of one window of the windowed adaptation.
enum dst_window_outcome
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // f fell by the threshold and alpha was adapted.
    DST_WINDOW_ADAPTED = 0,
    // f fell by the threshold, but the crossing is too flat for a derivative: alpha is unchanged.
    DST_WINDOW_FLAT = 1,
    // The budget ran out first; the next window continues with the same threshold.
    DST_WINDOW_OPEN = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_window_outcome dst_window_outcome;
#else
typedef int32_t dst_window_outcome;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Callback that is wrong.
enum dst_check_function
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // `rate`
    DST_CHECK_RATE = 0,
    // `pullback`
    DST_CHECK_PULLBACK = 1,
    // `pushforward`
    DST_CHECK_PUSHFORWARD = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_check_function dst_check_function;
#else
typedef int32_t dst_check_function;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Output of `rate` whose derivative is wrong.
enum dst_check_output
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // An entry of A.
    DST_CHECK_A = 0,
    // J
    DST_CHECK_J = 1,
    // f
    DST_CHECK_F = 2,
    // A weighted sum of A, J and f: each of them alone is right.
    DST_CHECK_SUM = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_check_output dst_check_output;
#else
typedef int32_t dst_check_output;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Entry with respect to which it is differentiated.
enum dst_check_entry
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // None: an output is not written, or added to.
    DST_CHECK_NO_ENTRY = 0,
    // An entry of theta.
    DST_CHECK_THETA = 1,
    // An entry of x.
    DST_CHECK_X = 2,
    // Time.
    DST_CHECK_T = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_check_entry dst_check_entry;
#else
typedef int32_t dst_check_entry;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Likely reason of a mismatch.
enum dst_check_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // A wrong value.
    DST_CHECK_VALUE = 0,
    // The right value times `factor`.
    DST_CHECK_FACTOR = 1,
    // The right value with the wrong sign.
    DST_CHECK_SIGN = 2,
    // Zero: the term is missing.
    DST_CHECK_MISSING = 3,
    // The right value is zero.
    DST_CHECK_SUPERFLUOUS = 4,
    // Infinite or NaN.
    DST_CHECK_NOT_FINITE = 5,
    // A pullback overwrites its sums: `=` instead of `+=`.
    DST_CHECK_OVERWRITES = 6,
    // A rate or a pushforward adds to its outputs: `+=` instead of `=`.
    DST_CHECK_ADDS = 7,
    // An output is not written.
    DST_CHECK_NOT_WRITTEN = 8,
    // The result depends on the last call of `rate`, not on the tape.
    DST_CHECK_STALE_TAPE = 9,
    // The result depends on `tape[tape_index]`, which `rate` does not write.
    DST_CHECK_UNWRITTEN_TAPE = 10,
    // Two calls with the same arguments give different values.
    DST_CHECK_NOT_REPEATABLE = 11,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_check_kind dst_check_kind;
#else
typedef int32_t dst_check_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Coordinate of a parameter in a descent: for the field `kind` of dst_coordinate.
enum dst_coordinate_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Any real number; `scale` is its typical size.
    DST_FREE = 0,
    // Closed interval from `lower` to `upper`, whose ends may be reached.
    DST_BETWEEN = 1,
    // Positive number; steps are factors.
    DST_LOG = 2,
    // Open interval from `lower` to `upper`; near an end steps are factors of the distance to it.
    DST_LOGIT = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_coordinate_kind dst_coordinate_kind;
#else
typedef int32_t dst_coordinate_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Answer of a descent to a run.
enum dst_verdict
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The value is the least so far, and its theta is the best.
    DST_ACCEPTED = 0,
    // The value is not less than the least so far.
    DST_REJECTED = 1,
    // The run failed, or a number was infinite or NaN.
    DST_FAILED = 2,
    // Answer to a value alone: call dst_descent_tell with the same value and its gradient. Nothing was changed.
    DST_GRADIENT_WANTED = 3,
    // The descent had finished before. Nothing was changed.
    DST_FINISHED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_verdict dst_verdict;
#else
typedef int32_t dst_verdict;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Result of a quadratic program: for the field `status` of dst_qp_outcome.
enum dst_qp_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // All rows are within their bounds.
    DST_QP_SOLVED = 0,
    // Solved, and at least one soft row is beyond its bound.
    DST_QP_SOFTENED = 1,
    // The budget or the capacity was reached. The point is optimal for the rows of its active set.
    DST_QP_LATE = 2,
    // No u satisfies the hard rows.
    DST_QP_INFEASIBLE = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum dst_qp_status dst_qp_status;
#else
typedef int32_t dst_qp_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Descent in its workspace. The handle is the address of the workspace.
typedef struct dst_descent_f32 dst_descent_f32;

// Descent in its workspace. The handle is the address of the workspace.
typedef struct dst_descent_f64 dst_descent_f64;

// Adaptive run in its workspace. The handle is the address of the workspace.
typedef struct dst_ola_f32 dst_ola_f32;

// Adaptive run in its workspace. The handle is the address of the workspace.
typedef struct dst_ola_f64 dst_ola_f64;

// Run in its workspace. The handle is the address of the workspace.
typedef struct dst_run_f32 dst_run_f32;

// Run in its workspace. The handle is the address of the workspace.
typedef struct dst_run_f64 dst_run_f64;

// Windowed adaptive run in its workspace. The handle is the address of the workspace.
typedef struct dst_window_f32 dst_window_f32;

// Windowed adaptive run in its workspace. The handle is the address of the workspace.
typedef struct dst_window_f64 dst_window_f64;

// Wrong derivative, found by dst_check. dst_mismatch_message() writes it as a sentence.
typedef struct dst_mismatch {
    // A dst_check_function.
    int32_t function;
    // A dst_check_output.
    int32_t output;
    // Index of the entry of A.
    size_t output_index;
    // A dst_check_entry.
    int32_t entry;
    // Index of the entry of theta or x.
    size_t entry_index;
    // Expected value, in double precision in either case.
    double expected;
    // Value of the callback.
    double found;
    // 0 if the expected value comes from differences of `rate`; 1 if from the pushforward; 2 if from another call.
    int32_t reference;
    // A dst_check_kind.
    int32_t kind;
    // Factor of DST_CHECK_FACTOR; otherwise 0.
    double factor;
    // Entry of the tape of DST_CHECK_UNWRITTEN_TAPE; otherwise 0.
    size_t tape_index;
    // Step of the run at which they differ; SIZE_MAX for a point beside x0.
    size_t step;
} dst_mismatch;

// Options of a run. Start from dst_options_default_f32 (or _f64) and change fields as needed.
typedef struct dst_options_f32 {
    // Step size h > 0; with DST_MAP, 1.
    float step;
    // Tolerance of J.
    float epsilon;
    // Step limit.
    size_t max_steps;
    // Number of steps for which J has to stay at or below epsilon. 0: the run stops at the first passage, the first J <=
    // epsilon, whatever J does later. m: it stops when J has stayed for m further steps; a stay that max_steps cuts short does
    // not count. SIZE_MAX: it continues to max_steps, and J must stay to the end; the safe choice if J may oscillate. The
    // stopping time is always the crossing at which the stay began.
    size_t staying;
    // Time at x0.
    float start_time;
    // A dst_integrator; default DST_EULER.
    int32_t integrator;
    // A dst_mode; default DST_AUTO.
    int32_t mode;
    // Checkpoint slots, at least 1: more memory, less recomputation. Their number does not change the bits of the gradient.
    size_t slots;
    // If not 0, every slot also keeps the tape and the stages of its step, which are then not recomputed.
    int32_t keep_records;
    // If not 0, the gradient with respect to x0 is left out: the tangent mode then carries fewer directions.
    int32_t theta_only;
} dst_options_f32;

// Quantity to differentiate, chosen after the run:  time_weight*T + sum_k (criterion_weight*J(x_k) + loss_weight*f(x_k)),  for k
// = 0 to N; if time_weight is 0, to the last step of the run, which need not have stopped. Start from dst_seeds_default_f32 (or
// _f64): T alone, by the interpolated crossing. NULL means the same.
typedef struct dst_seeds_f32 {
    // A dst_crossing; default DST_INTERPOLATED.
    int32_t crossing;
    // Factor of the stopping time T; default 1.
    float time_weight;
    // Weight of J at every step; default 0.
    float criterion_weight;
    // Weight of f at every step; default 0.
    float loss_weight;
    // If not NULL, called for the weights at a step, in any order of steps. On entry *criterion_weight and *loss_weight are the
    // two weights above; it may overwrite them. Returns 0, or aborts like every callback.
    int (*weight)(void *user, size_t step, float *criterion_weight, float *loss_weight);
    // Passed to `weight`.
    void *user;
    // Restricts the sweep to the last `window` steps (adjoint mode): the gradient "with respect to x0" is then with respect to
    // the state at the start of this window; default SIZE_MAX.
    size_t window;
} dst_seeds_f32;

// The iteration x_{k+1} = x_k - h*A(theta, x_k, t_k) with its criterion J(theta, x, t) and a loss f(theta, x, t), as callbacks.
//
// Every callback returns 0 to continue. Any other value aborts the run: the calling function returns DST_ABORTED, the value goes
// to *abort_code, and no callback of this run is called again. Callbacks must return (no longjmp, no C++ exception). A call from
// a callback on the workspace of its own run returns DST_ERROR_BUSY.
//
// Set the fields by name and leave the others zero: `dst_problem_f32 p = { .state_dim = 2, ... };`
typedef struct dst_problem_f32 {
    // Number of states, entries of x. At least 1.
    size_t state_dim;
    // Number of parameters, entries of theta. May be 0.
    size_t param_dim;
    // Number of values that `rate` leaves on `tape` for the derivatives. May be 0.
    size_t tape_len;
    // Writes A(theta, x, t), or F with DST_MAP, to `rate` [state_dim], J to *criterion and, if it is used, f to *loss; may
    // leave intermediate results on `tape` [tape_len]. Must depend on its arguments only, because steps are recomputed.
    int (*rate)(void *user,
                const float *theta,
                const float *x,
                float t,
                float *rate,
                float *tape,
                float *criterion,
                float *loss);
    // ADDS rate_bar*dA/dtheta + criterion_bar*dJ/dtheta + loss_bar*df/dtheta to `theta_bar` [param_dim], and the same with d/dx
    // to `x_bar` [state_dim]; `tape` was written by `rate` at this point. If `t_bar` is not NULL, add criterion_bar*dJ/dt to
    // *t_bar; this happens once or twice per sweep with DST_SLOPE or DST_HERMITE, and a J that does not depend on t may ignore
    // it. NULL if there is a pushforward, or no gradient is needed.
    int (*pullback)(void *user,
                    const float *theta,
                    const float *x,
                    float t,
                    const float *tape,
                    const float *rate_bar,
                    float criterion_bar,
                    float loss_bar,
                    float *theta_bar,
                    float *x_bar,
                    float *t_bar);
    // WRITES the derivatives along (theta_dot, x_dot, t_dot): of A to `rate_dot` [state_dim], of J to *criterion_dot and, if f
    // has weights, of f to *loss_dot. `t_dot` is 0, or 1 when DST_SLOPE or DST_HERMITE needs dJ/dt, in *criterion_dot only. NULL
    // if there is a pullback.
    int (*pushforward)(void *user,
                       const float *theta,
                       const float *x,
                       float t,
                       const float *tape,
                       const float *theta_dot,
                       const float *x_dot,
                       float t_dot,
                       float *rate_dot,
                       float *criterion_dot,
                       float *loss_dot);
    // Passed to every callback.
    void *user;
    // Receives the code of an aborting callback; may be NULL. The only output that is written on failure.
    int *abort_code;
} dst_problem_f32;

// Gradient of the quantity given by the seeds. The caller sets the first three pointers before the call.
typedef struct dst_result_f32 {
    // [param_dim] Gradient with respect to theta; by default dT/dtheta, in units of time: divide by the step size for steps. May
    // be NULL.
    float *theta_gradient;
    // [state_dim] Gradient with respect to x0. May be NULL; not written with theta_only.
    float *x0_gradient;
    // [state_dim] State x_N at which the sweep began. May be NULL.
    float *state;
    // Step at which the sweep began: N, with J <= epsilon there and J > epsilon one step before. With time_weight 0, the last
    // step of the run.
    size_t steps;
    // T, as defined by the crossing. This and the next four fields are NaN with time_weight 0.
    float time;
    // T in steps, not an integer: N - 1 + (T - t_{N-1})/h. With DST_PAPER it is N.
    float steps_interpolated;
    // dT/depsilon
    float epsilon_gradient;
    // Decrease of J over the last step in units of its rounding error. The reciprocal is the relative error of the division by
    // this decrease, if J is correct to its last bit. It is not a bound on the error of the gradient: it includes neither the
    // rounding errors of the trajectory nor those of J itself. A J formed by cancellation, such as x - 1e8 with x near 1e8, has
    // far fewer correct bits: shift the state instead.
    float rounding;
    // |dJ/dt - grad(J)*A| / (|dJ/dt| + sum_i |dJ/dx_i*A_i|) at x_N: 1 if every state reduces J, 0 if the flow grazes the level
    // set and the slope is pure cancellation. DST_PAPER and DST_INTERPOLATED leave dJ/dt out. NaN if unknown: the tangent mode
    // never forms grad(J).
    float transversality;
    // Number of calls of `rate`, by the run and this sweep together.
    size_t rate_evaluations;
    // Number of calls of `pullback`.
    size_t pullbacks;
    // Number of calls of `pushforward`.
    size_t pushforwards;
} dst_result_f32;

// View of a run between two calls. The pointers point into the workspace and are valid until the next call on this run, or until
// it is moved.
typedef struct dst_iterate_f32 {
    // Number of steps, k; at a first passage, N.
    size_t steps;
    // t_k
    float time;
    // J at x_k; NaN before the first dst_run_advance.
    float criterion;
    // Least J so far.
    float best_criterion;
    // f at x_k; NaN if `rate` does not write it.
    float loss;
    // [state_dim] x_k
    const float *state;
    // [state_dim] Visited iterate with the least J: the one to use at a deadline before the stop.
    const float *best;
    // Step at which J fell to epsilon without leaving since; SIZE_MAX while J is above.
    size_t entry;
    // Number of times that J rose above epsilon again.
    size_t exits;
} dst_iterate_f32;

// Parameters of Adam with online adaptation of its learning rate. Start from dst_ola_options_default_f32 (or _f64).
typedef struct dst_ola_options_f32 {
    // Initial learning rate.
    float alpha;
    // Decay of the first moment; default 0.9.
    float beta1;
    // Decay of the second moment; default 0.999.
    float beta2;
    // Small constant in Adam's denominator; default 1e-8.
    float stability;
    // Adaptation rate: alpha changes by -eta times the sensitivity of the stopping time.
    float eta;
    // Decrease of f that triggers an adaptation, per adaptation so far.
    float descent;
    // Convergence threshold of dst_ola: max |gradient| < tolerance; default 1e-4.
    float tolerance;
    // dst_window only: backpropagation over at most this many steps; default SIZE_MAX.
    size_t window;
    // dst_window only: checkpoint slots, at least 1; default 8.
    size_t slots;
} dst_ola_options_f32;

// Function f to minimise, for dst_ola and dst_window. Callbacks as in dst_problem: 0 continues, any other value aborts.
typedef struct dst_objective_f32 {
    // Number of variables. At least 1.
    size_t dim;
    // Number of values that `value_gradient` leaves on `tape` for `hessian_vector`. May be 0.
    size_t tape_len;
    // Writes f(x) to *value and its gradient to `gradient` [dim].
    int (*value_gradient)(void *user, const float *x, float *value, float *gradient, float *tape);
    // ADDS the Hessian of f at x times v to `out` [dim]. Required by dst_window; may be NULL for dst_ola.
    int (*hessian_vector)(void *user, const float *x, const float *v, const float *tape, float *out);
    // Passed to every callback.
    void *user;
    // Receives the code of an aborting callback; may be NULL.
    int *abort_code;
} dst_objective_f32;

// View of an adaptive run. `x` points into the workspace and is valid until the next call, or until it is moved.
typedef struct dst_ola_state_f32 {
    // [dim] x_k
    const float *x;
    // f(x_k); dst_window: NaN before the first window.
    float value;
    // max |gradient of f at x_k|; NaN in dst_window, which does not use it.
    float gradient_max;
    // Current learning rate.
    float alpha;
    // Number of iterations.
    size_t iterations;
    // Number of adaptations.
    size_t adaptations;
} dst_ola_state_f32;

// Report of one window.
typedef struct dst_window_report_f32 {
    // A dst_window_outcome.
    int32_t outcome;
    // Steps since the window began.
    size_t steps;
    // dN/dalpha over the window; 0 unless alpha was adapted.
    float sensitivity;
} dst_window_report_f32;

// Coordinate of one parameter, in which a descent measures its steps.
typedef struct dst_coordinate_f32 {
    // A dst_coordinate_kind.
    int32_t kind;
    // For DST_FREE: typical size of the parameter, positive.
    float scale;
    // For DST_BETWEEN and DST_LOGIT.
    float lower;
    // For DST_BETWEEN and DST_LOGIT.
    float upper;
} dst_coordinate_f32;

// Options of a descent; start from dst_descent_options_default.
typedef struct dst_descent_options_f32 {
    // Number of parameters.
    size_t param_dim;
    // Coordinates [param_dim]; copied by dst_descent_init.
    const struct dst_coordinate_f32 *coordinates;
    // Limit of the runs.
    size_t max_runs;
    // Length of the first step in the coordinates: 0.25. In DST_LOG this is a factor of 1.28.
    float radius;
    // Length below which the descent is finished.
    float least_radius;
} dst_descent_options_f32;

// State of a descent. The vectors lie in the workspace and are valid until the next call on it.
typedef struct dst_descent_state_f32 {
    // theta of the next run [param_dim]; after the end, the best.
    const float *theta;
    // Best theta [param_dim]; NULL before the first run with a value and a gradient.
    const float *best;
    // Value of the best theta; NaN if `best` is NULL.
    float value;
    // Number of runs so far.
    size_t runs;
    // 1 if the descent is over, otherwise 0.
    int finished;
} dst_descent_state_f32;

// Quadratic program: minimises u'Pu/2 + q'u subject to lower <= Au <= upper; q and the bounds are given at every solve.
typedef struct dst_qp_f32 {
    // Number of variables n, at most 16383.
    size_t variables;
    // Number of rows m of A, at most 16383.
    size_t rows;
    // Most rows that the active set can hold. min(n, m) + 1 is always enough; a solve that needs more ends as DST_QP_LATE.
    size_t capacity;
    // P [n*n], row by row; symmetric and positive definite. Only dst_qp_prepare reads it.
    const float *hessian;
    // A [m*n], row by row. Only dst_qp_prepare reads it. If the first rows are those of the identity, their bounds are those of
    // the variables, and every result is within them exactly.
    const float *matrix;
    // Weight c of the penalty c|v| on the violation v of each row [m], infinity for a hard row. NULL if there is none.
    const float *caps;
    // 1/rho of the penalty rho/2*v*v of each row [m], 0 for a hard row. NULL if there is none.
    const float *lifts;
    // Violation that counts as zero, relative to the terms of the row; 0 stands for 8 machine epsilons.
    float tolerance;
} dst_qp_f32;

// Outcome of dst_qp_solve.
typedef struct dst_qp_outcome {
    // A dst_qp_status.
    int32_t status;
    // Number of solutions with the factor: one per change of the active set.
    size_t steps;
} dst_qp_outcome;

// Options of a run. Start from dst_options_default_f32 (or _f64) and change fields as needed.
typedef struct dst_options_f64 {
    // Step size h > 0; with DST_MAP, 1.
    double step;
    // Tolerance of J.
    double epsilon;
    // Step limit.
    size_t max_steps;
    // Number of steps for which J has to stay at or below epsilon. 0: the run stops at the first passage, the first J <=
    // epsilon, whatever J does later. m: it stops when J has stayed for m further steps; a stay that max_steps cuts short does
    // not count. SIZE_MAX: it continues to max_steps, and J must stay to the end; the safe choice if J may oscillate. The
    // stopping time is always the crossing at which the stay began.
    size_t staying;
    // Time at x0.
    double start_time;
    // A dst_integrator; default DST_EULER.
    int32_t integrator;
    // A dst_mode; default DST_AUTO.
    int32_t mode;
    // Checkpoint slots, at least 1: more memory, less recomputation. Their number does not change the bits of the gradient.
    size_t slots;
    // If not 0, every slot also keeps the tape and the stages of its step, which are then not recomputed.
    int32_t keep_records;
    // If not 0, the gradient with respect to x0 is left out: the tangent mode then carries fewer directions.
    int32_t theta_only;
} dst_options_f64;

// Quantity to differentiate, chosen after the run:  time_weight*T + sum_k (criterion_weight*J(x_k) + loss_weight*f(x_k)),  for k
// = 0 to N; if time_weight is 0, to the last step of the run, which need not have stopped. Start from dst_seeds_default_f32 (or
// _f64): T alone, by the interpolated crossing. NULL means the same.
typedef struct dst_seeds_f64 {
    // A dst_crossing; default DST_INTERPOLATED.
    int32_t crossing;
    // Factor of the stopping time T; default 1.
    double time_weight;
    // Weight of J at every step; default 0.
    double criterion_weight;
    // Weight of f at every step; default 0.
    double loss_weight;
    // If not NULL, called for the weights at a step, in any order of steps. On entry *criterion_weight and *loss_weight are the
    // two weights above; it may overwrite them. Returns 0, or aborts like every callback.
    int (*weight)(void *user, size_t step, double *criterion_weight, double *loss_weight);
    // Passed to `weight`.
    void *user;
    // Restricts the sweep to the last `window` steps (adjoint mode): the gradient "with respect to x0" is then with respect to
    // the state at the start of this window; default SIZE_MAX.
    size_t window;
} dst_seeds_f64;

// The iteration x_{k+1} = x_k - h*A(theta, x_k, t_k) with its criterion J(theta, x, t) and a loss f(theta, x, t), as callbacks.
//
// Every callback returns 0 to continue. Any other value aborts the run: the calling function returns DST_ABORTED, the value goes
// to *abort_code, and no callback of this run is called again. Callbacks must return (no longjmp, no C++ exception). A call from
// a callback on the workspace of its own run returns DST_ERROR_BUSY.
//
// Set the fields by name and leave the others zero: `dst_problem_f32 p = { .state_dim = 2, ... };`
typedef struct dst_problem_f64 {
    // Number of states, entries of x. At least 1.
    size_t state_dim;
    // Number of parameters, entries of theta. May be 0.
    size_t param_dim;
    // Number of values that `rate` leaves on `tape` for the derivatives. May be 0.
    size_t tape_len;
    // Writes A(theta, x, t), or F with DST_MAP, to `rate` [state_dim], J to *criterion and, if it is used, f to *loss; may
    // leave intermediate results on `tape` [tape_len]. Must depend on its arguments only, because steps are recomputed.
    int (*rate)(void *user,
                const double *theta,
                const double *x,
                double t,
                double *rate,
                double *tape,
                double *criterion,
                double *loss);
    // ADDS rate_bar*dA/dtheta + criterion_bar*dJ/dtheta + loss_bar*df/dtheta to `theta_bar` [param_dim], and the same with d/dx
    // to `x_bar` [state_dim]; `tape` was written by `rate` at this point. If `t_bar` is not NULL, add criterion_bar*dJ/dt to
    // *t_bar; this happens once or twice per sweep with DST_SLOPE or DST_HERMITE, and a J that does not depend on t may ignore
    // it. NULL if there is a pushforward, or no gradient is needed.
    int (*pullback)(void *user,
                    const double *theta,
                    const double *x,
                    double t,
                    const double *tape,
                    const double *rate_bar,
                    double criterion_bar,
                    double loss_bar,
                    double *theta_bar,
                    double *x_bar,
                    double *t_bar);
    // WRITES the derivatives along (theta_dot, x_dot, t_dot): of A to `rate_dot` [state_dim], of J to *criterion_dot and, if f
    // has weights, of f to *loss_dot. `t_dot` is 0, or 1 when DST_SLOPE or DST_HERMITE needs dJ/dt, in *criterion_dot only. NULL
    // if there is a pullback.
    int (*pushforward)(void *user,
                       const double *theta,
                       const double *x,
                       double t,
                       const double *tape,
                       const double *theta_dot,
                       const double *x_dot,
                       double t_dot,
                       double *rate_dot,
                       double *criterion_dot,
                       double *loss_dot);
    // Passed to every callback.
    void *user;
    // Receives the code of an aborting callback; may be NULL. The only output that is written on failure.
    int *abort_code;
} dst_problem_f64;

// Gradient of the quantity given by the seeds. The caller sets the first three pointers before the call.
typedef struct dst_result_f64 {
    // [param_dim] Gradient with respect to theta; by default dT/dtheta, in units of time: divide by the step size for steps. May
    // be NULL.
    double *theta_gradient;
    // [state_dim] Gradient with respect to x0. May be NULL; not written with theta_only.
    double *x0_gradient;
    // [state_dim] State x_N at which the sweep began. May be NULL.
    double *state;
    // Step at which the sweep began: N, with J <= epsilon there and J > epsilon one step before. With time_weight 0, the last
    // step of the run.
    size_t steps;
    // T, as defined by the crossing. This and the next four fields are NaN with time_weight 0.
    double time;
    // T in steps, not an integer: N - 1 + (T - t_{N-1})/h. With DST_PAPER it is N.
    double steps_interpolated;
    // dT/depsilon
    double epsilon_gradient;
    // Decrease of J over the last step in units of its rounding error. The reciprocal is the relative error of the division by
    // this decrease, if J is correct to its last bit. It is not a bound on the error of the gradient: it includes neither the
    // rounding errors of the trajectory nor those of J itself. A J formed by cancellation, such as x - 1e8 with x near 1e8, has
    // far fewer correct bits: shift the state instead.
    double rounding;
    // |dJ/dt - grad(J)*A| / (|dJ/dt| + sum_i |dJ/dx_i*A_i|) at x_N: 1 if every state reduces J, 0 if the flow grazes the level
    // set and the slope is pure cancellation. DST_PAPER and DST_INTERPOLATED leave dJ/dt out. NaN if unknown: the tangent mode
    // never forms grad(J).
    double transversality;
    // Number of calls of `rate`, by the run and this sweep together.
    size_t rate_evaluations;
    // Number of calls of `pullback`.
    size_t pullbacks;
    // Number of calls of `pushforward`.
    size_t pushforwards;
} dst_result_f64;

// View of a run between two calls. The pointers point into the workspace and are valid until the next call on this run, or until
// it is moved.
typedef struct dst_iterate_f64 {
    // Number of steps, k; at a first passage, N.
    size_t steps;
    // t_k
    double time;
    // J at x_k; NaN before the first dst_run_advance.
    double criterion;
    // Least J so far.
    double best_criterion;
    // f at x_k; NaN if `rate` does not write it.
    double loss;
    // [state_dim] x_k
    const double *state;
    // [state_dim] Visited iterate with the least J: the one to use at a deadline before the stop.
    const double *best;
    // Step at which J fell to epsilon without leaving since; SIZE_MAX while J is above.
    size_t entry;
    // Number of times that J rose above epsilon again.
    size_t exits;
} dst_iterate_f64;

// Parameters of Adam with online adaptation of its learning rate. Start from dst_ola_options_default_f32 (or _f64).
typedef struct dst_ola_options_f64 {
    // Initial learning rate.
    double alpha;
    // Decay of the first moment; default 0.9.
    double beta1;
    // Decay of the second moment; default 0.999.
    double beta2;
    // Small constant in Adam's denominator; default 1e-8.
    double stability;
    // Adaptation rate: alpha changes by -eta times the sensitivity of the stopping time.
    double eta;
    // Decrease of f that triggers an adaptation, per adaptation so far.
    double descent;
    // Convergence threshold of dst_ola: max |gradient| < tolerance; default 1e-4.
    double tolerance;
    // dst_window only: backpropagation over at most this many steps; default SIZE_MAX.
    size_t window;
    // dst_window only: checkpoint slots, at least 1; default 8.
    size_t slots;
} dst_ola_options_f64;

// Function f to minimise, for dst_ola and dst_window. Callbacks as in dst_problem: 0 continues, any other value aborts.
typedef struct dst_objective_f64 {
    // Number of variables. At least 1.
    size_t dim;
    // Number of values that `value_gradient` leaves on `tape` for `hessian_vector`. May be 0.
    size_t tape_len;
    // Writes f(x) to *value and its gradient to `gradient` [dim].
    int (*value_gradient)(void *user, const double *x, double *value, double *gradient, double *tape);
    // ADDS the Hessian of f at x times v to `out` [dim]. Required by dst_window; may be NULL for dst_ola.
    int (*hessian_vector)(void *user, const double *x, const double *v, const double *tape, double *out);
    // Passed to every callback.
    void *user;
    // Receives the code of an aborting callback; may be NULL.
    int *abort_code;
} dst_objective_f64;

// View of an adaptive run. `x` points into the workspace and is valid until the next call, or until it is moved.
typedef struct dst_ola_state_f64 {
    // [dim] x_k
    const double *x;
    // f(x_k); dst_window: NaN before the first window.
    double value;
    // max |gradient of f at x_k|; NaN in dst_window, which does not use it.
    double gradient_max;
    // Current learning rate.
    double alpha;
    // Number of iterations.
    size_t iterations;
    // Number of adaptations.
    size_t adaptations;
} dst_ola_state_f64;

// Report of one window.
typedef struct dst_window_report_f64 {
    // A dst_window_outcome.
    int32_t outcome;
    // Steps since the window began.
    size_t steps;
    // dN/dalpha over the window; 0 unless alpha was adapted.
    double sensitivity;
} dst_window_report_f64;

// Coordinate of one parameter, in which a descent measures its steps.
typedef struct dst_coordinate_f64 {
    // A dst_coordinate_kind.
    int32_t kind;
    // For DST_FREE: typical size of the parameter, positive.
    double scale;
    // For DST_BETWEEN and DST_LOGIT.
    double lower;
    // For DST_BETWEEN and DST_LOGIT.
    double upper;
} dst_coordinate_f64;

// Options of a descent; start from dst_descent_options_default.
typedef struct dst_descent_options_f64 {
    // Number of parameters.
    size_t param_dim;
    // Coordinates [param_dim]; copied by dst_descent_init.
    const struct dst_coordinate_f64 *coordinates;
    // Limit of the runs.
    size_t max_runs;
    // Length of the first step in the coordinates: 0.25. In DST_LOG this is a factor of 1.28.
    double radius;
    // Length below which the descent is finished.
    double least_radius;
} dst_descent_options_f64;

// State of a descent. The vectors lie in the workspace and are valid until the next call on it.
typedef struct dst_descent_state_f64 {
    // theta of the next run [param_dim]; after the end, the best.
    const double *theta;
    // Best theta [param_dim]; NULL before the first run with a value and a gradient.
    const double *best;
    // Value of the best theta; NaN if `best` is NULL.
    double value;
    // Number of runs so far.
    size_t runs;
    // 1 if the descent is over, otherwise 0.
    int finished;
} dst_descent_state_f64;

// Quadratic program: minimises u'Pu/2 + q'u subject to lower <= Au <= upper; q and the bounds are given at every solve.
typedef struct dst_qp_f64 {
    // Number of variables n, at most 16383.
    size_t variables;
    // Number of rows m of A, at most 16383.
    size_t rows;
    // Most rows that the active set can hold. min(n, m) + 1 is always enough; a solve that needs more ends as DST_QP_LATE.
    size_t capacity;
    // P [n*n], row by row; symmetric and positive definite. Only dst_qp_prepare reads it.
    const double *hessian;
    // A [m*n], row by row. Only dst_qp_prepare reads it. If the first rows are those of the identity, their bounds are those of
    // the variables, and every result is within them exactly.
    const double *matrix;
    // Weight c of the penalty c|v| on the violation v of each row [m], infinity for a hard row. NULL if there is none.
    const double *caps;
    // 1/rho of the penalty rho/2*v*v of each row [m], 0 for a hard row. NULL if there is none.
    const double *lifts;
    // Violation that counts as zero, relative to the terms of the row; 0 stands for 8 machine epsilons.
    double tolerance;
} dst_qp_f64;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Writes the mismatch as one sentence, such as `pullback: d(J)/d(theta[2]) is 0.5 where differences give 1 (half of it)`, to
// `text`, as snprintf does: at most size - 1 characters and a terminating zero, nothing if `size` is 0. Returns the length
// of the whole sentence; 0 if a pointer is NULL or misaligned.
size_t dst_mismatch_message(const struct dst_mismatch *mismatch,
                            char *text,
                            size_t size);

// Zeroes the first eight bytes of a workspace of any kind and size. Required once before the workspace is first initialised,
// unless it is already zero (static, calloc), and again after a reset during a callback or a callback that did not return: until
// then every call on it returns DST_ERROR_BUSY. The content of the workspace is lost. NULL is ignored.
void dst_workspace_clear(void *workspace);

// Default options for this step size and tolerance: first passage, Euler, automatic mode, 8 slots, at most a million
// steps.
struct dst_options_f32 dst_options_default_f32(float step,
                                               float epsilon);

// Default options for an iteration x_{k+1} = F(theta, x_k, t_k) with this tolerance: DST_MAP with step size 1, otherwise
// those of dst_options_default.
struct dst_options_f32 dst_options_map_f32(float epsilon);

// Default seeds: the stopping time, by the interpolated crossing.
struct dst_seeds_f32 dst_seeds_default_f32(void);

// Returns the workspace size in bytes for this problem and these options, or 0 if the arguments are invalid;
// dst_run_init returns the reason.
size_t dst_workspace_size_f32(const struct dst_problem_f32 *problem, const struct dst_options_f32 *options);

// Required alignment of every workspace, including those of dst_ola and dst_window.
size_t dst_workspace_align_f32(void);

// Compares the pullback and the pushforward with differences of `rate`, at x0, beside it, and after 3 and 20 steps.
//
// Also finds a pullback that overwrites its sums, outputs that are added to or not written, and a derivative that does
// not follow the tape. Returns DST_OK if nothing is wrong. On DST_WRONG_DERIVATIVE, and only then, *mismatch names the
// callback, output and entry that differ most, with the expected value and the one found. The loss f is left out if
// `rate` does not write it. Differences say nothing at a kink of A, J or f; there, the other points count. Costs about
// 16*(state_dim + 3)*(state_dim + param_dim + 1) evaluations. The workspace is that of a run, and holds none afterwards.
dst_status dst_check_f32(const struct dst_problem_f32 *problem,
                         const struct dst_options_f32 *options,
                         const float *theta,
                         const float *x0,
                         void *workspace,
                         size_t workspace_size,
                         struct dst_mismatch *mismatch);

// Runs until the stop and differentiates the quantity given by the seeds, in one call; with `seeds` NULL, the stopping
// time.
//
// Reads theta [param_dim] and x0 [state_dim]; writes *result on success. The result has the same bits as that of the
// calls dst_run_init ... dst_gradient_read with any budgets. Afterwards the workspace holds the run, as if these calls
// had been made: its address is the handle.
dst_status dst_sensitivity_f32(const struct dst_problem_f32 *problem,
                               const struct dst_options_f32 *options,
                               const float *theta,
                               const float *x0,
                               const struct dst_seeds_f32 *seeds,
                               void *workspace,
                               size_t workspace_size,
                               struct dst_result_f32 *result);

// Prepares a run in the workspace and writes its handle to *run. Does not call a callback yet.
//
// Copies problem, options, theta and x0. The handle is the address of the workspace, which belongs to the run until you
// reuse it. Between two calls the workspace may be moved, or copied to make a second run, by memcpy to any address of
// the same alignment: the handle is then the new address. There is nothing to free.
dst_status dst_run_init_f32(const struct dst_problem_f32 *problem,
                            const struct dst_options_f32 *options,
                            const float *theta,
                            const float *x0,
                            void *workspace,
                            size_t workspace_size,
                            struct dst_run_f32 **run);

// Makes at most `budget` steps and writes a dst_progress to *progress. After a stop it only writes the same value again.
// A budget of SIZE_MAX runs to the end. An error is final; the best iterate is then still available through
// dst_run_iterate.
dst_status dst_run_advance_f32(struct dst_run_f32 *run,
                               size_t budget,
                               int32_t *progress);

// Writes the current and the best iterate to *iterate. A gradient reuses their memory: once it has begun, they are
// available only while the last iterate is in memory and is the best, as after a first passage; otherwise
// DST_ERROR_ORDER.
dst_status dst_run_iterate_f32(struct dst_run_f32 *run,
                               struct dst_iterate_f32 *iterate);

// Makes at most `budget` operations of the gradient (one step recomputed or differentiated each) and writes to
// *remaining the number of steps still to be differentiated: 0 when it is complete.
//
// The first call begins a sweep, and may make three pullbacks and one evaluation beyond its budget; further calls with
// the same seeds continue it. A call after the sweep is complete, or after an error, begins another one over the same
// run, with other seeds if needed. If the run has not stopped, the stopping time gives DST_ERROR_NOT_STOPPED, and the
// run can continue. `seeds` may be NULL: the stopping time.
dst_status dst_gradient_advance_f32(struct dst_run_f32 *run,
                                    const struct dst_seeds_f32 *seeds,
                                    size_t budget,
                                    size_t *remaining);

// Writes the gradient of the last sweep to *result; DST_ERROR_ORDER if it is not complete.
dst_status dst_gradient_read_f32(struct dst_run_f32 *run, struct dst_result_f32 *result);

// Default options: those of the paper, with this learning rate, adaptation rate and descent.
struct dst_ola_options_f32 dst_ola_options_default_f32(float alpha, float eta, float descent);

// Returns the workspace size in bytes for dst_ola_init, or 0 if the arguments are invalid.
size_t dst_ola_workspace_size_f32(const struct dst_objective_f32 *objective,
                                  const struct dst_ola_options_f32 *options);

// Prepares Adam with online adaptation of its learning rate (Algorithm 2 of the paper), starting from x0 [dim], and
// writes its handle to *ola. Evaluates the objective once. The rules for the workspace are those of dst_run_init.
dst_status dst_ola_init_f32(const struct dst_objective_f32 *objective,
                            const struct dst_ola_options_f32 *options,
                            const float *x0,
                            void *workspace,
                            size_t workspace_size,
                            struct dst_ola_f32 **ola);

// Makes at most `budget` iterations, each with one evaluation of the objective, and writes a dst_progress to *progress:
// DST_RUNNING, or DST_REACHED when max |gradient| < tolerance. An error is final.
dst_status dst_ola_advance_f32(struct dst_ola_f32 *ola,
                               size_t budget,
                               int32_t *progress);

// Writes the state of the adaptive run to *state.
dst_status dst_ola_read_f32(struct dst_ola_f32 *ola, struct dst_ola_state_f32 *state);

// Returns the workspace size in bytes for dst_window_init, or 0 if the arguments are invalid.
size_t dst_window_workspace_size_f32(const struct dst_objective_f32 *objective,
                                     const struct dst_ola_options_f32 *options);

// Prepares Adam with a learning rate adapted by the exact sensitivity of each window, backpropagated from the point at
// which f has fallen by the threshold to the previous adaptation. Writes its handle to *window.
dst_status dst_window_init_f32(const struct dst_objective_f32 *objective,
                               const struct dst_ola_options_f32 *options,
                               const float *x0,
                               void *workspace,
                               size_t workspace_size,
                               struct dst_window_f32 **window);

// Runs one window: at most `budget` iterations and, if f falls by the threshold, the gradient and the adaptation. An
// abort is final; any other error leaves everything as it was before the call.
dst_status dst_window_advance_f32(struct dst_window_f32 *window,
                                  size_t budget,
                                  struct dst_window_report_f32 *report);

// Writes the state of the windowed run to *state.
dst_status dst_window_read_f32(struct dst_window_f32 *window, struct dst_ola_state_f32 *state);

// Default options of a descent over `param_dim` parameters with these coordinates [param_dim]: at most 1000 runs.
struct dst_descent_options_f32 dst_descent_options_default_f32(size_t param_dim,
                                                               const struct dst_coordinate_f32 *coordinates);

// Returns the workspace size in bytes for dst_descent_init, or 0 if the options are invalid.
size_t dst_descent_workspace_size_f32(const struct dst_descent_options_f32 *options);

// Prepares a descent from theta [param_dim] and writes its handle to *descent. The rules for the workspace are those
// of dst_run_init. Then, until `finished` of dst_descent_read: run with `theta` of dst_descent_read, and call
// dst_descent_tell with the stopping time and its gradient, or dst_descent_tell_failed if the run has none.
dst_status dst_descent_init_f32(const struct dst_descent_options_f32 *options,
                                const float *theta,
                                void *workspace,
                                size_t workspace_size,
                                struct dst_descent_f32 **descent);

// Writes the next theta, the best theta and the progress to *state.
dst_status dst_descent_read_f32(struct dst_descent_f32 *descent, struct dst_descent_state_f32 *state);

// Takes the value of the run at the next theta and its gradient [param_dim] with respect to theta, and writes a
// dst_verdict to *verdict. A number that is infinite or NaN counts as a failed run.
dst_status dst_descent_tell_f32(struct dst_descent_f32 *descent,
                                float value,
                                const float *gradient,
                                int32_t *verdict);

// Takes the value alone: DST_GRADIENT_WANTED asks for dst_descent_tell with the same value; otherwise the run is
// judged, and the cost of its gradient saved.
dst_status dst_descent_tell_value_f32(struct dst_descent_f32 *descent,
                                      float value,
                                      int32_t *verdict);

// Reports that the run at the next theta has no value or no gradient: it did not stop, was not finite, or crossed
// epsilon too flatly. The best theta is kept, and the next one is closer to it or in another direction.
dst_status dst_descent_tell_failed_f32(struct dst_descent_f32 *descent,
                                       int32_t *verdict);

// Length of the constants of this program for dst_qp_prepare, or 0 if a size is out of range.
size_t dst_qp_constants_f32(const struct dst_qp_f32 *program);

// Length of the numbers that dst_qp_solve needs, or 0 if a size is out of range.
size_t dst_qp_numbers_f32(const struct dst_qp_f32 *program);

// Length of the words that dst_qp_solve needs, or 0 if a size is out of range.
size_t dst_qp_words_f32(const struct dst_qp_f32 *program);

// Factors P, computes A*inv(P)*A', and writes the constants [dst_qp_constants]. Needed once, before any number of solves
// with other q and bounds. DST_ERROR_PROGRAM if P is not positive definite; the constants are then not valid.
dst_status dst_qp_prepare_f32(const struct dst_qp_f32 *program,
                              float *constants,
                              size_t constants_len);

// Solves with q [n], lower [m] and upper [m] in at most `budget` steps, and writes u [n] and *outcome.
//
// Starts from the active set of the last solve, which is in `words` [dst_qp_words]: zero them before the first solve,
// or for a cold start. `numbers` [dst_qp_numbers] is scratch. The program is that of dst_qp_prepare, with the same
// sizes, caps and lifts. Bounds may be infinite; NaN and an infinite q are refused. A lower bound above its upper one
// ends as DST_QP_INFEASIBLE.
dst_status dst_qp_solve_f32(const struct dst_qp_f32 *program,
                            const float *constants,
                            size_t constants_len,
                            float *numbers,
                            size_t numbers_len,
                            uint16_t *words,
                            size_t words_len,
                            const float *q,
                            const float *lower,
                            const float *upper,
                            size_t budget,
                            float *u,
                            struct dst_qp_outcome *outcome);

// Default options for this step size and tolerance: first passage, Euler, automatic mode, 8 slots, at most a million
// steps.
struct dst_options_f64 dst_options_default_f64(double step,
                                               double epsilon);

// Default options for an iteration x_{k+1} = F(theta, x_k, t_k) with this tolerance: DST_MAP with step size 1, otherwise
// those of dst_options_default.
struct dst_options_f64 dst_options_map_f64(double epsilon);

// Default seeds: the stopping time, by the interpolated crossing.
struct dst_seeds_f64 dst_seeds_default_f64(void);

// Returns the workspace size in bytes for this problem and these options, or 0 if the arguments are invalid;
// dst_run_init returns the reason.
size_t dst_workspace_size_f64(const struct dst_problem_f64 *problem, const struct dst_options_f64 *options);

// Required alignment of every workspace, including those of dst_ola and dst_window.
size_t dst_workspace_align_f64(void);

// Compares the pullback and the pushforward with differences of `rate`, at x0, beside it, and after 3 and 20 steps.
//
// Also finds a pullback that overwrites its sums, outputs that are added to or not written, and a derivative that does
// not follow the tape. Returns DST_OK if nothing is wrong. On DST_WRONG_DERIVATIVE, and only then, *mismatch names the
// callback, output and entry that differ most, with the expected value and the one found. The loss f is left out if
// `rate` does not write it. Differences say nothing at a kink of A, J or f; there, the other points count. Costs about
// 16*(state_dim + 3)*(state_dim + param_dim + 1) evaluations. The workspace is that of a run, and holds none afterwards.
dst_status dst_check_f64(const struct dst_problem_f64 *problem,
                         const struct dst_options_f64 *options,
                         const double *theta,
                         const double *x0,
                         void *workspace,
                         size_t workspace_size,
                         struct dst_mismatch *mismatch);

// Runs until the stop and differentiates the quantity given by the seeds, in one call; with `seeds` NULL, the stopping
// time.
//
// Reads theta [param_dim] and x0 [state_dim]; writes *result on success. The result has the same bits as that of the
// calls dst_run_init ... dst_gradient_read with any budgets. Afterwards the workspace holds the run, as if these calls
// had been made: its address is the handle.
dst_status dst_sensitivity_f64(const struct dst_problem_f64 *problem,
                               const struct dst_options_f64 *options,
                               const double *theta,
                               const double *x0,
                               const struct dst_seeds_f64 *seeds,
                               void *workspace,
                               size_t workspace_size,
                               struct dst_result_f64 *result);

// Prepares a run in the workspace and writes its handle to *run. Does not call a callback yet.
//
// Copies problem, options, theta and x0. The handle is the address of the workspace, which belongs to the run until you
// reuse it. Between two calls the workspace may be moved, or copied to make a second run, by memcpy to any address of
// the same alignment: the handle is then the new address. There is nothing to free.
dst_status dst_run_init_f64(const struct dst_problem_f64 *problem,
                            const struct dst_options_f64 *options,
                            const double *theta,
                            const double *x0,
                            void *workspace,
                            size_t workspace_size,
                            struct dst_run_f64 **run);

// Makes at most `budget` steps and writes a dst_progress to *progress. After a stop it only writes the same value again.
// A budget of SIZE_MAX runs to the end. An error is final; the best iterate is then still available through
// dst_run_iterate.
dst_status dst_run_advance_f64(struct dst_run_f64 *run,
                               size_t budget,
                               int32_t *progress);

// Writes the current and the best iterate to *iterate. A gradient reuses their memory: once it has begun, they are
// available only while the last iterate is in memory and is the best, as after a first passage; otherwise
// DST_ERROR_ORDER.
dst_status dst_run_iterate_f64(struct dst_run_f64 *run,
                               struct dst_iterate_f64 *iterate);

// Makes at most `budget` operations of the gradient (one step recomputed or differentiated each) and writes to
// *remaining the number of steps still to be differentiated: 0 when it is complete.
//
// The first call begins a sweep, and may make three pullbacks and one evaluation beyond its budget; further calls with
// the same seeds continue it. A call after the sweep is complete, or after an error, begins another one over the same
// run, with other seeds if needed. If the run has not stopped, the stopping time gives DST_ERROR_NOT_STOPPED, and the
// run can continue. `seeds` may be NULL: the stopping time.
dst_status dst_gradient_advance_f64(struct dst_run_f64 *run,
                                    const struct dst_seeds_f64 *seeds,
                                    size_t budget,
                                    size_t *remaining);

// Writes the gradient of the last sweep to *result; DST_ERROR_ORDER if it is not complete.
dst_status dst_gradient_read_f64(struct dst_run_f64 *run, struct dst_result_f64 *result);

// Default options: those of the paper, with this learning rate, adaptation rate and descent.
struct dst_ola_options_f64 dst_ola_options_default_f64(double alpha, double eta, double descent);

// Returns the workspace size in bytes for dst_ola_init, or 0 if the arguments are invalid.
size_t dst_ola_workspace_size_f64(const struct dst_objective_f64 *objective,
                                  const struct dst_ola_options_f64 *options);

// Prepares Adam with online adaptation of its learning rate (Algorithm 2 of the paper), starting from x0 [dim], and
// writes its handle to *ola. Evaluates the objective once. The rules for the workspace are those of dst_run_init.
dst_status dst_ola_init_f64(const struct dst_objective_f64 *objective,
                            const struct dst_ola_options_f64 *options,
                            const double *x0,
                            void *workspace,
                            size_t workspace_size,
                            struct dst_ola_f64 **ola);

// Makes at most `budget` iterations, each with one evaluation of the objective, and writes a dst_progress to *progress:
// DST_RUNNING, or DST_REACHED when max |gradient| < tolerance. An error is final.
dst_status dst_ola_advance_f64(struct dst_ola_f64 *ola,
                               size_t budget,
                               int32_t *progress);

// Writes the state of the adaptive run to *state.
dst_status dst_ola_read_f64(struct dst_ola_f64 *ola, struct dst_ola_state_f64 *state);

// Returns the workspace size in bytes for dst_window_init, or 0 if the arguments are invalid.
size_t dst_window_workspace_size_f64(const struct dst_objective_f64 *objective,
                                     const struct dst_ola_options_f64 *options);

// Prepares Adam with a learning rate adapted by the exact sensitivity of each window, backpropagated from the point at
// which f has fallen by the threshold to the previous adaptation. Writes its handle to *window.
dst_status dst_window_init_f64(const struct dst_objective_f64 *objective,
                               const struct dst_ola_options_f64 *options,
                               const double *x0,
                               void *workspace,
                               size_t workspace_size,
                               struct dst_window_f64 **window);

// Runs one window: at most `budget` iterations and, if f falls by the threshold, the gradient and the adaptation. An
// abort is final; any other error leaves everything as it was before the call.
dst_status dst_window_advance_f64(struct dst_window_f64 *window,
                                  size_t budget,
                                  struct dst_window_report_f64 *report);

// Writes the state of the windowed run to *state.
dst_status dst_window_read_f64(struct dst_window_f64 *window, struct dst_ola_state_f64 *state);

// Default options of a descent over `param_dim` parameters with these coordinates [param_dim]: at most 1000 runs.
struct dst_descent_options_f64 dst_descent_options_default_f64(size_t param_dim,
                                                               const struct dst_coordinate_f64 *coordinates);

// Returns the workspace size in bytes for dst_descent_init, or 0 if the options are invalid.
size_t dst_descent_workspace_size_f64(const struct dst_descent_options_f64 *options);

// Prepares a descent from theta [param_dim] and writes its handle to *descent. The rules for the workspace are those
// of dst_run_init. Then, until `finished` of dst_descent_read: run with `theta` of dst_descent_read, and call
// dst_descent_tell with the stopping time and its gradient, or dst_descent_tell_failed if the run has none.
dst_status dst_descent_init_f64(const struct dst_descent_options_f64 *options,
                                const double *theta,
                                void *workspace,
                                size_t workspace_size,
                                struct dst_descent_f64 **descent);

// Writes the next theta, the best theta and the progress to *state.
dst_status dst_descent_read_f64(struct dst_descent_f64 *descent, struct dst_descent_state_f64 *state);

// Takes the value of the run at the next theta and its gradient [param_dim] with respect to theta, and writes a
// dst_verdict to *verdict. A number that is infinite or NaN counts as a failed run.
dst_status dst_descent_tell_f64(struct dst_descent_f64 *descent,
                                double value,
                                const double *gradient,
                                int32_t *verdict);

// Takes the value alone: DST_GRADIENT_WANTED asks for dst_descent_tell with the same value; otherwise the run is
// judged, and the cost of its gradient saved.
dst_status dst_descent_tell_value_f64(struct dst_descent_f64 *descent,
                                      double value,
                                      int32_t *verdict);

// Reports that the run at the next theta has no value or no gradient: it did not stop, was not finite, or crossed
// epsilon too flatly. The best theta is kept, and the next one is closer to it or in another direction.
dst_status dst_descent_tell_failed_f64(struct dst_descent_f64 *descent,
                                       int32_t *verdict);

// Length of the constants of this program for dst_qp_prepare, or 0 if a size is out of range.
size_t dst_qp_constants_f64(const struct dst_qp_f64 *program);

// Length of the numbers that dst_qp_solve needs, or 0 if a size is out of range.
size_t dst_qp_numbers_f64(const struct dst_qp_f64 *program);

// Length of the words that dst_qp_solve needs, or 0 if a size is out of range.
size_t dst_qp_words_f64(const struct dst_qp_f64 *program);

// Factors P, computes A*inv(P)*A', and writes the constants [dst_qp_constants]. Needed once, before any number of solves
// with other q and bounds. DST_ERROR_PROGRAM if P is not positive definite; the constants are then not valid.
dst_status dst_qp_prepare_f64(const struct dst_qp_f64 *program,
                              double *constants,
                              size_t constants_len);

// Solves with q [n], lower [m] and upper [m] in at most `budget` steps, and writes u [n] and *outcome.
//
// Starts from the active set of the last solve, which is in `words` [dst_qp_words]: zero them before the first solve,
// or for a cold start. `numbers` [dst_qp_numbers] is scratch. The program is that of dst_qp_prepare, with the same
// sizes, caps and lifts. Bounds may be infinite; NaN and an infinite q are refused. A lower bound above its upper one
// ends as DST_QP_INFEASIBLE.
dst_status dst_qp_solve_f64(const struct dst_qp_f64 *program,
                            const double *constants,
                            size_t constants_len,
                            double *numbers,
                            size_t numbers_len,
                            uint16_t *words,
                            size_t words_len,
                            const double *q,
                            const double *lower,
                            const double *upper,
                            size_t budget,
                            double *u,
                            struct dst_qp_outcome *outcome);

// Returns the message of a status: never NULL, static, without a newline.
const char *dst_status_message(int32_t status);

// Returns the version of the library, such as "0.1.0".
const char *dst_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DST_H */
