//! A set of instances: the ticks that a controller will meet.

use dst_core::Scalar;
use dst_core::qp::{Instance, Shape};

use super::program::{Program, cast};

/// Instances of one program, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool<S> {
    shape: Shape,
    linear: Vec<S>,
    lower: Vec<S>,
    upper: Vec<S>,
    /// z and y from which every instance starts; empty if all start from zero.
    starts: Vec<S>,
}

impl<S: Scalar> Pool<S> {
    /// The program of every state (block after block), with an optional term d of g.
    pub fn of_states(
        program: &Program<S>,
        states: impl IntoIterator<Item = (Vec<S>, Vec<S>)>,
    ) -> Self {
        let shape = program.shape;
        let n = shape.variables();
        let mut pool = Self {
            shape,
            linear: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            starts: Vec::new(),
        };
        for (x, extra) in states {
            for (b, x) in x.chunks_exact(program.states).enumerate() {
                let start = pool.linear.len();
                match extra.get(b * n..(b + 1) * n) {
                    Some(extra) => pool.linear.extend(extra),
                    None => pool.linear.resize(start + n, S::ZERO),
                }
                for (column, &x) in program.linear.chunks_exact(n).zip(x) {
                    for (g, &f) in pool.linear[start..].iter_mut().zip(column) {
                        *g += x * f;
                    }
                }
                for (bounds, stage) in [
                    (&mut pool.lower, &program.lower),
                    (&mut pool.upper, &program.upper),
                ] {
                    let (inputs, outputs) = stage.split_at(shape.inputs);
                    let start = bounds.len() + n;
                    bounds.extend(inputs.iter().cycle().take(n));
                    let rows = shape.outputs * shape.stages;
                    bounds.extend(outputs.iter().cycle().take(rows));
                    for (column, &x) in program.free.chunks_exact(rows.max(1)).zip(x) {
                        for (bound, &e) in bounds[start..].iter_mut().zip(column) {
                            *bound += -x * e;
                        }
                    }
                }
            }
        }
        pool
    }

    /// The same instances, started from these z and y, instance after instance; zeros are a cold start. `None` if the length is not that
    /// of all instances.
    pub fn with_starts(self, starts: Vec<S>) -> Option<Self> {
        let fits = starts.len() == self.len() * self.shape.states();
        fits.then_some(Self { starts, ..self })
    }

    /// z and y from which instance `i` starts; empty for zeros.
    pub fn start(&self, i: usize) -> &[S] {
        let width = self.shape.states();
        self.starts
            .get(i * width..(i + 1) * width)
            .unwrap_or_default()
    }

    /// z and y from which instance `i` starts.
    pub(crate) fn start_vector(&self, i: usize) -> Vec<S> {
        match self.start(i) {
            [] => vec![S::ZERO; self.shape.states()],
            start => start.to_vec(),
        }
    }

    /// Pool of given instances: g, lower and upper bounds of each, block after block.
    pub fn of_instances(shape: Shape, instances: impl IntoIterator<Item = [Vec<S>; 3]>) -> Self {
        let mut pool = Self {
            shape,
            linear: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            starts: Vec::new(),
        };
        for [linear, lower, upper] in instances {
            pool.linear.extend(linear);
            pool.lower.extend(lower);
            pool.upper.extend(upper);
        }
        pool
    }

    /// Number of instances.
    pub fn len(&self) -> usize {
        self.linear.len() / (self.shape.blocks * self.shape.variables())
    }

    /// Without any?
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// Instance number `i`.
    pub fn instance(&self, i: usize) -> Instance<'_, S> {
        let n = self.shape.blocks * self.shape.variables();
        let m = self.shape.blocks * self.shape.rows();
        Instance {
            linear: &self.linear[i * n..(i + 1) * n],
            lower: &self.lower[i * m..(i + 1) * m],
            upper: &self.upper[i * m..(i + 1) * m],
        }
    }

    /// These instances alone.
    pub fn subset(&self, chosen: &[usize]) -> Self {
        let gather = |part: fn(Instance<'_, S>) -> &[S]| {
            let parts = chosen.iter().flat_map(|&i| part(self.instance(i)));
            parts.copied().collect()
        };
        Self {
            shape: self.shape,
            linear: gather(|i| i.linear),
            lower: gather(|i| i.lower),
            upper: gather(|i| i.upper),
            starts: chosen
                .iter()
                .flat_map(|&i| self.start(i))
                .copied()
                .collect(),
        }
    }

    /// The first instances.
    pub fn head(&self, count: usize) -> Self {
        self.subset(&(0..count.min(self.len())).collect::<Vec<_>>())
    }

    /// In another precision.
    pub fn cast<T: Scalar>(&self) -> Pool<T> {
        Pool {
            shape: self.shape,
            linear: cast(&self.linear),
            lower: cast(&self.lower),
            upper: cast(&self.upper),
            starts: cast(&self.starts),
        }
    }
}
