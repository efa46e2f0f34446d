//! The commands that write files, small enough to be run hundreds of times.

/// A command; `OUT` is its directory, `PROGRAMS` that of the problems of the tests.
pub(super) struct Writer {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    /// True for a training, which goes on with `--resume`.
    pub(super) resumes: bool,
}

const fn writer(name: &'static str, arguments: &'static str) -> Writer {
    Writer {
        name,
        arguments,
        resumes: false,
    }
}

pub(super) const WRITERS: &[Writer] = &[
    writer("illustrate", "illustrate --theta 0.25 --out OUT"),
    writer(
        "validate",
        "validate --dim 40 --gradient-out OUT/gradient.csv",
    ),
    writer(
        "tune",
        "tune --method nesterov --problem quadratic --dim 6 --starts 2 --held-out 2 --rounds 1 --quiet --save OUT/best.json --out OUT",
    ),
    writer(
        "ola",
        "ola --data a1a --method adam-ola --alpha0 0.01 --max-iterations 30 --quiet --save-weights OUT/weights.txt",
    ),
    writer(
        "qp",
        "qp tune --problem PROGRAMS/boxes.json --solver active-set --quick --quiet --out OUT",
    ),
    Writer {
        name: "l2o",
        arguments: "l2o train --dim 12 --samples 8 --batch 4 --segments 2 --segment-steps 10 --steps 400 --validate-every 100 --checkpoint-every 1 --quiet --out OUT/run.safetensors",
        resumes: true,
    },
];
