//! Integrators of the C library as one type: the engine is compiled once for all of them.

use dst_core::{
    Dims, Direction, Error, Euler, Heun, Integrator, Map, Point, Reading, Rk4, Scalar,
    SymplecticEuler, System,
};

use crate::run::{HEUN, HIGHER_ORDER, MAP, RK4, SYMPLECTIC, WITH_MAP};

/// Integrator chosen at run time, with its step size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Method<S> {
    integrator: i32,
    h: S,
}

impl<S> Method<S> {
    /// Creates a `dst_integrator` of this library; any other value counts as Euler.
    pub(crate) fn new(integrator: i32, h: S) -> Self {
        Self { integrator, h }
    }
}

/// Calls a method of the chosen integrator.
macro_rules! chosen {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self.integrator {
            HEUN if HIGHER_ORDER => Heun::new($self.h).$method($($argument),*),
            RK4 if HIGHER_ORDER => Rk4::new($self.h).$method($($argument),*),
            // Not `Map.$method`: a map is an integrator of every scalar.
            MAP if WITH_MAP => Integrator::<S>::$method(&Map, $($argument),*),
            SYMPLECTIC => SymplecticEuler::new($self.h).$method($($argument),*),
            _ => Euler::new($self.h).$method($($argument),*),
        }
    };
}

impl<S: Scalar> Integrator<S> for Method<S> {
    fn stages(&self) -> usize {
        chosen!(self, stages())
    }

    fn kind(&self) -> u8 {
        chosen!(self, kind())
    }

    fn is_map(&self) -> bool {
        WITH_MAP && self.integrator == MAP
    }

    // With a map, h = 1 was checked before.
    fn step_size(&self) -> S {
        self.h
    }

    fn check(&self, dims: Dims) -> Result<(), Error> {
        chosen!(self, check(dims))
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
        chosen!(self, step(system, at, rate, record, next, scratch))
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
        chosen!(
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
        chosen!(
            self,
            push(system, at, record, along, next, temporaries, scratch)
        )
    }
}
