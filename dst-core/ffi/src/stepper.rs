//! Euler and symplectic Euler as one type: both make one evaluation per step, so one engine serves both.

use dst_core::{
    Dims, Direction, Error, Euler, Integrator, Point, Reading, Scalar, SymplecticEuler, System,
};

use crate::types::dst_integrator;

/// A method with one evaluation per step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OneStage<S> {
    Euler(Euler<S>),
    Symplectic(SymplecticEuler<S>),
}

impl<S: Scalar> OneStage<S> {
    /// A dst_integrator of one stage, with this step size.
    pub(crate) fn new(integrator: i32, h: S) -> Self {
        if integrator == dst_integrator::DST_SYMPLECTIC as i32 {
            Self::Symplectic(SymplecticEuler::new(h))
        } else {
            Self::Euler(Euler::new(h))
        }
    }
}

macro_rules! either {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self {
            OneStage::Euler(method) => method.$method($($argument),*),
            OneStage::Symplectic(method) => method.$method($($argument),*),
        }
    };
}

impl<S: Scalar> Integrator<S> for OneStage<S> {
    const STAGES: usize = 1;

    fn step_size(&self) -> S {
        either!(self, step_size())
    }

    fn check(&self, dims: Dims) -> Result<(), Error> {
        // Not `either`: Euler's own check belongs to the trait, too.
        match self {
            Self::Euler(method) => Integrator::<S>::check(method, dims),
            Self::Symplectic(method) => Integrator::<S>::check(method, dims),
        }
    }

    fn step<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        rate: &mut [S],
        record: &mut [S],
        next: &mut [S],
        scratch: &mut [S],
    ) -> bool {
        either!(self, step(system, at, rate, record, next, scratch))
    }

    fn pull<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        reading: Reading<S>,
        lambda: &mut [S],
        theta_bar: &mut [S],
        temporaries: [&mut [S]; 3],
        scratch: &mut [S],
    ) {
        either!(
            self,
            pull(
                system,
                at,
                record,
                reading,
                lambda,
                theta_bar,
                temporaries,
                scratch
            )
        );
    }

    fn push<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        temporaries: [&mut [S]; 2],
        scratch: &mut [S],
    ) -> Reading<S> {
        either!(
            self,
            push(system, at, record, along, next, temporaries, scratch)
        )
    }
}
