//! Runs of the reversal on state numbers, and the distance from the optimum.
use super::binomial::{advances, beta, optimum, repetitions, split};
use super::{Action, Mark, Schedule};
use std::vec;
use std::vec::Vec;

/// Runs `n` steps and their reversal on state numbers, checks every action, and returns the number of forward steps. With `late`,
/// a state is stored just before it is overwritten.
fn run(s: usize, n: usize, late: bool) -> usize {
    let mut marks = vec![Mark::EMPTY; s];
    let mut slots: Vec<Option<usize>> = vec![None; s];
    let mut schedule = Schedule::new(marks.len());
    let mut runs = vec![0usize; n];
    for (k, count) in runs.iter_mut().enumerate() {
        // Before step k: x_k is the current state, x_{k-1} the previous one.
        let at_hand = if late { k.checked_sub(1) } else { Some(k) };
        if Some(schedule.next_save()) == at_hand {
            slots[schedule.save(&mut marks)] = at_hand;
            assert!(Some(schedule.next_save()) > at_hand);
        }
        *count += 1;
    }
    let (expected, most) = (
        schedule.forward_steps(&marks, n),
        schedule.max_repetitions(&marks, n),
    );
    let mut reversal = schedule.reverse(&mut marks, n);
    let (mut total, mut left, mut state) = (n, n, n.checked_sub(1));
    loop {
        assert_eq!(reversal.remaining(), left);
        match reversal.next_action(&mut marks) {
            Action::Pull { step } => {
                assert_eq!(Some(step), state, "s={s} n={n}");
                assert_eq!(step + 1, left);
                left = step;
            }
            Action::Load { slot, step } => {
                assert_ne!(state, Some(step), "unnecessary load");
                assert_eq!(slots[slot], Some(step), "s={s} n={n}");
                state = slots[slot];
            }
            Action::Advance { from, to } => {
                assert_eq!(state, Some(from));
                assert!(from < to && to < left);
                runs[from..to].iter_mut().for_each(|r| *r += 1);
                total += to - from;
                state = Some(to);
            }
            Action::Save { slot, step } => {
                assert_eq!(state, Some(step));
                assert!(step + 1 < left, "saved just before it is pulled");
                // Only a state that is no longer needed may be overwritten, and never x_0.
                assert!(slots[slot].is_none_or(|old| old >= left), "s={s} n={n}");
                slots[slot] = state;
            }
            Action::Done => break,
        }
    }
    assert_eq!(left, 0);
    assert_eq!(reversal.next_action(&mut marks), Action::Done);
    assert_eq!(
        reversal.max_repetitions(),
        runs.iter().copied().max().unwrap_or(0),
        "s={s} n={n}"
    );
    assert_eq!(reversal.max_repetitions(), most, "s={s} n={n}");
    assert_eq!(total, expected, "s={s} n={n}");
    assert!(total >= optimum(n, s));
    total
}

#[test]
fn every_action_is_possible() {
    for s in 1..=12 {
        for n in 0..=300 {
            run(s, n, false);
            run(s, n, true);
        }
    }
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) % below) as usize
    };
    for _ in 0..60 {
        let (s, n) = (1 + random(80), random(4000));
        run(s, n, random(2) == 0);
    }
    run(2, 20_000, true);
    // From step 9618 on a merge of two segments can save steps at once.
    run(18, 10_000, true);
    run(150, 20_000, true);
}

#[test]
fn short_runs_repeat_nothing() {
    for s in 1..40 {
        for n in 0..=s {
            assert_eq!(run(s, n, false), n);
            assert_eq!(run(s, n, true), n);
        }
    }
    assert_eq!(Schedule::new(0).next_save(), usize::MAX);
    // One slot leaves no choice.
    for n in 0..60 {
        assert_eq!(run(1, n, true), optimum(n, 1));
    }
}

#[test]
fn late_saves_are_optimal_up_to_two_repetitions() {
    for s in 1..=14 {
        for n in 0..=beta(s, 2) {
            assert_eq!(run(s, n, true), optimum(n, s), "s={s} n={n}");
        }
    }
}

#[test]
fn the_greedy_phase_follows_its_definition() {
    // The rule from its definition: all candidates, compared by the cost of the whole set of marks.
    for s in 2..=9usize {
        let cost = |marks: &[(usize, usize)], n: usize| {
            let ends = marks.iter().skip(1).map(|m| m.0).chain([n - 1]);
            let parts = marks.iter().zip(ends).enumerate();
            parts
                .map(|(i, (m, end))| advances(end - m.0, s - i))
                .sum::<usize>()
        };
        let mut own = vec![Mark::EMPTY; s];
        let mut schedule = Schedule::new(own.len());
        let mut marks: Vec<(usize, usize)> = Vec::new();
        for k in 0..1500 {
            let r = repetitions(k + 1, s);
            let (h, i) = if r < 4 {
                (1, 1)
            } else if r < 8 {
                (1, 2)
            } else {
                (2, 2)
            };
            let score = |c: &[(usize, usize)]| cost(c, k + 1 + h) + cost(c, k + 1 + i);
            let mut wanted = None;
            if k > beta(s, 2) - 3 {
                let mut best = score(&marks);
                for j in 1..s {
                    let mut other = marks.clone();
                    let slot = other.remove(j).1;
                    other.push((k, slot));
                    if score(&other) < best {
                        best = score(&other);
                        wanted = Some(slot);
                    }
                }
                assert_eq!(wanted.is_some(), schedule.next_save() == k, "s={s} k={k}");
            }
            if schedule.next_save() == k {
                let slot = schedule.save(&mut own);
                assert!(wanted.is_none_or(|w| w == slot), "s={s} k={k}");
                marks.retain(|m| m.1 != slot);
                marks.push((k, slot));
            }
        }
    }
}

