//! The questions, and who is asked.

use std::path::Path;
use std::process::Command;

use super::contest::Setup;

/// Comparison: a section of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Comparison {
    /// The gradient of a number of steps.
    Steps,
    /// The gradient of the continuous stopping time.
    Events,
    /// An iteration of Adam-OLA.
    Ola,
    /// A training step of a learned optimiser.
    L2o,
    /// A solve of a parametric quadratic program.
    Qp,
    /// Forward steps of checkpointing.
    Checkpoints,
}

impl Comparison {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Steps,
        Self::Events,
        Self::Ola,
        Self::L2o,
        Self::Qp,
        Self::Checkpoints,
    ];

    /// Name of its section.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Events => "events",
            Self::Ola => "ola",
            Self::L2o => "l2o",
            Self::Qp => "qp",
            Self::Checkpoints => "checkpoints",
        }
    }

    /// The headline and what stands under it.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Steps => (
                "Gradient of a number of steps (Definition 3)",
                "Run and gradient of `dst validate`'s problem: d variables, 10·d parameters, Euler's method, 64-bit numbers. `haar` is a \
                 dense matrix, `hh8` a product of eight reflections. JAX is given N beforehand and is compiled and warm; \
                 equinox and dst decide online what to keep. Each of the 64 slots and checkpoints holds x and Qx.",
            ),
            Self::Events => (
                "Gradient of the continuous stopping time (Theorem 1)",
                "The same flow by adaptive Dormand–Prince at rtol = 1e-7, atol = 1e-9, stopped by an event; the gradient goes through the \
                 solver. The solvers choose their steps differently, so the answers agree to the tolerance only.",
            ),
            Self::Ola => (
                "Five hundred iterations of Adam-OLA on the smooth SVM",
                "Synthetic sets of the shape of a1a (1605 × 123) and w3a (4912 × 300), one evaluation of f and ∇f per \
                 iteration. Once f has converged, the paper's rule divides by a difference of f that is rounding; the answers are compared \
                 before that.",
            ),
            Self::L2o => (
                "A training step of L2O-RNNprop",
                "64 logistic regressions of 256 examples in 512 variables, five segments of 20 steps with an update of the 15 001 weights \
                 after each, 32-bit numbers, all cores. The answers are the sums of the segments' losses in the first step.",
            ),
            Self::Qp => (
                "Quadratic programs",
                "Time per solve of two families of a public MPC benchmark (`mpc_qpbenchmark`): P and A are set up once, q, l and u change. \
                 lipmwalk has 16 variables, 32 rows and 29 instances, whlipbal 50 variables, 100 rows and 30 instances. All in 64-bit \
                 numbers and to 1e-6. Ours is the time of a whole call of `Dense::solve`; the others are their own reported solve times, \
                 which leave out the update of q, l and u. DAQP starts from its last solution. OSQP starts cold, because from its last solution it reports \
                 three instances of lipmwalk as infeasible; two of seven settings tried for it solve all, and this one takes fewer iterations. A turn is the median of some \
                 passes over all instances.",
            ),
            Self::Checkpoints => (
                "Forward steps of checkpointing",
                "Forward steps in all, the run included. Revolve is given N; dst is not.",
            ),
        }
    }

    /// The questions.
    pub fn cases(self, quick: bool) -> Vec<Case> {
        let steps = |dim, basis, eps: &'static str, step: &'static str| {
            let mut by = vec![
                Contestant::Ours,
                Contestant::OursIn64,
                Contestant::OursAlone,
                Contestant::Jax,
                Contestant::JaxKeepsMore,
                Contestant::Equinox,
            ];
            // Autograd through 7000 steps of 10⁴ variables keeps 15 GB.
            if !(dim == 10_000 && eps == "1e-5") {
                by.push(Contestant::Torch);
            }
            let name = format!("d = {dim} ({basis}), ε = {eps}, h = {step}");
            let question = Question::Steps {
                dim,
                basis,
                eps,
                step,
            };
            Case { name, question, by }
        };
        let event = |dim, basis| Case {
            name: format!("d = {dim} ({basis}), ε = 1e-3"),
            question: Question::Event { dim, basis },
            by: vec![
                Contestant::Ours,
                Contestant::Diffrax,
                Contestant::TorchDiffEq,
            ],
        };
        let ola = |data| Case {
            name: format!("shape of {data}"),
            question: Question::Ola { data },
            by: vec![Contestant::Ours, Contestant::Scipy],
        };
        let l2o = |batch: usize, dim: usize| Case {
            name: format!("{batch} problems, d = {dim}"),
            question: Question::L2o { batch, dim },
            by: vec![
                Contestant::Ours,
                Contestant::TorchCompiled,
                Contestant::TorchEager,
            ],
        };
        let qp = |family: &'static str| Case {
            name: family.to_owned(),
            question: Question::Qp { family },
            by: vec![
                Contestant::Ours,
                Contestant::OursCold,
                Contestant::Daqp,
                Contestant::Piqp,
                Contestant::Osqp,
                Contestant::Clarabel,
            ],
        };
        let (haar, hh8) = ("haar", "hh8");
        match (self, quick) {
            (Self::Steps, true) => vec![
                steps(100, haar, "1e-3", "0.1"),
                steps(10_000, hh8, "1e-3", "0.1"),
            ],
            (Self::Steps, false) => vec![
                steps(100, haar, "1e-3", "0.1"),
                steps(100, haar, "1e-5", "0.01"),
                steps(1000, haar, "1e-3", "0.1"),
                steps(1000, haar, "1e-5", "0.01"),
                steps(10_000, hh8, "1e-3", "0.1"),
                steps(10_000, hh8, "1e-5", "0.01"),
            ],
            (Self::Events, true) => vec![event(100, haar)],
            (Self::Events, false) => vec![event(100, haar), event(1000, haar), event(10_000, hh8)],
            (Self::Ola, true) => vec![ola("a1a")],
            (Self::Ola, false) => vec![ola("a1a"), ola("w3a")],
            (Self::L2o, true) => vec![l2o(4, 128)],
            (Self::L2o, false) => vec![l2o(64, 512)],
            (Self::Qp, _) => vec![qp("lipmwalk"), qp("whlipbal")],
            (Self::Checkpoints, _) => Vec::new(),
        }
    }
}

