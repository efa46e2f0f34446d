//! Every function of the header, for both precisions, from one macro.
//!
//! What a caller must guarantee is the same for all of them: a pointer is NULL or leads to what its comment says, and a
//! workspace is left in place and alone as long as a run in it is used. Each body passes that on.

use core::ffi::c_void;

use crate::ola::{self, Ola};
use crate::run::{self, Run};
use crate::status::{dst_status, status};
use crate::types::{
    Iterate, Objective, OlaOptions, OlaState, Options, Problem, Sensitivity, WindowReport,
};
use crate::window::{self, Windowed};

macro_rules! exports {
    (
        $S:ty,
        $options_default:ident,
        $workspace_size:ident,
        $workspace_align:ident,
        $sensitivity:ident,
        $run_init:ident,
        $run_advance:ident,
        $run_iterate:ident,
        $gradient_start:ident,
        $gradient_advance:ident,
        $gradient_finish:ident,
        $ola_options_default:ident,
        $ola_workspace_size:ident,
        $ola_init:ident,
        $ola_advance:ident,
        $ola_read:ident,
        $window_workspace_size:ident,
        $window_init:ident,
        $window_advance:ident,
        $window_read:ident,
    ) => {
        /// Options with this step size and tolerance: Euler, interpolated crossing, automatic mode, 8 slots, at most a million
        /// steps, no running loss, time_weight 1.
        #[unsafe(no_mangle)]
        pub extern "C" fn $options_default(step: $S, epsilon: $S) -> Options<$S> {
            Options::new(step, epsilon)
        }

        /// How many bytes of workspace this problem needs with these options. 0 if the arguments are refused:
        /// dst_run_init says why.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $workspace_size(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { run::workspace_size(problem, options) }
        }

        /// What the address of every workspace, of dst_ola and dst_window too, must be a multiple of.
        #[unsafe(no_mangle)]
        pub extern "C" fn $workspace_align() -> usize {
            run::align::<$S>()
        }

        /// Runs until the stop and differentiates the stopping time, in one call.
        ///
        /// theta [param_dim] and x0 [state_dim] are read, `workspace` is used as working memory (its content does not matter
        /// before and after), *result is written if all went well. The result has the same bits as that of the calls
        /// dst_run_init ... dst_gradient_finish, whatever their budgets.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sensitivity(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
            theta: *const $S,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            result: *mut Sensitivity<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                run::sensitivity(
                    problem,
                    options,
                    theta,
                    x0,
                    workspace,
                    workspace_size,
                    result,
                )
            })
        }

        /// Prepares a run in the workspace and writes its handle to *run. Calls no callback yet.
        ///
        /// Problem, options, theta and x0 are copied. The handle leads into the workspace, which belongs to the run until you
        /// use it for something else: do not move it, do not write to it. There is nothing to free.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run_init(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
            theta: *const $S,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            run: *mut *mut Run<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                run::init(problem, options, theta, x0, workspace, workspace_size, run)
            })
        }

        /// Makes at most `budget` steps and writes a dst_progress to *progress. After a stop it only repeats that. A budget of
        /// SIZE_MAX runs to the end. An error is final; dst_run_iterate then still has the best iterate.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run_advance(
            run: *mut Run<$S>,
            budget: usize,
            progress: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::advance(run, budget, progress) })
        }

        /// Where the run stands, with its current and its best iterate; until the gradient is started.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run_iterate(
            run: *mut Run<$S>,
            iterate: *mut Iterate<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::iterate(run, iterate) })
        }

        /// Begins the gradient of a run that has stopped (with a time_weight of 0: of any run that has begun). Before a stop
        /// this is DST_ERROR_NOT_STOPPED, and the run can go on.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $gradient_start(run: *mut Run<$S>) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::start(run) })
        }

        /// Does at most `budget` operations of the gradient (a step recomputed, or a step differentiated) and writes to
        /// *remaining how many steps are still to be differentiated: 0 when it is complete. An error is final.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $gradient_advance(
            run: *mut Run<$S>,
            budget: usize,
            remaining: *mut usize,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::sweep(run, budget, remaining) })
        }

        /// Does whatever is left of the gradient and writes *result. The run is over then.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $gradient_finish(
            run: *mut Run<$S>,
            result: *mut Sensitivity<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::finish(run, result) })
        }

        /// The options of the paper, with this learning rate, adaptation rate and descent.
        #[unsafe(no_mangle)]
        pub extern "C" fn $ola_options_default(alpha: $S, eta: $S, descent: $S) -> OlaOptions<$S> {
            OlaOptions::new(alpha, eta, descent)
        }

        /// How many bytes of workspace dst_ola_init needs. 0 if the arguments are refused.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_workspace_size(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { ola::workspace_size(objective, options) }
        }

        /// Prepares Adam with online adaptation of its learning rate (Algorithm 2 of the paper), starting from x0 [dim], and
        /// writes its handle to *ola. Evaluates the objective once. The workspace is treated as by dst_run_init.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_init(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            ola: *mut *mut Ola<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { ola::init(objective, options, x0, workspace, workspace_size, ola) })
        }

        /// Makes at most `budget` iterations, one evaluation of the objective each, and writes a dst_progress to *progress:
        /// DST_RUNNING, or DST_REACHED when max |gradient| < tolerance. An error is final.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_advance(
            ola: *mut Ola<$S>,
            budget: usize,
            progress: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { ola::advance(ola, budget, progress) })
        }

        /// Where the adaptive run stands.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_read(
            ola: *mut Ola<$S>,
            state: *mut OlaState<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { ola::state(ola, state) })
        }

        /// How many bytes of workspace dst_window_init needs. 0 if the arguments are refused.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_workspace_size(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { window::workspace_size(objective, options) }
        }

        /// Prepares Adam whose learning rate is adapted by the exact sensitivity of each window, backpropagated from the
        /// moment f has fallen far enough to the adaptation before. Writes its handle to *window.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_init(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            window: *mut *mut Windowed<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                window::init(objective, options, x0, workspace, workspace_size, window)
            })
        }

        /// Runs one window: at most `budget` iterations, then, if f fell far enough, the gradient and the adaptation. An abort
        /// is final; after any other error everything is as it was before the call.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_advance(
            window: *mut Windowed<$S>,
            budget: usize,
            report: *mut WindowReport<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { window::advance(window, budget, report) })
        }

        /// Where the windowed run stands.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_read(
            window: *mut Windowed<$S>,
            state: *mut OlaState<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { window::state(window, state) })
        }
    };
}

