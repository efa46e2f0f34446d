//! The bits of training steps, as the engine gave them before it was redrawn. `DST_WRITE_GOLDEN=1` writes `golden.txt` anew.

use std::path::Path;

use dst_std::l2o::{Architecture, Family, Feed, Penalty, Recipe, Trainer};
use dst_std::linalg::Real;

use crate::book::{Book, Line, Number, instruction_set};
use crate::training::{TARGET, small};
use crate::{descending, weights};

/// The tolerance between instruction sets, in double and in single precision.
const LOOSE: [f64; 2] = [1e-9, 1e-3];

/// Entries of long vectors that are written out.
const HEAD: usize = 8;

/// Two training steps of one recipe.
fn case<T: Real + Number>(book: &mut Book, name: &str, recipe: Recipe) {
    let theta: Vec<T> = match recipe.model {
        Architecture::Dm => weights(recipe.model, 3),
        Architecture::RnnProp => descending().into_iter().map(cast).collect(),
    };
    let mut trainer = Trainer::new(recipe, theta);
    for number in 0..2 {
        let name = format!("{name}/{number}");
        trainer.draw(number);
        let report = match trainer.step(number as usize) {
            Ok(report) => report.clone(),
            Err(error) => return book.fault(format!("{name}: {error}")),
        };
        // Sums, whose order may change.
        let losses: Vec<T> = report
            .losses
            .iter()
            .map(|&loss| T::from_f64(loss))
            .collect();
        let line = Line::new(name)
            .word("stops", &report.stops)
            .word("flat", &report.flat)
            .numbers("mean-stop", &[report.mean_stop])
            .numbers("losses~", &losses)
            .numbers("last", &[report.last])
            .hash("theta-hash", trainer.theta())
            .numbers("theta", &trainer.theta()[..HEAD])
            .hash("gradient-hash", trainer.gradient())
            .numbers("gradient", &trainer.gradient()[..HEAD]);
        book.add(line);
    }
}

fn cast<T: Real>(value: f32) -> T {
    T::from_f64(f64::from(value))
}

fn in_precision<T: Real + Number>(book: &mut Book) {
    for model in Architecture::ALL {
        for feed in [Feed::Detached, Feed::Full] {
            for (penalty_name, penalty, samples) in [
                ("none", Penalty::None, 6),
                ("literal", Penalty::Literal { weight: 1.0 }, 6),
                ("guarded", Penalty::Guarded { from: 0 }, 6),
                ("carried", Penalty::Carried { from: 0 }, 6),
                ("target", TARGET, 6),
                // More examples than variables, and so a minimum that the level stands above.
                ("target-minimum", TARGET, 100),
            ] {
                let recipe = Recipe {
                    feed,
                    family: Family::new(40, samples),
                    ..small(model, penalty)
                };
                let (set, number) = (instruction_set(), T::NAME);
                let name = format!("{set}/{number}/{}/{feed:?}/{penalty_name}", model.name());
                case::<T>(book, &name, recipe);
            }
        }
    }
}

#[test]
fn the_bits_of_two_training_steps() {
    let mut book = Book::default();
    in_precision::<f64>(&mut book);
    in_precision::<f32>(&mut book);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/l2o/golden.txt");
    book.check(&path, &format!("{}/", instruction_set()), LOOSE);
}
