//! A training step allocates nothing: what it needs is made once. In a program of its own, where all allocations are counted.

use std::alloc::System;
use std::hint::black_box;

use dst_std::l2o::{Architecture, Family, Feed, Loss, Penalty, Recipe, Trainer};
use dst_std::parallel;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations and moves of memory while `work` is done, on all threads.
fn allocations(work: impl FnOnce()) -> usize {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    change.allocations + change.reallocations
}

fn step(trainer: &mut Trainer<f32>, number: usize) {
    trainer.draw(number as u64);
    trainer.step(number).unwrap();
}

#[test]
fn nothing_is_allocated_after_the_first_step() {
    assert_eq!(
        allocations(|| drop(black_box(vec![0_u8; 100]))),
        1,
        "they are counted"
    );
    for count in [1, 2] {
        for model in Architecture::ALL {
            for (feed, penalty) in [
                (Feed::Detached, Penalty::None),
                (Feed::Full, Penalty::Literal { weight: 1.0 }),
                (Feed::Detached, Penalty::Carried { from: 0 }),
            ] {
                let recipe = Recipe {
                    model,
                    feed,
                    loss: Loss::Log,
                    penalty,
                    family: Family::new(40, 6),
                    batch: 8,
                    segments: 2,
                    steps: 5,
                    rate: 1e-3,
                };
                let found = parallel::with(count, || {
                    let theta = model.initial(9, |tensor| tensor.spread);
                    let mut trainer = Trainer::new(recipe, theta);
                    step(&mut trainer, 0);
                    // Threads of the pool before may still be leaving, and allocate. They do so once, a step would every time.
                    let mut steps = || (1..4).for_each(|number| step(&mut trainer, number));
                    (0..5).map(|_| allocations(&mut steps)).min()
                });
                assert_eq!(found, Ok(Some(0)), "{recipe:?} with {count} threads");
            }
        }
    }
}
