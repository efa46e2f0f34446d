//! A plant with captured constants: gains of a cart under a saturated PD law, for the mass and friction that a program reads at run time.
//!
//! Prints:
//! ```text
//! mass 0.5 kg: settles after 1.80 s, tuned 0.80 s (p = 377.9, d = 78.4)
//! mass 1 kg: settles after 3.00 s, tuned 1.12 s (p = 209.5, d = 62.2)
//! mass 2 kg: settles after 5.79 s, tuned 1.57 s (p = 114.3, d = 44.5)
//! ```
use dst_core::descent::{Coordinate, Descent};
use dst_core::{Error, Euler, Memory, formula};

fn main() -> Result<(), Error> {
    for (mass, friction) in [(0.5, 0.1), (1.0, 0.1), (2.0, 0.4)] {
        // Captured as constants of the formula; the force is limited to 3 N.
        let cart = formula!(
            with m = mass, c = friction;
            |theta: 2, x: 2, _t| {
                let force = (theta[0] * x[0] + theta[1] * x[1]).clamp(-3.0, 3.0);
                [-x[1], (force + c * x[1]) / m]
            },
            |x| x[0] * x[0] + 0.1 * x[1] * x[1],
        );
        let plan = Euler::new(0.01)
            .until(1e-3)
            .at_most(1_500)
            .staying_to_the_end();
        let mut memory = Memory::<f64, 2, 2, 12>::new();
        let mut descent = Descent::new([4.0, 2.0], [Coordinate::Log; 2]).at_most(60);
        let mut first = None;
        while !descent.finished() {
            match plan.sensitivity(&cart, descent.theta(), &[1.0, 0.0], &mut memory) {
                Ok(s) => {
                    first.get_or_insert(s.stop.time);
                    descent.tell(s.stop.time, s.time_gradient())?
                }
                Err(_) => descent.tell_failed()?, // it did not settle
            };
        }
        if let (Some(first), Some(([p, d], best))) = (first, descent.best()) {
            println!(
                "mass {mass} kg: settles after {first:.2} s, tuned {best:.2} s (p = {p:.1}, d = {d:.1})"
            );
        }
    }
    Ok(())
}
