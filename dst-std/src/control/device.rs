//! Controllers as the device runs them: in single precision, either solver, with the memory that a loop keeps between ticks.
//!
//! A [`Device`] has the constants. [`Device::session`] gives its memory to a closure: a loop, or a series of cold ticks. The blocks of
//! an active-set controller are solved one by one with the same numbers as on the device, so that the count of a tick is that of its
//! slowest block, which is what a deadline limits.

use dst_core::mpc::{AdmmController, AdmmTick, Controller, Tick};
use dst_core::qp::Status;

use super::active_program::ActiveProgram;
use super::program::Program;
use super::tuned::Tuned;
use crate::parallel::{Piece, piece};

/// A controller in single precision.
#[derive(Clone, Debug)]
pub enum Device {
    /// Dual active set.
    ActiveSet(ActiveDevice),
    /// ADMM.
    Admm(AdmmDevice),
}

/// Constants of an active-set controller.
#[derive(Clone, Debug)]
pub struct ActiveDevice {
    /// Program in single precision, with all blocks.
    pub program: ActiveProgram<f32>,
    /// Most rows that the set can hold.
    pub capacity: usize,
    /// Violation that counts as zero.
    pub tolerance: f32,
}

/// Constants of an ADMM controller.
#[derive(Clone, Debug)]
pub struct AdmmDevice {
    /// Program in single precision, with its tolerances.
    pub program: Program<f32>,
    /// Knobs and inverses.
    pub tuned: Tuned<f32>,
    /// Map from the parameter to the inputs, and their bounds, if the variables are not the inputs.
    pub input_map: Option<InputMap>,
}

/// Inputs of a prestabilised program: u = v + map·p, clipped.
#[derive(Clone, Debug)]
pub struct InputMap {
    /// Inputs × parameters, row by row.
    pub map: Vec<f32>,
    /// Lower bounds.
    pub lower: Vec<f32>,
    /// Upper bounds.
    pub upper: Vec<f32>,
}

/// Outcome of a tick of either solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickOutcome {
    /// Steps of the slowest block, or iterations.
    pub count: u32,
    /// Steps of all blocks, or iterations.
    pub total: u32,
    /// Multiply-adds.
    pub operations: usize,
    /// Status; that of the worst block.
    pub status: Status,
}

piece!(TickOutcome {
    count,
    total,
    operations,
    status
});

/// The statuses, numbered.
const STATUSES: [Status; 4] = [
    Status::Solved,
    Status::Softened,
    Status::Late,
    Status::Infeasible,
];

impl Piece for Status {
    fn put(&self, to: &mut Vec<u8>) {
        let number = STATUSES.iter().position(|status| status == self);
        number.map_or(u8::MAX, |number| number as u8).put(to);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        STATUSES.get(usize::from(u8::take(from)?)).copied()
    }
}

impl TickOutcome {
    /// A tick that the controller refused: its parameter is not finite.
    const REFUSED: Self = Self {
        count: 0,
        total: 0,
        operations: 0,
        status: Status::Late,
    };
}

impl ActiveDevice {
    /// The controller, with all blocks.
    pub fn controller(&self) -> Controller<'_, f32> {
        self.program.controller(self.capacity, self.tolerance)
    }

    /// The controller of one block.
    fn block(&self) -> Controller<'_, f32> {
        Controller {
            blocks: 1,
            ..self.controller()
        }
    }
}

impl AdmmDevice {
    /// The controller.
    pub fn controller(&self) -> AdmmController<'_, f32> {
        self.tuned.controller(&self.program)
    }

    /// Multiply-adds of an iteration.
    pub fn iteration_operations(&self) -> usize {
        let shape = self.program.shape;
        // K, C once and Cᵀ twice, and eight for a row: relaxation, clipping, multipliers, residuals.
        let block = shape.inverse_entries() + 3 * shape.output_entries() + 8 * shape.rows();
        shape.blocks * block
    }

    /// Multiply-adds before the first iteration.
    pub fn preparation_operations(&self) -> usize {
        let Program { linear, free, .. } = &self.program;
        self.program.shape.blocks * (linear.len() + 2 * free.len())
    }
}

impl Device {
    /// Name of the solver.
    pub fn solver(&self) -> &'static str {
        match self {
            Self::ActiveSet(_) => "active set",
            Self::Admm(_) => "ADMM",
        }
    }

    /// Runs `work` with the memory of this controller. The first tick is cold. `None` if the controller refuses its constants.
    pub fn session<R>(&self, work: impl FnOnce(&mut Session<'_, '_>) -> R) -> Option<R> {
        match self {
            Self::ActiveSet(device) => {
                let controller = device.block();
                let blocks = device.program.blocks;
                let numbers = vec![0.0_f32; Tick::numbers(&controller)];
                let words = vec![0_u16; Tick::words(&controller)];
                let mut memory = vec![(numbers, words); blocks];
                let ticks: Result<Vec<_>, _> = memory
                    .iter_mut()
                    .map(|(numbers, words)| Tick::new(&controller, numbers, words))
                    .collect();
                Some(work(&mut Session {
                    inputs: vec![0.0; blocks * controller.inputs],
                    kind: Kind::ActiveSet(controller, ticks.ok()?),
                }))
            }
            Self::Admm(device) => {
                let controller = device.controller();
                controller.check().ok()?;
                let shape = controller.shape;
                let mut memory = vec![0.0_f32; AdmmTick::<f32>::len(shape)];
                let tick = AdmmTick::new(shape, &mut memory).ok()?;
                Some(work(&mut Session {
                    inputs: vec![0.0; shape.blocks * shape.inputs],
                    kind: Kind::Admm(device, controller, tick),
                }))
            }
        }
    }
}

