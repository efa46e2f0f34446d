//! A run with a stay below ε stops at the entry of that stay. Its gradient is that of the interpolated time of the entry, by
//! differences, for all slots, modes and budgets.

use dst_core::checkpoint::optimum;
use dst_core::system::Derived;
use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Map, Mode, Plan, Problem, Rk4, Seeds,
    Status, SymplecticEuler, System, formula,
};
use dst_models::{Close, Counted, Counts, Figure1, Pendulum};
use dst_tests::{Steps, bits_of, heap, until_done};

/// Stay: this many further steps, or all remaining ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    For(usize),
    ToTheEnd,
}

/// End of a run, computed by hand.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    /// Step at which the stay began.
    entry: usize,
    /// Number of entries that J left again.
    exits: usize,
    /// Last step.
    last: usize,
    /// Interpolated step of the entry.
    star: f64,
}

/// J at every step up to the limit, from a run that does not use ε.
fn criteria<I: Integrator<f64>, Y: System<f64>>(
    integrator: I,
    limit: usize,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
) -> Vec<f64> {
    let plan = Plan::new(integrator, -1e300).at_most(limit);
    let mut memory = HeapMemory::new(&plan, system, 0);
    let problem = plan.on(system, theta, x0).unwrap();
    problem.start(&mut memory).unwrap();
    let mut seen = vec![];
    problem
        .watch(&mut memory, usize::MAX, |_, reading| {
            seen.push(reading.criterion);
        })
        .unwrap();
    seen
}

/// Stay in a list of J; `None` if there is none.
fn by_hand(criteria: &[f64], epsilon: f64, stay: Stay) -> Option<End> {
    let (mut entry, mut exits) = (None, 0);
    let mut last = criteria.len() - 1;
    for (k, &j) in criteria.iter().enumerate() {
        if j > epsilon {
            exits += usize::from(entry.take().is_some());
        } else {
            let since = *entry.get_or_insert(k);
            if matches!(stay, Stay::For(steps) if k - since >= steps) {
                last = k;
                break;
            }
        }
    }
    let entry = entry.filter(|&entry| match stay {
        Stay::For(steps) => last - entry >= steps,
        Stay::ToTheEnd => true,
    })?;
    let star = match entry.checked_sub(1) {
        None => f64::NAN,
        Some(before) => {
            let (j, after) = (criteria[before], criteria[entry]);
            before as f64 + (j - epsilon) / (j - after)
        }
    };
    Some(End {
        entry,
        exits,
        last,
        star,
    })
}

fn staying<I: Integrator<f64>>(
    integrator: I,
    epsilon: f64,
    limit: usize,
    stay: Stay,
) -> Plan<f64, I> {
    let plan = Plan::new(integrator, epsilon).at_most(limit);
    match stay {
        Stay::For(steps) => plan.staying(steps),
        Stay::ToTheEnd => plan.staying_to_the_end(),
    }
}

/// Problem that settles.
struct Settling<'a, I, Y> {
    name: &'a str,
    integrator: I,
    epsilon: f64,
    limit: usize,
    system: Y,
    theta: &'a [f64],
    x0: &'a [f64],
}