exports!(
    f32,
    dst_options_default_f32,
    dst_workspace_size_f32,
    dst_workspace_align_f32,
    dst_sensitivity_f32,
    dst_run_init_f32,
    dst_run_advance_f32,
    dst_run_iterate_f32,
    dst_gradient_start_f32,
    dst_gradient_advance_f32,
    dst_gradient_finish_f32,
    dst_ola_options_default_f32,
    dst_ola_workspace_size_f32,
    dst_ola_init_f32,
    dst_ola_advance_f32,
    dst_ola_read_f32,
    dst_window_workspace_size_f32,
    dst_window_init_f32,
    dst_window_advance_f32,
    dst_window_read_f32,
);

exports!(
    f64,
    dst_options_default_f64,
    dst_workspace_size_f64,
    dst_workspace_align_f64,
    dst_sensitivity_f64,
    dst_run_init_f64,
    dst_run_advance_f64,
    dst_run_iterate_f64,
    dst_gradient_start_f64,
    dst_gradient_advance_f64,
    dst_gradient_finish_f64,
    dst_ola_options_default_f64,
    dst_ola_workspace_size_f64,
    dst_ola_init_f64,
    dst_ola_advance_f64,
    dst_ola_read_f64,
    dst_window_workspace_size_f64,
    dst_window_init_f64,
    dst_window_advance_f64,
    dst_window_read_f64,
);
