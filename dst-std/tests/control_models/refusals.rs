//! Every refusal is one sentence that names the field.

use dst_std::control::plants::quadrotor_model;
use dst_std::control::{
    ActiveProgram, Limits, Model, OutputBound, Penalty, Reference, Softness, Start, StateBound,
    Terminal, Weight,
};

use crate::model;

const MOTOR: &str = include_str!("../../../tests/c/controllers/motor.json");

/// The first number of a diagonal.
fn first(weight: &mut Weight) -> &mut f64 {
    match weight {
        Weight::Diagonal(diagonal) => &mut diagonal[0],
        Weight::Full(rows) => &mut rows[0][0],
    }
}

#[test]
fn what_is_wrong_with_a_model_is_one_sentence() {
    let good = quadrotor_model();
    assert!(good.program().is_ok() && good.active_program().is_ok());
    let bounded = |state, lower, upper, soft| StateBound {
        state,
        limits: Limits::between(lower, upper),
        soft,
    };
    type Breaking<'a> = &'a dyn Fn(&mut Model);
    let broken: &[(Breaking<'_>, &str)] = &[
        (
            &|m| m.a[0][0] = 1e39,
            "a must be finite in single precision",
        ),
        (&|m| m.b[0][0] = -1e300, "b must be finite"),
        (&|m| m.horizon = 1 << 63, "horizon must be from 1 to 128"),
        (&|m| m.horizon = 129, "horizon must be from 1 to 128"),
        (&|m| m.horizon = 0, "horizon must be"),
        (
            &|m| m.primal_tolerance = Some(1e-60),
            "primal_tolerance must be",
        ),
        (&|m| m.dual_tolerance = Some(1e39), "dual_tolerance must be"),
        (&|m| m.dual_tolerance = Some(0.0), "dual_tolerance must be"),
        (&|m| m.a.truncate(11), "a must have"),
        (&|m| m.a.clear(), "a and b need"),
        (&|m| m.b[0][0] = f64::NAN, "b must be finite"),
        (&|m| m.q = vec![1.0; 11].into(), "q must have"),
        (&|m| *first(&mut m.q) = -1.0, "q must be"),
        (&|m| *first(&mut m.r) = 0.0, "r must be"),
        (&|m| m.q = vec![vec![1.0; 12]; 11].into(), "q must have"),
        (&|m| m.r = skew(4), "r must be symmetric"),
        (
            &|m| m.r = ones(4, 1.0),
            "r must have eigenvalues that are positive",
        ),
        (
            &|m| m.q = ones(12, 0.5),
            "q must have eigenvalues that are not negative",
        ),
        (
            &|m| m.terminal = Terminal::Given(vec![1.0].into()),
            "terminal must have",
        ),
        (&|m| m.inputs[0] = Limits::between(1.0, -1.0), "inputs need"),
        (&|m| m.inputs[0].lower = f64::NAN, "inputs need"),
        (&|m| m.inputs.truncate(1), "inputs must have"),
        (&|m| m.rates = vec![Limits::FREE], "rates must have"),
        (
            &|m| m.rates = vec![Limits::between(0.1, 0.2); 4],
            "rates need",
        ),
        (
            &|m| m.states = vec![(12, 0.0, 1.0).into()],
            "states must name",
        ),
        (&|m| m.states = vec![(2, 1.0, 0.0).into()], "states need"),
        (
            &|m| m.states = vec![bounded(2, f64::NEG_INFINITY, f64::INFINITY, Softness::Hard)],
            "states: state 2 has no bound",
        ),
        (
            &|m| m.states = vec![bounded(2, 0.0, 1.0, Softness::Soft(Penalty::default()))],
            "states: soft of state 2 needs",
        ),
        (
            &|m| {
                m.states = vec![bounded(
                    2,
                    0.0,
                    1.0,
                    Softness::Soft(Penalty {
                        l1: Some(-1.0),
                        quadratic: None,
                    }),
                )];
            },
            "states: soft of state 2 needs",
        ),
        (
            &|m| m.outputs = vec![output(vec![1.0])],
            "outputs: c of entry 0 must have",
        ),
        (
            &|m| m.outputs = vec![output(vec![0.0; 12])],
            "outputs: c of entry 0 must have",
        ),
        (
            &|m| {
                m.references = vec![Reference {
                    state: 12,
                    range: Limits::between(0.0, 1.0),
                }];
            },
            "references must name",
        ),
        (
            &|m| {
                m.references = vec![Reference {
                    state: 1,
                    range: Limits::FREE,
                }];
            },
            "references need a finite range",
        ),
        (
            &|m| {
                m.references = vec![
                    Reference {
                        state: 1,
                        range: Limits::between(0.0, 1.0)
                    };
                    2
                ];
            },
            "references must name different",
        ),
        (&|m| m.noise = vec![0.1], "noise must have"),
        (&|m| m.disturbance = vec![-0.1; 12], "disturbance must have"),
        (&|m| m.start = vec![].into(), "start must have"),
        (
            &|m| {
                m.start = Start::Box {
                    lower: vec![1.0; 12],
                    upper: vec![0.0; 12],
                }
            },
            "start: the box must have",
        ),
        (
            &|m| {
                m.start = Start::File {
                    file: "x.csv".to_owned(),
                    states: vec![],
                }
            },
            "start: x.csv has no states",
        ),
        (
            &|m| {
                m.start = Start::File {
                    file: "x.csv".to_owned(),
                    states: vec![vec![0.0; 11]],
                }
            },
            "start: row 1 of x.csv",
        ),
        (
            &|m| m.names.states = vec!["x".to_owned()],
            "names must have",
        ),
        (
            &|m| m.b.iter_mut().for_each(|row| *row = vec![0.0; 513]),
            "at most 512 inputs",
        ),
        (
            &|m| m.b.iter_mut().for_each(|row| *row = vec![0.0; 4]),
            "cannot stabilise the plant",
        ),
        (
            &|m| {
                m.a[0][0] = 1.5;
                m.q = vec![0.0; 12].into();
            },
            "q: the cost does not see",
        ),
    ];
    for (damage, words) in broken {
        let mut broken = good.clone();
        damage(&mut broken);
        let program = broken.program().map(|_| ()).unwrap_err().to_string();
        let active = broken
            .active_program()
            .map(|_: ActiveProgram<f64>| ())
            .unwrap_err();
        assert!(program.contains(words), "{words}: {program}");
        assert_eq!(program, active.to_string());
    }
}

fn output(c: Vec<f64>) -> OutputBound {
    OutputBound {
        c,
        limits: Limits::between(-1.0, 1.0),
        soft: Softness::Huber,
        name: None,
    }
}

/// Ones everywhere, and this on the diagonal.
fn ones(size: usize, diagonal: f64) -> Weight {
    let row = |i: usize| {
        (0..size)
            .map(|j| if i == j { diagonal } else { 1.0 })
            .collect()
    };
    Weight::Full((0..size).map(row).collect())
}

fn skew(size: usize) -> Weight {
    let row = |i: usize| {
        (0..size)
            .map(|j| {
                if i == j {
                    4.0
                } else if i < j {
                    1.0
                } else {
                    -1.0
                }
            })
            .collect()
    };
    Weight::Full((0..size).map(row).collect())
}

#[test]
fn a_file_that_is_no_model_is_named_by_its_field() {
    let refused = |from: &str, to: &str| {
        assert!(MOTOR.contains(from), "{from}");
        let text = MOTOR.replace(from, to);
        Model::from_json(&text).unwrap_err().to_string()
    };
    for (from, to, words) in [
        (
            "[20.0, 1.0]",
            "\"big\"",
            "q: a weight must be a list of numbers",
        ),
        ("[0.1]", "[[\"x\"]]", "r: a weight must be"),
        ("\"horizon\": 12", "\"horizont\": 12", "horizon is missing"),
        (
            "\"horizon\": 12",
            "\"horizon\": 12, \"horizont\": 1",
            "\"horizont\" is not one of the fields",
        ),
        (
            "\"horizon\": 12",
            "\"horizon\": -1",
            "horizon: must be a whole number",
        ),
        (
            "\"horizon\": 12",
            "\"horizon\": 12, \"terminal\": \"lqr\"",
            "terminal: \"lqr\" is not a weight",
        ),
        ("[1, -0.6, 0.6]", "[1, -0.6]", "states: an entry must be"),
        (
            "[1, -0.6, 0.6]",
            "{\"state\": 1, \"soft\": 3}",
            "states: an entry must be",
        ),
        ("[1.0, 0.6]", "{\"box\": [1.0]}", "start: start must be"),
        ("[1.0, 0.6]", "[\"states.csv\"]", "start: start must be"),
        (
            "[1.0, 0.6]",
            "{\"file\": \"x\", \"scale\": 1}",
            "start: start must be",
        ),
    ] {
        let error = refused(from, to);
        assert!(
            error.starts_with("not a model") && error.contains(words),
            "{words}: {error}"
        );
    }
    assert!(
        Model::from_json("{\"a\": 1}")
            .unwrap_err()
            .to_string()
            .starts_with("not a model: a: ")
    );
    assert!(
        Model::from_json("[1]")
            .unwrap_err()
            .to_string()
            .starts_with("not a model")
    );
}

#[test]
fn a_model_is_read_back_as_it_was_written() {
    let all = [
        "pendulum",
        "double_pendulum",
        "unstable",
        "stiff",
        "masses",
        "units",
        "integrators",
    ];
    let models = all.into_iter().map(model);
    for model in models.chain([
        quadrotor_model(),
        Model::from_json(Model::template()).unwrap(),
    ]) {
        let text = serde_json::to_string(&model).unwrap();
        assert_eq!(Model::from_json(&text).unwrap(), model, "{text}");
    }
}

/// The build of the whole workspace has the feature `arbitrary_precision` of `serde_json`, which keeps the notation.
#[test]
fn numbers_are_read_in_any_notation() {
    let text = MOTOR.replace("[20.0, 1.0]", "[2e01, 1.00]");
    let text = text.replace("[[1, -0.6, 0.6]]", "[[1, -6e-01, 6E-1]]");
    assert_ne!(text, MOTOR);
    assert_eq!(
        Model::from_json(&text).unwrap(),
        Model::from_json(MOTOR).unwrap()
    );
}

#[test]
fn the_template_is_a_model_and_explains_every_field() {
    let template = Model::from_json(Model::template()).unwrap();
    let active = template.active_program().unwrap();
    assert_eq!(
        active.names,
        ["voltage", "speed", "brake line", "rate of voltage"]
    );
    assert_eq!(active.soft, [1, 2]);
    assert_eq!(active.parameters, 2 + 1 + 1);
    template.program().unwrap();
    let written = serde_json::to_value(&template).unwrap();
    for field in written.as_object().unwrap().keys() {
        assert!(
            Model::template().contains(&format!("\"//{field}\": ")),
            "{field}"
        );
    }
}

#[test]
fn files_of_today_stay_valid() {
    let motor = Model::from_json(MOTOR).unwrap();
    assert_eq!(motor.states, [StateBound::from((1, -0.6, 0.6))]);
    assert_eq!(motor.states[0].soft, Softness::Huber);
    // The tolerances may be left out.
    let short = MOTOR.replace(
        ",\n  \"primal_tolerance\": 0.001,\n  \"dual_tolerance\": 0.01",
        "",
    );
    assert_ne!(short, MOTOR);
    let program = Model::from_json(&short).unwrap().program().unwrap();
    assert!((program.tolerance.primal - 6e-4).abs() < 1e-15);
    assert!(program.tolerance.dual > 0.0);
}

#[test]
fn a_file_of_states_lies_beside_the_model() {
    let folder = std::env::temp_dir().join(format!("dst-start-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("motor.json");
    std::fs::write(
        &file,
        MOTOR.replace("[1.0, 0.6]", "{\"file\": \"states.csv\"}"),
    )
    .unwrap();
    let missing = Model::read(&file).unwrap_err().to_string();
    assert!(missing.starts_with("start: states.csv: "), "{missing}");
    std::fs::write(
        folder.join("states.csv"),
        "# position, speed\n0.5, -0.25\n\n1 2\n",
    )
    .unwrap();
    let model = Model::read(&file).unwrap();
    let drawn: Vec<Vec<f64>> = (0..50).map(|i| model.draw(1, i)).collect();
    for row in [[0.5, -0.25], [1.0, 2.0]] {
        assert!(drawn.iter().any(|x| *x == row));
    }
    assert!(drawn.iter().all(|x| *x == [0.5, -0.25] || *x == [1.0, 2.0]));
    model.active_program().unwrap();
    std::fs::write(folder.join("states.csv"), "0.5, x\n").unwrap();
    let bad = Model::read(&file).unwrap_err().to_string();
    assert!(
        bad.contains("line 1 of states.csv must be numbers"),
        "{bad}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Sixty states that nothing reaches and that grow: refused within a second, also from a file.
#[test]
fn sixty_states_that_cannot_be_stabilised_are_refused_within_a_second() {
    let entry = |i: usize, j: usize| {
        if i == j {
            1.01
        } else {
            0.01 * ((i * 7 + j * 3) % 5) as f64
        }
    };
    let large = Model {
        a: (0..60)
            .map(|i| (0..60).map(|j| entry(i, j)).collect())
            .collect(),
        b: vec![vec![0.0]; 60],
        q: vec![1.0; 60].into(),
        r: vec![1.0].into(),
        inputs: vec![Limits::between(-1.0, 1.0)],
        start: vec![1.0; 60].into(),
        horizon: 20,
        ..Model::default()
    };
    let start = std::time::Instant::now();
    let error = large.active_program().unwrap_err().to_string();
    assert!(start.elapsed().as_secs_f64() < 1.0, "{:?}", start.elapsed());
    assert!(error.contains("cannot stabilise"), "{error}");
}
