//! A training cut in two by a checkpoint ends with the same bits; what is no such checkpoint is refused.

use dst_std::l2o::{Architecture, Penalty, Session, TrainingPlan};

use crate::descending;
use crate::training::{TARGET, small};

fn plan(model: Architecture, penalty: Penalty) -> TrainingPlan {
    TrainingPlan {
        recipe: small(model, penalty),
        seed: 4,
        steps: 6,
        validate_every: 2,
        validation_problems: 3,
    }
}

fn steps(session: &mut Session, count: usize) {
    for _ in 0..count {
        session.step().unwrap();
    }
}

/// Everything that a session leaves behind.
fn left(session: &Session) -> (String, Vec<u8>, Vec<u8>) {
    let best = session.best().to_bytes().unwrap();
    (
        session.log().to_owned(),
        best,
        session.checkpoint().unwrap(),
    )
}

#[test]
fn resumed_is_as_uninterrupted() {
    for (model, penalty) in [
        (Architecture::Dm, Penalty::None),
        (Architecture::RnnProp, Penalty::Literal { weight: 1.0 }),
        (Architecture::RnnProp, Penalty::Guarded { from: 2 }),
        (Architecture::RnnProp, Penalty::Carried { from: 2 }),
        (Architecture::RnnProp, TARGET),
    ] {
        let plan = plan(model, penalty);
        let mut whole = Session::new(plan);
        steps(&mut whole, 6);
        assert!(whole.is_finished());
        assert_eq!(whole.log().lines().count(), 7, "{}", whole.log());
        for cut in [0, 1, 3, 5, 6] {
            let mut first = Session::new(plan);
            steps(&mut first, cut);
            let mut second = Session::resume(plan, &first.checkpoint().unwrap()).unwrap();
            drop(first);
            assert_eq!(second.done(), cut);
            steps(&mut second, 6 - cut);
            assert!(left(&second) == left(&whole), "{plan:?}: cut at {cut}");
        }
        // The log is a table with a number in every place that has one.
        let lines: Vec<Vec<&str>> = whole
            .log()
            .lines()
            .map(|line| line.split(',').collect())
            .collect();
        for (number, line) in lines.iter().enumerate().skip(1) {
            assert_eq!(line.len(), lines[0].len());
            assert_eq!(line[0], number.to_string());
            assert!(line[1].parse::<f64>().unwrap().is_finite());
            assert_eq!(
                line[6].is_empty(),
                number % 2 == 1,
                "validated every other step"
            );
        }
    }
}

/// A plain training that has not reached the first penalty of a guarded one is its beginning.
#[test]
fn a_guarded_training_goes_on_from_a_plain_one() {
    let (plain, guarded) = (
        plan(Architecture::RnnProp, Penalty::None),
        plan(Architecture::RnnProp, Penalty::Guarded { from: 4 }),
    );
    let mut whole = Session::from_weights(guarded, descending());
    steps(&mut whole, 6);
    let mut without = Session::from_weights(plain, descending());
    for cut in 0..=4 {
        let mut second = Session::resume(guarded, &without.checkpoint().unwrap()).unwrap();
        steps(&mut second, 6 - cut);
        assert!(left(&second) == left(&whole), "cut at {cut}");
        steps(&mut without, 1);
    }
    // One step further the plain one has parted from it.
    let refusal = Session::resume(guarded, &without.checkpoint().unwrap()).err();
    let refusal = refusal.unwrap();
    assert!(
        refusal.contains("penalty is none, not guarded from 4"),
        "{refusal}"
    );
    steps(&mut without, 1);
    assert_ne!(without.log(), whole.log(), "the penalty had a part in it");
    let seen = |step: usize| {
        whole
            .log()
            .lines()
            .nth(step)
            .unwrap()
            .split(',')
            .nth(3)
            .unwrap()
            .to_owned()
    };
    println!("{}", whole.log());
    assert_eq!(seen(4), "0");
    assert_ne!(seen(5), "0");
}

#[test]
fn checkpoints_of_other_trainings_are_refused() {
    let right = plan(Architecture::Dm, Penalty::None);
    let mut session = Session::new(right);
    steps(&mut session, 1);
    let bytes = session.checkpoint().unwrap();
    let mut others = [right; 5];
    others[0].recipe.model = Architecture::RnnProp;
    others[1].seed = 5;
    others[2].recipe.family.dim += 1;
    others[3].recipe.rate *= 2.0;
    others[4].recipe.penalty = Penalty::Literal { weight: 1.0 };
    for (other, key) in others
        .into_iter()
        .zip(["model", "seed", "dim", "rate", "penalty"])
    {
        let refusal = Session::resume(other, &bytes).err().unwrap();
        assert!(
            refusal.starts_with(&format!("belongs to another training: {key} is ")),
            "{refusal}"
        );
    }
    // Weights are no checkpoint, nor is a file of another kind.
    for bytes in [
        session.best().to_bytes().unwrap(),
        b"no tensors at all".to_vec(),
        Vec::new(),
    ] {
        let refusal = Session::resume(right, &bytes).err().unwrap();
        assert!(!refusal.contains('\n') && refusal.len() > 20, "{refusal}");
    }
}

/// Cut short: refused. With a bit changed: refused, or the bit did not matter.
#[test]
fn damaged_checkpoints_are_refused() {
    let plan = plan(Architecture::Dm, Penalty::None);
    let mut session = Session::new(plan);
    steps(&mut session, 1);
    let good = session.checkpoint().unwrap();
    let refusal = |bytes: &[u8]| match Session::resume(plan, bytes) {
        Err(refusal) => Some(refusal),
        Ok(session) => {
            assert!(
                session.checkpoint().unwrap() == good,
                "damage went unnoticed"
            );
            None
        }
    };
    for len in (0..good.len())
        .step_by(4999)
        .chain([1, 8, 9, 600, good.len() - 1])
    {
        let refusal = refusal(&good[..len]).unwrap();
        assert!(
            refusal.contains("not a whole safetensors file"),
            "{refusal}"
        );
    }
    let header = 8 + u64::from_le_bytes(*good.first_chunk().unwrap()) as usize;
    let (mut refused, mut taken) = (0, 0);
    for at in (0..header)
        .step_by(3)
        .chain((header..good.len()).step_by(9973))
    {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        match refusal(&bytes) {
            Some(refusal) => {
                assert!(!refusal.contains('\n'), "{refusal}");
                refused += 1;
            }
            None => taken += 1,
        }
    }
    println!("{refused} refused, {taken} without effect");
    assert!(refused > 20 * taken, "{refused} {taken}");
}
