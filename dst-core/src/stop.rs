//! Where a run stands: a stop is a status that carries the iterate, not an error.

/// A view of a run between two calls of [`advance`](crate::Run::advance).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Iterate<'r, S> {
    /// Steps done, k; at a stop, N.
    pub steps: usize,
    /// t_k = t0 + k·h
    pub time: S,
    /// J(x_k)
    pub criterion: S,
    /// J(x_{k−1}); NaN while there is none.
    pub previous: S,
    /// x_k
    pub state: &'r [S],
    /// The visited iterate with the least J.
    pub best: &'r [S],
    /// Its J.
    pub best_criterion: S,
    /// Σ w_j f(x_j) so far; zero without a running loss.
    pub loss: S,
    /// f(x_k); NaN without a running loss.
    pub value: S,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status<'r, S> {
    /// The budget of the call is used up; call again, or take [`Iterate::best`] if the deadline is here.
    Running(Iterate<'r, S>),
    /// J(x_N) ≤ ε: stopped.
    Reached(Iterate<'r, S>),
    /// The step limit came first: N = +∞ as far as this run can tell.
    StepLimit(Iterate<'r, S>),
}

impl<'r, S: Copy> Status<'r, S> {
    /// The iterate, however the run stands.
    pub fn iterate(&self) -> Iterate<'r, S> {
        match *self {
            Self::Running(i) | Self::Reached(i) | Self::StepLimit(i) => i,
        }
    }

    /// Has the tolerance been met?
    pub fn is_reached(&self) -> bool {
        matches!(self, Self::Reached(_))
    }
}