impl<I: Integrator<f64>, Y: System<f64>> Settling<'_, I, Y> {
    fn end(&self, theta: &[f64], x0: &[f64], stay: Stay) -> End {
        let list = criteria(self.integrator, self.limit, &self.system, theta, x0);
        by_hand(&list, self.epsilon, stay).unwrap()
    }

    /// Differences of the interpolated T: central, extrapolated once.
    fn differences(&self, stay: Stay) -> Vec<f64> {
        let h = self.integrator.step_size();
        let here = self.end(self.theta, self.x0, stay);
        let by_entry = |i: usize| {
            let slope = |d: f64| {
                let at = |d: f64| {
                    let (mut theta, mut x0) = (self.theta.to_vec(), self.x0.to_vec());
                    let mut all = theta.iter_mut().chain(&mut x0);
                    *all.nth(i).unwrap() += d;
                    let end = self.end(&theta, &x0, stay);
                    let same = (end.entry, end.exits) == (here.entry, here.exits);
                    assert!(same, "{}: N changes within the differences", self.name);
                    end.star * h
                };
                (at(d) - at(-d)) / (2.0 * d)
            };
            (4.0 * slope(1e-5) - slope(2e-5)) / 3.0
        };
        (0..self.theta.len() + self.x0.len())
            .map(by_entry)
            .collect()
    }

    /// Compares the gradient with differences, and with all other ways to compute it.
    fn check(&self, stay: Stay, exits: usize) {
        let Self {
            name,
            epsilon,
            limit,
            ..
        } = *self;
        let counts = Counts::default();
        let system = &Counted {
            inner: &self.system,
            counts: &counts,
        };
        let expected = self.end(self.theta, self.x0, stay);
        assert_eq!(expected.exits, exits, "{name}, {stay:?}: {expected:?}");
        let plan = staying(self.integrator, epsilon, limit, stay);
        let problem = plan.on(system, self.theta, self.x0).unwrap();
        let differences = self.differences(stay);
        let size = differences.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        for crossing in Crossing::ALL {
            let mut first = [None, None];
            for slots in [1, 2, 7, limit + 1] {
                for (records, budget) in [(false, usize::MAX), (true, 1), (false, 5)] {
                    let what = format!("{name}, {stay:?}, {crossing:?}, {slots} slots");
                    for (mode, first) in [Mode::Adjoint, Mode::Tangent].iter().zip(&mut first) {
                        let what = format!("{what}, {mode:?}, budget {budget}");
                        let mut memory = heap(&plan, system, slots, records);
                        counts.rate.set(0);
                        problem.start(&mut memory).unwrap();
                        let now = stand(problem, &mut memory, budget);
                        assert!(now.is_reached(), "{what}");
                        let now = now.iterate();
                        let seen = (now.entry, now.exits, now.steps);
                        let by_hand = (Some(expected.entry), exits, expected.last);
                        assert_eq!(seen, by_hand, "{what}");
                        let forward = counts.rate.get();
                        assert_eq!(forward, now.steps * self.integrator.stages() + 1, "{what}");
                        let seeds = Seeds::stop(crossing);
                        until_done(|| match mode {
                            Mode::Tangent => problem.tangent(&mut memory, seeds, budget),
                            _ => problem.adjoint(&mut memory, seeds, budget),
                        })
                        .unwrap();
                        let g = problem.gradient(&memory).unwrap();
                        assert_eq!(g.steps, expected.entry, "{what}");
                        assert_eq!(g.evaluations.rate, counts.rate.get(), "{what}: counted");
                        if *mode == Mode::Adjoint {
                            self.recomputed(
                                &what,
                                expected,
                                slots,
                                records,
                                counts.rate.get() - forward,
                            );
                        }
                        let numbers = [g.theta, g.x0].concat();
                        let bits = bits_of(g);
                        assert_eq!(*first.get_or_insert(bits.clone()), bits, "{what}");
                        if crossing == Crossing::Interpolated {
                            let close = Close {
                                rtol: 1e-6,
                                atol: 1e-8 * size,
                            };
                            close.assert(&what, &numbers, &differences);
                            let stop = g.stop.unwrap();
                            Close::relative(1e-13).assert(&what, &[stop.steps], &[expected.star]);
                        }
                    }
                }
            }
            let [adjoint, tangent] = first.map(|bits| {
                let bits = bits.unwrap().1;
                bits.into_iter().map(f64::from_bits).collect::<Vec<_>>()
            });
            let close = Close {
                rtol: 1e-10,
                atol: 1e-12 * size,
            };
            close.assert(
                &format!("{name}, {crossing:?}, both modes"),
                &adjoint,
                &tangent,
            );
        }
    }

    /// Checks the rate evaluations of a sweep: at most a reversal of all K steps, and those of the entry.
    fn recomputed(&self, what: &str, end: End, slots: usize, records: bool, rates: usize) {
        let (k, n) = (end.last, end.entry);
        let has_record = self.system.dims().record_len(self.integrator.stages()) > 0;
        // x_N and x_{N−1} again, and one evaluation at x_{N−1} for its slope.
        let entry = if k > n {
            self.integrator.stages() + 1
        } else {
            0
        } + 1;
        let steps = if slots > k {
            0
        } else {
            (optimum(k, slots) - k) * 6 / 5 + 1
        };
        let pulled = if has_record && !(records && slots > k) {
            n
        } else {
            0
        };
        let most = entry + (steps + pulled) * self.integrator.stages();
        assert!(rates <= most, "{what}: {rates} rates, at most {most}");
    }
}

