//! J as the running loss: its gradient at the limit is then that of a loss.

use dst_core::{Bar, Cost, Dims, Direction, Error, Point, Reading, Seed, System};

/// The system with J as its running loss.
pub(super) struct Watched<'s>(pub(super) &'s (dyn System<f64> + Send + Sync));

impl System<f64> for Watched<'_> {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
    fn check(&self, h: f64, euler: bool) -> Result<(), Error> {
        self.0.check(h, euler)
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let Reading { criterion, .. } = self.0.rate(at, rate, tape, scratch);
        Reading {
            criterion,
            loss: criterion,
        }
    }
    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        let seed = Seed {
            criterion: seed.criterion + seed.loss,
            loss: 0.0,
            ..seed
        };
        self.0.pullback(at, tape, seed, bar, scratch);
    }
    fn pushforward(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        along: Direction<'_, f64>,
        rate: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        let Reading { criterion, .. } = self.0.pushforward(at, tape, along, rate, scratch);
        Reading {
            criterion,
            loss: criterion,
        }
    }
    fn cost(&self) -> Cost {
        self.0.cost()
    }
}
