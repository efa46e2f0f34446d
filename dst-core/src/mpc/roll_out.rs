//! Roll-out: s⁰ by a simulation of the plant under its feedback.

use crate::scalar::Scalar;
use crate::slices::{copy, more, pieces, split_mut};

/// Plant with a feedback: u_k = −(feed·extra_k + K·x_k), x_{k+1} = A·x_k + B·u_k; the rows of stage k are u_k and C·x_{k+1}. All
/// matrices are row by row.
#[derive(Clone, Copy, Debug)]
pub struct RollOut<'a, S> {
    /// A
    pub a: &'a [S],
    /// B
    pub b: &'a [S],
    /// K; empty if there is none.
    pub feedback: &'a [S],
    /// C; empty if all states are rows, or none.
    pub outputs: &'a [S],
    /// Inverse of the weight of u; empty if ticks have no extra term.
    pub feed: &'a [S],
}

impl<S: Scalar> RollOut<'_, S> {
    /// Multiply-adds of a stage.
    pub(super) fn operations(&self) -> usize {
        self.a.len() + self.b.len() + self.outputs.len() + self.feedback.len() + self.feed.len()
    }

    /// Simulates from x = p, and writes the rows of all stages. `state` has room for two states.
    pub(super) fn run(
        &self,
        start: &mut [S],
        kinds: usize,
        inputs: usize,
        p: &[S],
        extra: &[S],
        state: &mut [S],
    ) {
        let mut extra = pieces(extra, inputs);
        let mut rest = start;
        if self.outputs.is_empty() && kinds > inputs {
            // Every state is computed where it belongs.
            let mut x = p;
            while let Some((stage, after)) = rest.split_at_mut_checked(kinds) {
                let (u, next) = split_mut(stage, inputs);
                self.advance(x, extra.next().unwrap_or_default(), u, next);
                (x, rest) = (next, after);
            }
            return;
        }
        let (x, next) = split_mut(state, p.len());
        copy(x, p);
        while let Some((stage, after)) = rest.split_at_mut_checked(kinds) {
            let (u, outputs) = split_mut(stage, inputs);
            self.advance(x, extra.next().unwrap_or_default(), u, next);
            copy(x, next);
            for (output, row) in outputs.iter_mut().zip(pieces(self.outputs, x.len())) {
                *output = more(S::ZERO, row, x);
            }
            rest = after;
        }
    }

    /// Inputs of a stage, and the state after it.
    #[inline(always)]
    fn advance(&self, x: &[S], extra: &[S], u: &mut [S], next: &mut [S]) {
        let (nx, nu) = (x.len(), u.len());
        let mut feed = pieces(self.feed, nu);
        let mut feedback = pieces(self.feedback, nx);
        for u in u.iter_mut() {
            let mut sum = S::ZERO;
            if !extra.is_empty() {
                sum = more(sum, feed.next().unwrap_or_default(), extra);
            }
            *u = -more(sum, feedback.next().unwrap_or_default(), x);
        }
        let rows = pieces(self.a, nx).zip(pieces(self.b, nu));
        for (next, (a, b)) in next.iter_mut().zip(rows) {
            *next = more(more(S::ZERO, a, x), b, u);
        }
    }
}