/// Continues until the run ends.
fn stand<'m, I: Integrator<f64>, Y: System<f64>>(
    problem: Problem<'_, f64, Y, I>,
    memory: &'m mut HeapMemory<f64>,
    budget: usize,
) -> Status<'m, f64> {
    while let Status::Running(_) = problem.advance(memory, budget).unwrap() {}
    problem.advance(memory, 0).unwrap()
}

/// Squared position of a damped spring, which passes through its target repeatedly.
#[test]
fn a_spring_that_swings_through_its_target() {
    let spring = formula!(
        |theta: 2, x: 2, _t| [-x[1], theta[0] * x[0] + theta[1] * x[1]],
        |x| x[0] * x[0],
    );
    let settling = Settling {
        name: "spring",
        integrator: Rk4::new(0.1),
        epsilon: 0.02,
        limit: 200,
        system: spring,
        theta: &[4.0, 0.5],
        x0: &[1.0, 0.0],
    };
    settling.check(Stay::ToTheEnd, 4);
    settling.check(Stay::For(0), 0);
    settling.check(Stay::For(3), 2);
    settling.check(Stay::For(60), 4);
    // Longer steps give fewer exits: those between two steps are not detected.
    let coarse = Settling {
        name: "coarse spring",
        integrator: SymplecticEuler::new(0.15),
        epsilon: 0.02,
        limit: 140,
        system: spring,
        theta: &[4.0, 0.5],
        x0: &[1.0, 0.0],
    };
    let exits = coarse.end(coarse.theta, coarse.x0, Stay::ToTheEnd).exits;
    assert!(exits >= 2, "{exits}");
    coarse.check(Stay::ToTheEnd, exits);
}

/// J falls monotonically: the entry is the first passage.
#[test]
fn a_flow_that_never_comes_back() {
    let settling = Settling {
        name: "Figure 1",
        integrator: Heun::new(0.05),
        epsilon: 1e-2,
        limit: 90,
        system: Derived::<_, 2, 1>::new(Figure1),
        theta: &[0.7],
        x0: &[1.0, 0.9],
    };
    settling.check(Stay::ToTheEnd, 0);
    settling.check(Stay::For(1), 0);
    settling.check(Stay::For(20), 0);
    let system = &settling.system;
    let plan = Heun::new(0.05).until(1e-2);
    let mut memory = HeapMemory::new(&plan, system, 7);
    let first = plan.sensitivity(system, &[0.7], &[1.0, 0.9], &mut memory);
    let first = first.map(|s| (s.steps, s.stop.time, s.time_gradient().to_vec()));
    let mut memory = HeapMemory::new(&plan, system, 7);
    let last = plan.at_most(90).staying_to_the_end();
    let last = last.sensitivity(system, &[0.7], &[1.0, 0.9], &mut memory);
    let last = last.map(|s| (s.steps, s.stop.time, s.time_gradient().to_vec()));
    assert_eq!(first.unwrap(), last.unwrap());
}

/// A loop with an integrator state, as a map: a pendulum with its angle controlled by PID.
#[test]
fn a_loop_with_an_integrator() {
    // (angle, velocity, integral of the angle)
    let looped = formula!(
        |theta: 3, x: 3, _t| {
            let push = theta[0] * x[0] + theta[1] * x[1] + theta[2] * x[2] - x[0].sin() * 0.5 - 0.2;
            [x[0] + x[1] * 0.05, x[1] - push * 0.05, x[2] + x[0] * 0.05]
        },
        |x| x[0] * x[0],
    );
    let settling = Settling {
        name: "PID",
        integrator: Map,
        epsilon: 2e-3,
        limit: 260,
        system: looped,
        theta: &[6.0, 1.6, 2.5],
        x0: &[0.8, 0.0, 0.0],
    };
    let exits = settling
        .end(settling.theta, settling.x0, Stay::ToTheEnd)
        .exits;
    assert!(exits >= 2, "{exits}");
    settling.check(Stay::ToTheEnd, exits);
    settling.check(Stay::For(1), 1);
    let pendulum = Settling {
        name: "pendulum",
        integrator: Map,
        epsilon: 0.03,
        limit: 250,
        system: Derived::<_, 2, 2>::new(Steps {
            flow: Pendulum,
            h: 0.05,
        }),
        theta: &[2.0, 0.5],
        x0: &[1.2, 0.1],
    };
    pendulum.check(Stay::ToTheEnd, 0);
}