/// One question to several systems.
#[derive(Clone, Debug)]
pub struct Case {
    /// In the table.
    pub name: String,
    /// The question.
    pub question: Question,
    /// Contestants; ours comes first.
    pub by: Vec<Contestant>,
}

/// A question. Numbers as they are written, since they go to a command line.
#[derive(Clone, Copy, Debug)]
pub enum Question {
    /// dN/dθ
    Steps {
        /// d
        dim: usize,
        /// Kind of basis of the spectrum.
        basis: &'static str,
        /// ε
        eps: &'static str,
        /// h
        step: &'static str,
    },
    /// dT/dθ
    Event {
        /// d
        dim: usize,
        /// Kind of basis of the spectrum.
        basis: &'static str,
    },
    /// Adam-OLA.
    Ola {
        /// The shape.
        data: &'static str,
    },
    /// A training step of RNNprop.
    L2o {
        /// Problems.
        batch: usize,
        /// d
        dim: usize,
    },
    /// Solves of a parametric quadratic program.
    Qp {
        /// Name of the file in the folder of the data.
        family: &'static str,
    },
}

/// Passes over the instances of a family in one turn.
const PASSES: usize = 5;

impl Question {
    /// The largest relative difference between two answers: of gradients, of times and of values.
    pub fn tolerance(self) -> f64 {
        match self {
            // The same sums in another order, and a thousand steps to let that grow.
            Self::Steps { .. } | Self::Ola { .. } => 1e-9,
            // Single precision, and five updates of Adam, which divides by small numbers.
            Self::L2o { .. } => 1e-5,
            // Residuals of 1e-6 leave the solution of an ill-conditioned program uncertain by more.
            Self::Qp { .. } => 1e-3,
            // Both are within 1e-7 per step of the truth.
            Self::Event { .. } => 1e-4,
        }
    }

    fn arguments(self, setup: &Setup) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        match self {
            Self::Steps {
                dim,
                basis,
                eps,
                step,
            } => {
                say("dim", dim.to_string());
                say("basis", basis.to_owned());
                say("eps", eps.to_owned());
                say("step", step.to_owned());
            }
            Self::Event { dim, basis } => {
                say("dim", dim.to_string());
                say("basis", basis.to_owned());
            }
            Self::Ola { data } => say("data", data.to_owned()),
            Self::L2o { batch, dim } => {
                say("batch", batch.to_string());
                say("dim", dim.to_string());
            }
            Self::Qp { family } => {
                let file = setup.programs.join(format!("{family}.npz"));
                say("problem", file.display().to_string());
                say("passes", PASSES.to_string());
            }
        }
        words
    }

    pub(super) fn has_gradient(self) -> bool {
        matches!(
            self,
            Self::Steps { .. } | Self::Event { .. } | Self::Qp { .. }
        )
    }
}

