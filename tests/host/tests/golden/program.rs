//! A small quadratic program for the solvers of `mpc`: a double integrator with one input, position and velocity bounded,
//! four stages, two blocks, not symmetric. Plain data.

/// Stages of the horizon.
pub(crate) const STAGES: usize = 4;

/// Iterations at which the phases of the knobs change.
pub(crate) const SWITCHES: [usize; 2] = [3, 7];

/// The sizes and matrices of a program and the data of one tick.
#[derive(Clone, Debug)]
pub(crate) struct Program<S> {
    /// Inputs per stage.
    pub(crate) inputs: usize,
    /// Bounded outputs per stage.
    pub(crate) outputs: usize,
    /// Stages of the horizon.
    pub(crate) stages: usize,
    /// Independent copies.
    pub(crate) blocks: usize,
    /// H
    pub(crate) hessian: Vec<S>,
    /// C, column by column, without the zeros above.
    pub(crate) columns: Vec<S>,
    /// g
    pub(crate) linear: Vec<S>,
    /// Lower bounds of Gu.
    pub(crate) lower: Vec<S>,
    /// Upper bounds of Gu.
    pub(crate) upper: Vec<S>,
}

impl<S> Program<S> {
    /// The program with bounded outputs, each number through `number`.
    pub(crate) fn example(number: impl Fn(f64) -> S) -> Self {
        let h = 0.3;
        let hessian = (0..STAGES * STAGES).map(|k| {
            let (i, j) = (k / STAGES, k % STAGES);
            if i == j {
                2.0 + 0.3 * i as f64
            } else {
                0.2 / (1.0 + i.abs_diff(j) as f64)
            }
        });
        let columns = (0..STAGES)
            .flat_map(|j| (0..STAGES - j).flat_map(move |k| [h * h * (k as f64 + 0.5), h]));
        let bounds = |sign: f64| {
            [(0.4, 0.3), (-0.5, 0.2)]
                .into_iter()
                .flat_map(move |(p, v)| {
                    let inputs = std::iter::repeat_n(sign * 1.2, STAGES);
                    let states = (1..=STAGES)
                        .flat_map(move |k| [sign * 0.9 - p - k as f64 * 0.3 * v, sign * 0.8 - v]);
                    inputs.chain(states)
                })
        };
        Self {
            inputs: 1,
            outputs: 2,
            stages: STAGES,
            blocks: 2,
            hessian: hessian.map(&number).collect(),
            columns: columns.map(&number).collect(),
            linear: [-3.0, -2.0, -4.0, -1.0, 2.0, 3.5, 1.0, 0.5]
                .map(&number)
                .into(),
            lower: bounds(-1.0).map(&number).collect(),
            upper: bounds(1.0).map(&number).collect(),
        }
    }

    /// The same with bounds on the inputs alone.
    pub(crate) fn boxed(number: impl Fn(f64) -> S) -> Self {
        Self {
            outputs: 0,
            columns: Vec::new(),
            lower: [-1.2; 2 * STAGES].map(&number).into(),
            upper: [1.2; 2 * STAGES].map(&number).into(),
            ..Self::example(&number)
        }
    }

    /// The knobs R and α of three phases that differ.
    pub(crate) fn knobs(number: impl Fn(f64) -> S) -> Vec<S> {
        let phase = |p: usize| {
            let weights = (0..12).map(move |i| 1.0 + 0.15 * i as f64 + 0.4 * p as f64);
            weights.chain([1.0 + 0.2 * p as f64])
        };
        (0..3).flat_map(phase).map(number).collect()
    }
}
