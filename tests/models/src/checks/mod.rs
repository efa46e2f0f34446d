//! Checks against known answers that run anywhere: on the host, under an emulator, on a board.
//!
//! A check is a plain function. It compares what the engine computes with a known answer, in `f32` or `f64`, and leaves
//! bits: the first few numbers it saw and a digest of all of them. The bits of every target must equal those of the
//! host. Everything fits a Cortex-M0 with 16 KiB of RAM; systems are passed as trait objects, so that there is one
//! copy of the engine per scalar and integrator.

mod adapt;
mod crossings;
mod errors;
mod forward;
mod functions;
mod hostile;
mod integrators;
mod loss;
mod methods;
mod outcome;
mod setup;
mod slots;

pub use outcome::Outcome;

/// A check with the name it has in every report.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Name of the check.
    pub name: &'static str,
    /// `f32` or `f64`.
    pub scalar: &'static str,
    run: fn(&mut Outcome),
}

impl Check {
    /// Runs it.
    pub fn run(&self) -> Outcome {
        let mut outcome = Outcome::new();
        (self.run)(&mut outcome);
        outcome
    }
}

/// Each function in both precisions, under its own name.
macro_rules! checks {
    ($($module:ident::$function:ident),* $(,)?) => {
        /// Every check, in single precision.
        pub const SINGLE: &[Check] = &[$(Check {
            name: concat!(stringify!($module), "::", stringify!($function)),
            scalar: "f32",
            run: $module::$function::<f32>,
        }),*];

        /// Every check, in double precision. Apart, because both together are too much for a small flash memory.
        pub const DOUBLE: &[Check] = &[$(Check {
            name: concat!(stringify!($module), "::", stringify!($function)),
            scalar: "f64",
            run: $module::$function::<f64>,
        }),*];
    };
}

checks![
    functions::elementary,
    forward::stops_at_the_first_small_criterion,
    forward::limit_and_best_iterate,
    forward::divergence_has_a_step,
    slots::any_number_gives_the_same_bits,
    slots::any_budget_gives_the_same_bits,
    slots::moved_between_ticks,
    slots::tangent_agrees_with_adjoint,
    slots::truncated_sweep,
    crossings::countdown_is_exact,
    crossings::decay_is_closed_form,
    crossings::definition_3,
    integrators::euler,
    integrators::heun,
    integrators::rk4,
    integrators::symplectic,
    integrators::map,
    integrators::time_dependent_rate,
    integrators::pendulum,
    loss::running_loss,
    loss::loss_and_time_together,
    methods::gradient_flow,
    methods::heavy_ball,
    methods::nesterov,
    methods::adam,
    methods::projected,
    methods::preconditioned,
    methods::logistic,
    adapt::adam_ola_is_algorithm_2,
    adapt::window_of_one_step_is_adam_ola,
    adapt::long_window,
    adapt::bad_arguments,
    errors::wrong_lengths,
    errors::no_slots,
    errors::numbers_out_of_range,
    errors::no_gradient_without_a_stop,
    errors::flat_crossing,
    errors::missing_derivatives,
    errors::failing_store,
    hostile::not_finite_on_the_way,
    hostile::not_finite_on_the_way_back,
];