/// Contestant in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// Everything kept.
    Ours,
    /// 64 checkpoint slots.
    OursIn64,
    /// One thread.
    OursAlone,
    /// Without a warm start.
    OursCold,
    /// Dual active set, warm.
    Daqp,
    /// Interior point with a proximal term, dense.
    Piqp,
    /// ADMM, without a warm start.
    Osqp,
    /// Interior point.
    Clarabel,
    /// The adjoint by hand.
    Jax,
    /// The same, keeping Qx beside x.
    JaxKeepsMore,
    /// Its checkpointed loop.
    Equinox,
    /// Autograd through the loop.
    Torch,
    /// Event and adjoint.
    Diffrax,
    /// Event and autograd.
    TorchDiffEq,
    /// Sparse matrices.
    Scipy,
    /// `torch.compile`
    TorchCompiled,
    /// Operation by operation.
    TorchEager,
}

impl Contestant {
    /// In the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "**dst**",
            Self::OursIn64 => "**dst**, 64 slots",
            Self::OursAlone => "**dst**, one thread",
            Self::OursCold => "**dst**, cold",
            Self::Daqp => "DAQP",
            Self::Piqp => "PIQP, dense",
            Self::Osqp => "OSQP, cold",
            Self::Clarabel => "Clarabel",
            Self::Jax => "JAX, adjoint by hand",
            Self::JaxKeepsMore => "JAX, adjoint by hand, Qx kept",
            Self::Equinox => "equinox, 64 checkpoints",
            Self::Torch => "PyTorch, unrolled",
            Self::Diffrax => "diffrax",
            Self::TorchDiffEq => "torchdiffeq",
            Self::Scipy => "scipy, sparse",
            Self::TorchCompiled => "PyTorch, torch.compile",
            Self::TorchEager => "PyTorch, eager",
        }
    }

    /// Command that asks it; the gradient goes to the file.
    pub fn command(self, question: Question, setup: &Setup, gradient: &Path) -> Command {
        let script = |file: &str, method: &[&str]| {
            let mut command = Command::new(&setup.python);
            command
                .env("PYTHONDONTWRITEBYTECODE", "1")
                .arg(setup.peers.join(file))
                .args(method);
            command
        };
        let mut command = match self {
            Self::Ours | Self::OursIn64 | Self::OursAlone | Self::OursCold => {
                let mut command = Command::new(&setup.ours);
                // What making the problem took is given back to the system, and so is not there for the gradient to hide in.
                command.env("MALLOC_MMAP_THRESHOLD_", "131072");
                command.arg(match question {
                    Question::Steps { .. } => "steps",
                    Question::Event { .. } => "event",
                    Question::Ola { .. } => "ola",
                    Question::L2o { .. } => "l2o",
                    Question::Qp { .. } => "qp",
                });
                if self == Self::OursCold {
                    command.arg("--cold");
                }
                if self == Self::OursAlone {
                    command.args(["--threads", "1"]);
                }
                if self == Self::OursIn64 {
                    command.args(["--slots", "64"]);
                }
                command
            }
            Self::Daqp => script("with_qp.py", &["--solver", "daqp"]),
            Self::Piqp => script("with_qp.py", &["--solver", "piqp"]),
            Self::Osqp => script("with_qp.py", &["--solver", "osqp"]),
            Self::Clarabel => script("with_qp.py", &["--solver", "clarabel"]),
            Self::Jax => script("with_jax.py", &["--method", "adjoint"]),
            Self::JaxKeepsMore => script("with_jax.py", &["--method", "adjoint-g"]),
            Self::Equinox => script("with_jax.py", &["--method", "equinox"]),
            Self::Diffrax => script("with_jax.py", &["--method", "diffrax"]),
            Self::Torch => script("with_torch.py", &["--method", "unrolled"]),
            Self::TorchDiffEq => script("with_torch.py", &["--method", "torchdiffeq"]),
            Self::Scipy => script("ola_scipy.py", &[]),
            Self::TorchCompiled => script("l2o_torch.py", &["--method", "compiled"]),
            Self::TorchEager => script("l2o_torch.py", &["--method", "eager"]),
        };
        command.args(question.arguments(setup));
        if question.has_gradient() {
            command.arg("--gradient").arg(gradient);
        }
        command
    }
}