/// Controller with its memory.
pub struct Session<'c, 'm> {
    inputs: Vec<f32>,
    kind: Kind<'c, 'm>,
}

enum Kind<'c, 'm> {
    ActiveSet(Controller<'c, f32>, Vec<Tick<'m, f32>>),
    Admm(&'c AdmmDevice, AdmmController<'c, f32>, AdmmTick<'m, f32>),
}

impl Session<'_, '_> {
    /// Runs a tick of at most `budget` steps or iterations.
    pub fn tick(&mut self, p: &[f32], extra: &[f32], budget: u32) -> TickOutcome {
        let budget = budget as usize;
        match &mut self.kind {
            Kind::ActiveSet(controller, ticks) => {
                let mut all = TickOutcome {
                    status: Status::Solved,
                    ..TickOutcome::REFUSED
                };
                let width = controller.inputs * controller.stages();
                let parts = p.chunks_exact(controller.parameters).zip(ticks);
                let parts = parts.zip(self.inputs.chunks_exact_mut(controller.inputs));
                for (block, ((p, tick), inputs)) in parts.enumerate() {
                    let extra = extra.get(block * width..(block + 1) * width);
                    let extra = extra.unwrap_or_default();
                    let Ok(outcome) = controller.tick(tick, p, extra, budget) else {
                        return TickOutcome::REFUSED;
                    };
                    inputs.copy_from_slice(tick.inputs());
                    let steps = u32::try_from(outcome.steps).unwrap_or(u32::MAX);
                    all.count = all.count.max(steps);
                    all.total = all.total.saturating_add(steps);
                    all.operations += outcome.operations;
                    all.status = worse(all.status, outcome.status);
                }
                all
            }
            Kind::Admm(device, controller, tick) => {
                let Ok(outcome) = controller.tick(tick, p, extra, budget) else {
                    return TickOutcome::REFUSED;
                };
                self.inputs.copy_from_slice(tick.inputs());
                if let Some(InputMap { map, lower, upper }) = &device.input_map {
                    let rows = map.chunks_exact(p.len()).zip(lower.iter().zip(upper));
                    for (u, (row, (&lower, &upper))) in self.inputs.iter_mut().zip(rows) {
                        let feedback: f32 = row.iter().zip(p).map(|(m, p)| m * p).sum();
                        *u = (*u + feedback).max(lower).min(upper);
                    }
                }
                let count = u32::try_from(outcome.iterations).unwrap_or(u32::MAX);
                TickOutcome {
                    count,
                    total: count,
                    operations: device.preparation_operations()
                        + outcome.iterations * device.iteration_operations(),
                    status: match outcome.solved {
                        true => Status::Solved,
                        false => Status::Late,
                    },
                }
            }
        }
    }

    /// True if the solver has soft rows. All bounds of ADMM are hard.
    pub fn takes_soft_rows(&self) -> bool {
        matches!(self.kind, Kind::ActiveSet(..))
    }

    /// Inputs of the last tick.
    pub fn inputs(&self) -> &[f32] {
        &self.inputs
    }

    /// Makes the next tick a cold one.
    pub fn reset(&mut self) {
        match &mut self.kind {
            Kind::ActiveSet(_, ticks) => ticks.iter_mut().for_each(Tick::reset),
            Kind::Admm(_, _, tick) => tick.reset(),
        }
    }

    /// Kinds of rows that the last tick softened, with repetitions.
    pub fn softened(&self) -> Vec<usize> {
        match &self.kind {
            Kind::ActiveSet(controller, ticks) => {
                let rows = ticks.iter().flat_map(|tick| controller.softened(tick));
                rows.map(|(_, _, kind)| kind).collect()
            }
            Kind::Admm(..) => Vec::new(),
        }
    }

    /// Rows with a multiplier after the last tick, in the block that has most.
    pub fn active_rows(&self) -> usize {
        match &self.kind {
            Kind::ActiveSet(controller, ticks) => {
                let rows = ticks
                    .iter()
                    .map(|tick| controller.multipliers(tick).count());
                rows.max().unwrap_or(0)
            }
            Kind::Admm(..) => 0,
        }
    }

    /// z and y of ADMM from which the next tick starts, shifted by a stage. `None` for the active set.
    pub fn next_start(&self) -> Option<Vec<f32>> {
        let Kind::Admm(_, controller, tick) = &self.kind else {
            return None;
        };
        let shape = controller.shape;
        let shift = |values: &[f32]| -> Vec<f32> {
            let mut shifted = Vec::with_capacity(values.len());
            for block in values.chunks_exact(shape.rows()) {
                let (inputs, outputs) = block.split_at(shape.variables());
                for (part, width) in [(inputs, shape.inputs), (outputs, shape.outputs)] {
                    let kept = part.len() - width.min(part.len());
                    shifted.extend(&part[width.min(part.len())..]);
                    // The last stage keeps its own.
                    shifted.extend(&part[kept..]);
                }
            }
            shifted
        };
        let (z, y) = tick.solution();
        let mut start = shift(z);
        start.extend(shift(y));
        Some(start)
    }
}

/// The status that a caller must know of first.
fn worse(a: Status, b: Status) -> Status {
    let rank = |status: Status| match status {
        Status::Solved => 0,
        Status::Softened => 1,
        Status::Late => 2,
        Status::Infeasible => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}