/// Status of a run with this table of J, as text, and the step at which its gradient begins.
fn status_of(criteria: &[f64], plan: Plan<f64, Euler<f64>>) -> (String, Result<usize, Error>) {
    let table = Table(criteria);
    let mut memory = HeapMemory::new(&plan, &table, 3);
    let problem = plan.on(&table, &[], &[0.0]).unwrap();
    problem.start(&mut memory).unwrap();
    let status = problem.complete(&mut memory).unwrap();
    let i = status.iterate();
    let name = match status {
        Status::Running(_) => "running",
        Status::Reached(_) => "reached",
        Status::StepLimit(_) => "limit",
        Status::NeverSettled(_) => "never",
    };
    let seen = format!(
        "{name} at {}, entry {:?}, exits {}",
        i.steps, i.entry, i.exits
    );
    let gradients = [Mode::Adjoint, Mode::Tangent].map(|mode| {
        let seeds = Seeds::stop(Crossing::Interpolated);
        match mode {
            Mode::Tangent => problem.tangent(&mut memory, seeds, usize::MAX),
            _ => problem.adjoint(&mut memory, seeds, usize::MAX),
        }
        .and_then(|_| problem.gradient(&memory).map(|g| g.steps))
    });
    assert_eq!(gradients[0], gradients[1]);
    (seen, gradients[0])
}

/// J at step k is the k-th number.
struct Table<'a>(&'a [f64]);

impl System<f64> for Table<'_> {
    fn dims(&self) -> dst_core::Dims {
        dst_core::Dims::new(1, 0)
    }
    fn rate(
        &self,
        at: dst_core::Point<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) -> dst_core::Reading<f64> {
        rate[0] = -1.0;
        dst_core::Reading {
            criterion: self.0[at.x[0] as usize],
            loss: 0.0,
        }
    }
    fn pullback(
        &self,
        _: dst_core::Point<'_, f64>,
        _: &[f64],
        seed: dst_core::Seed<'_, f64>,
        bar: dst_core::Bar<'_, f64>,
        _: &mut [f64],
    ) {
        bar.x[0] += seed.criterion;
    }
    fn pushforward(
        &self,
        _: dst_core::Point<'_, f64>,
        _: &[f64],
        along: dst_core::Direction<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
    ) -> dst_core::Reading<f64> {
        rate[0] = 0.0;
        dst_core::Reading {
            criterion: along.x[0],
            loss: 0.0,
        }
    }
    fn cost(&self) -> dst_core::Cost {
        dst_core::Cost {
            pullback: Some(1),
            pushforward: Some(1),
        }
    }
}

