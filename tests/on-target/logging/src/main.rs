//! Logs the results of runs through defmt: every kind of status, progress and error that a control loop can get.
//!
//! xtask decodes the frames and compares them with `expected.log`. Numbers that depend on rounding are not logged. States are
//! logged, because defmt sends their bits.

#![no_std]
#![no_main]

use dst_core::{Argument, Crossing, Error, Euler, Memory, Mode, Progress, Seeds, formula};

board::entry!(main);
board::report_panics!();

/// Work of a control loop, with a message for each part.
fn tick_by_tick() -> Result<(), Error> {
    let flow = formula!(|theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0], |x| x[0] * x[0]
        + x[1] * x[1] * 16.0);
    let (theta, x0) = ([0.5_f32], [1.0, 1.0]);
    let mut memory = Memory::<f32, 2, 1, 3>::new();
    let problem = Euler::new(0.25).until(0.25).on(&flow, &theta, &x0)?;
    problem.start(&mut memory)?;
    defmt::info!("{}", problem.advance(&mut memory, 2)?);
    defmt::info!("{}", problem.complete(&mut memory)?);
    let seeds = Seeds::stop(Crossing::Paper);
    let progress = problem.adjoint(&mut memory, seeds, 1)?;
    defmt::debug!("{}", progress);
    defmt::assert_eq!(progress == Progress::Done, false);
    problem.adjoint(&mut memory, seeds, usize::MAX)?;
    let gradient = problem.gradient(&memory)?;
    defmt::info!(
        "N = {}, dT/dtheta = {}, {}",
        gradient.steps,
        gradient.theta,
        gradient.evaluations
    );
    if let Some(stop) = gradient.stop {
        defmt::info!("T = {}", stop.time);
    }
    Ok(())
}

/// A run that meets its limit, then one error after the other.
fn what_can_go_wrong() -> Result<(), Error> {
    let decay = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
    let mut memory = Memory::<f64, 1, 1, 2>::new();
    let plan = Euler::new(0.5).until(1e-3).at_most(2);
    let problem = plan.on(&decay, &[1.0], &[1.0])?;
    problem.start(&mut memory)?;
    defmt::warn!("{}", problem.complete(&mut memory)?);
    let problem = plan.staying_to_the_end().on(&decay, &[1.0], &[1.0])?;
    problem.start(&mut memory)?;
    defmt::warn!("{}", problem.complete(&mut memory)?);
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let late = plan
            .mode(mode)
            .sensitivity(&decay, &[1.0], &[1.0], &mut memory);
        defmt::error!("{}: {}", mode, late.map(|_| ()).err());
    }
    let start = plan.sensitivity(&decay, &[1.0], &[1e-4], &mut memory);
    defmt::error!("{}", start.map(|_| ()).err());
    let theta = plan.sensitivity(&decay, &[], &[1.0], &mut memory);
    defmt::error!("{}", theta.map(|_| ()).err());
    let step = Euler::new(-1.0).until(0.0);
    let step = step.sensitivity(&decay, &[1.0], &[1.0], &mut memory);
    defmt::error!("{}", step.map(|_| ()).err());
    defmt::error!("{}", Error::Invalid(Argument::Epsilon));
    defmt::error!("{} {}", Error::Order, Error::Changed);
    Ok(())
}

fn main() -> u32 {
    let outcome = tick_by_tick().and_then(|()| what_can_go_wrong());
    if let Err(error) = outcome {
        defmt::error!("unexpected: {}", error);
    }
    u32::from(outcome.is_err())
}