/// Mean and largest ratio to the optimum for all run lengths in 30..=10_000.
fn ratios(s: usize, late: bool) -> (f64, f64) {
    let mut marks = vec![Mark::EMPTY; s];
    let mut schedule = Schedule::new(marks.len());
    let (mut sum, mut most) = (0.0f64, 0.0f64);
    for n in 1..=10_000usize {
        if schedule.next_save() < n - usize::from(late) {
            schedule.save(&mut marks);
        }
        if n >= 30 {
            let steps = schedule.forward_steps(&marks, n);
            if n % 997 == 0 {
                assert_eq!(steps, run(s, n, late));
            }
            let ratio = steps as f64 / optimum(n, s) as f64;
            sum += ratio;
            most = most.max(ratio);
        }
    }
    (sum / 9971.0, most)
}

#[test]
fn close_to_the_optimum_at_every_length() {
    for (s, mean, most, most_late) in [
        (2, 1.0070, 1.171, 1.123),
        (3, 1.0115, 1.092, 1.065),
        (5, 1.0080, 1.070, 1.050),
        (10, 1.0058, 1.045, 1.040),
        (20, 1.0020, 1.030, 1.030),
        (40, 1.0005, 1.025, 1.002),
    ] {
        let early = ratios(s, false);
        assert!(early.0 <= mean && early.1 <= most, "s={s} {early:?}");
        let late = ratios(s, true);
        assert!(late.0 <= mean && late.1 <= most_late, "s={s} {late:?}");
    }
}

#[test]
fn binomials_solve_the_recurrence() {
    // t(l, a) = min over m of m + t(m, a) + t(l - m, a - 1), t(l, 1) = l (l - 1) / 2.
    const L: usize = 160;
    let mut last: Vec<usize> = (0..=L).map(|l| l * l.saturating_sub(1) / 2).collect();
    for a in 1..=8usize {
        let mut t = vec![0; L + 1];
        for l in 2..=L {
            t[l] = (1..l).map(|m| m + t[m] + last[l - m]).min().unwrap();
            if a == 1 {
                t[l] = last[l];
            } else {
                let m = split(l, a);
                assert_eq!(m + t[m] + last[l - m], t[l], "split of {l} with {a}");
            }
            assert_eq!(advances(l, a), t[l], "l={l} a={a}");
            let r = repetitions(l, a);
            assert!(l <= beta(a, r) && (r == 0 || l > beta(a, r - 1)));
        }
        last = t;
    }
}

#[test]
fn binomials_known_and_extreme() {
    // Slots, steps, repetitions, forward steps.
    for (s, n, r, f) in [
        (1, 50, 49, 1226),
        (2, 100, 13, 846),
        (2, 5000, 99, 328_351),
        (3, 20, 3, 46),
        (3, 1000, 17, 12_156),
        (5, 5, 1, 5),
        (5, 10_000, 14, 112_869),
        (10, 2000, 5, 8636),
        (20, 100_000, 6, 534_221),
    ] {
        assert_eq!((repetitions(n, s), optimum(n, s)), (r, f));
    }
    assert_eq!(
        (optimum(0, 3), optimum(1, 3), optimum(1, 0), optimum(2, 0)),
        (0, 1, 1, usize::MAX)
    );
    for a in 0..60usize {
        for r in 0..60 {
            let exact = (1..=(a as u128)).fold(1u128, |b, i| b * ((r as u128) + i) / i);
            assert_eq!(beta(a, r), usize::try_from(exact).unwrap_or(usize::MAX));
        }
    }
    let big = usize::MAX;
    assert_eq!(
        (beta(big, big), beta(big, 1), beta(big, 0), beta(big - 1, 1)),
        (big, big, 1, big)
    );
    assert_eq!(repetitions(1_000_000_000, 2), 44_720);
    assert_eq!(
        (
            repetitions(big, 1),
            repetitions(big, big),
            repetitions(big, 0)
        ),
        (big - 1, 1, big)
    );
    assert_eq!(advances(6_000_000_000, 1), 17_999_999_997_000_000_000);
    assert_eq!(
        (advances(big, 1), advances(big, 2), advances(big, big)),
        (big, big, big - 1)
    );
    // An intermediate product overflows; the result (r = 3) does not.
    let (l, a) = (1usize << 62, 1usize << 31);
    assert_eq!(
        (advances(l, a) as u128),
        3 * (l as u128) - (a as u128 + 3) * (a as u128 + 2) / 2
    );
    for a in [1, 2, 3, 7, 1000, 1 << 31, 1 << 33, big] {
        for l in [0, 1, 2, 3, 1 << 20, 1 << 40, big / 2, big] {
            let m = split(l, a);
            assert!(l < 2 || (1..l).contains(&m), "l={l} a={a}");
        }
    }
}