#[test]
fn every_ending_has_its_status() {
    let plan = |limit: usize| Euler::new(1.0).until(0.5).at_most(limit);
    let (above, below) = (2.0, 0.25);
    // Enters at 2, leaves at 4, enters at 5.
    let swings = [above, above, below, below, above, below, below, below];
    let check = |criteria: &[f64], plan, seen: &str, gradient: Result<usize, Error>| {
        assert_eq!(status_of(criteria, plan), (seen.to_owned(), gradient));
    };
    check(
        &swings,
        plan(7),
        "reached at 2, entry Some(2), exits 0",
        Ok(2),
    );
    check(
        &swings,
        plan(7).staying(0),
        "reached at 2, entry Some(2), exits 0",
        Ok(2),
    );
    check(
        &swings,
        plan(7).staying(1),
        "reached at 3, entry Some(2), exits 0",
        Ok(2),
    );
    check(
        &swings,
        plan(7).staying(2),
        "reached at 7, entry Some(5), exits 1",
        Ok(5),
    );
    let end = "reached at 7, entry Some(5), exits 1";
    check(&swings, plan(7).staying_to_the_end(), end, Ok(5));
    // The entry is the last step.
    let end = "reached at 5, entry Some(5), exits 1";
    check(&swings, plan(5).staying_to_the_end(), end, Ok(5));
    // A stay that the limit cuts short does not count.
    let cut = Err(Error::NotStopped { steps: 6 });
    check(
        &swings,
        plan(6).staying(2),
        "limit at 6, entry Some(5), exits 1",
        cut,
    );
    let cut = Err(Error::NotStopped { steps: 3 });
    check(
        &swings,
        plan(3).staying(2),
        "limit at 3, entry Some(2), exits 0",
        cut,
    );
    // Above ε at the end.
    let never = Err(Error::NotStopped { steps: 4 });
    check(
        &swings,
        plan(4).staying(2),
        "never at 4, entry None, exits 1",
        never,
    );
    let end = "never at 4, entry None, exits 1";
    check(&swings, plan(4).staying_to_the_end(), end, never);
    let never = Err(Error::NotStopped { steps: 1 });
    check(
        &swings,
        plan(1).staying_to_the_end(),
        "never at 1, entry None, exits 0",
        never,
    );
    check(&swings, plan(1), "limit at 1, entry None, exits 0", never);
    // Below ε from the start on, and never above it.
    let rests = [below; 8];
    for (plan, last) in [
        (plan(7), 0),
        (plan(7).staying(3), 3),
        (plan(7).staying_to_the_end(), 7),
        (plan(0).staying_to_the_end(), 0),
    ] {
        let end = format!("reached at {last}, entry Some(0), exits 0");
        check(&rests, plan, &end, Err(Error::StoppedAtStart));
    }
    let cut = Err(Error::NotStopped { steps: 2 });
    check(
        &rests,
        plan(2).staying(3),
        "limit at 2, entry Some(0), exits 0",
        cut,
    );
    // Below ε at the start, but not for long: a later stay counts.
    let leaves = [below, below, above, above, below, below, below];
    check(
        &leaves,
        plan(6),
        "reached at 0, entry Some(0), exits 0",
        Err(Error::StoppedAtStart),
    );
    let end = "reached at 6, entry Some(4), exits 1";
    check(&leaves, plan(6).staying(2), end, Ok(4));
    check(&leaves, plan(6).staying_to_the_end(), end, Ok(4));
    // J = ε counts as below.
    let touches = [above, 0.5, 0.5, 0.5];
    let end = "reached at 3, entry Some(1), exits 0";
    check(&touches, plan(3).staying_to_the_end(), end, Ok(1));
}

/// During the run, the iterate reports the entry and the exits.
#[test]
fn an_iterate_reports_the_stay() {
    let (above, below) = (2.0, 0.25);
    let table = Table(&[
        above, below, below, above, below, above, above, below, below,
    ]);
    let plan = Euler::new(1.0).until(0.5).at_most(8).staying_to_the_end();
    let problem = plan.on(&table, &[], &[0.0]).unwrap();
    for slots in [0, 1, 20] {
        let mut memory = HeapMemory::new(&plan, &table, slots);
        problem.start(&mut memory).unwrap();
        let mut seen = vec![];
        problem.advance(&mut memory, 0).unwrap();
        loop {
            let now = problem.iterate(&memory).unwrap();
            seen.push((now.entry, now.exits));
            if problem.advance(&mut memory, 1).unwrap().is_reached() {
                break;
            }
        }
        let expected = [
            (None, 0),
            (Some(1), 0),
            (Some(1), 0),
            (None, 1),
            (Some(4), 1),
            (None, 2),
            (None, 2),
            (Some(7), 2),
        ];
        assert_eq!(seen, expected);
        let end = problem.iterate(&memory).unwrap();
        assert_eq!((end.steps, end.entry, end.exits), (8, Some(7), 2));
    }
}
