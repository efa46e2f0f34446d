//! Progress of long work, and a way to end it early: one type for the whole crate.
//!
//! A long-running function takes a [`Progress`]. It opens a [`Counter`] for every countable part of its work, and calls
//! [`Progress::check`] between parts. The caller chooses the observer: none, a closure, or the progress bars of the program `dst`.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//! use dst_std::progress::{Progress, TaskState};
//!
//! let seen = Arc::new(Mutex::new(Vec::new()));
//! let log = seen.clone();
//! let progress = Progress::watched(move |state: TaskState<'_>| {
//!     log.lock().unwrap().push((state.done, state.total));
//! });
//!
//! let task = progress.task("summing", 2);
//! for _ in 0..2 {
//!     progress.check()?; // ends here once `progress.interrupt().raise()` was called, from any thread
//!     task.advance(1);
//! }
//! drop(task);
//! assert_eq!(*seen.lock().unwrap(), [(0, 2), (1, 2), (2, 2), (2, 2)]);
//! # Ok::<(), dst_std::Failure>(())
//! ```

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Failure;

/// State of a task, as an [`Observer`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskState<'a> {
    /// Number of the task; no two tasks of a process share one.
    pub task: u64,
    /// Its name, or the latest message.
    pub message: &'a str,
    /// Parts done, including those skipped.
    pub done: usize,
    /// Parts that were done before the task began. They say nothing about the time that the others take.
    pub skipped: usize,
    /// Parts in all.
    pub total: usize,
    /// True if the task has ended.
    pub ended: bool,
}

/// Observer of tasks. It is called at the beginning of a task, at every change, and at its end, from any thread.
pub trait Observer: Send + Sync {
    /// Receives the state of a task.
    fn observe(&self, state: TaskState<'_>);

    /// Runs `work`, which writes to the terminal, without progress bars in the way.
    fn suspend(&self, work: &mut dyn FnMut()) {
        work();
    }
}

impl<F: Fn(TaskState<'_>) + Send + Sync> Observer for F {
    fn observe(&self, state: TaskState<'_>) {
        self(state);
    }
}

/// Observer of long work and the flag that ends it. Clones share both.
#[derive(Clone)]
pub struct Progress {
    observer: Option<Arc<dyn Observer>>,
    interrupt: Interrupt,
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress")
            .field("observed", &self.observer.is_some())
            .field("interrupt", &self.interrupt)
            .finish()
    }
}

impl Progress {
    /// Progress without an observer.
    pub fn hidden() -> Self {
        Self {
            observer: None,
            interrupt: Interrupt::never(),
        }
    }

    /// Progress that is reported to `observer`.
    pub fn watched(observer: impl Observer + 'static) -> Self {
        Self {
            observer: Some(Arc::new(observer)),
            interrupt: Interrupt::never(),
        }
    }

    /// The same progress, ended by this flag.
    #[must_use]
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// The same flag without the observer, for inner work whose tasks are not to be shown.
    #[must_use]
    pub fn unobserved(&self) -> Self {
        Self {
            observer: None,
            interrupt: self.interrupt.clone(),
        }
    }

    /// The flag that ends the work.
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }

    /// True if the work should end early.
    pub fn interrupted(&self) -> bool {
        self.interrupt.raised()
    }

    /// Returns [`Failure::Interrupted`] if the work should end early.
    pub fn check(&self) -> Result<(), Failure> {
        match self.interrupted() {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    }

    /// Begins a task of `total` equal parts.
    pub fn task(&self, name: impl Into<String>, total: usize) -> Counter {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let inner = Inner {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            observer: self.observer.clone(),
            message: Mutex::new(name.into()),
            done: AtomicUsize::new(0),
            skipped: AtomicUsize::new(0),
            total,
        };
        inner.report(false);
        Counter {
            inner: Arc::new(inner),
        }
    }

    /// Begins a task whose parts cannot be counted.
    pub fn phase(&self, name: impl Into<String>) -> Counter {
        self.task(name, 1)
    }

    /// Runs `work`, which writes to the terminal, without progress bars in the way.
    pub fn suspend(&self, mut work: impl FnMut()) {
        match &self.observer {
            Some(observer) => observer.suspend(&mut work),
            None => work(),
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::hidden()
    }
}

/// Counter under way. Clones count together, from any thread. The task ends with the last clone.
#[derive(Clone, Debug)]
pub struct Counter {
    inner: Arc<Inner>,
}

struct Inner {
    number: u64,
    observer: Option<Arc<dyn Observer>>,
    message: Mutex<String>,
    done: AtomicUsize,
    skipped: AtomicUsize,
    total: usize,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.done, self.total)
    }
}

impl Inner {
    fn report(&self, ended: bool) {
        if let Some(observer) = &self.observer {
            // A message is whole even if a thread panicked beside it. A copy: the observer may ask for anything.
            let message = self.message.lock();
            let message = message.unwrap_or_else(PoisonError::into_inner).clone();
            observer.observe(TaskState {
                task: self.number,
                message: &message,
                done: self.done.load(Ordering::Relaxed),
                skipped: self.skipped.load(Ordering::Relaxed),
                total: self.total,
                ended,
            });
        }
    }
}

impl Counter {
    /// Counts `parts` more parts as done.
    pub fn advance(&self, parts: usize) {
        self.inner.done.fetch_add(parts, Ordering::Relaxed);
        self.inner.report(false);
    }

    /// Counts `parts` that were done before the task began.
    pub fn skip(&self, parts: usize) {
        self.inner.skipped.fetch_add(parts, Ordering::Relaxed);
        self.inner.done.fetch_add(parts, Ordering::Relaxed);
        self.inner.report(false);
    }

    /// Replaces the name of the task by a message.
    pub fn say(&self, message: impl Into<String>) {
        let message = message.into();
        *self
            .inner
            .message
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = message;
        self.inner.report(false);
    }

    /// Parts done so far.
    pub fn done(&self) -> usize {
        self.inner.done.load(Ordering::Relaxed)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.report(true);
    }
}

/// Flag that asks work to end early. Clones share it.
#[derive(Clone, Debug)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
}

impl Interrupt {
    /// A flag that only [`raise`](Self::raise) raises.
    pub fn never() -> Self {
        Self {
            raised: Arc::new(AtomicBool::new(false)),
        }
    }

    /// True if the work should end.
    pub fn raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Asks the work to end. Returns true if it was asked before.
    pub fn raise(&self) -> bool {
        self.raised.swap(true, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_count_together() {
        let task = Progress::hidden().task("counting", 400);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| task.advance(1)));
            }
        });
        assert_eq!(task.done(), 400);
    }

    #[test]
    fn an_observer_sees_every_change() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        let progress = Progress::watched(move |state: TaskState<'_>| {
            let line = format!("{} {} {}", state.message, state.done, state.skipped);
            log.lock().unwrap().push((line, state.ended));
        });
        let task = progress.task("a", 5);
        task.skip(2);
        task.say("b");
        drop(task.clone());
        task.advance(3);
        drop(task);
        progress.unobserved().task("c", 1).advance(1);
        let seen = seen.lock().unwrap();
        let lines: Vec<&str> = seen.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(lines, ["a 0 0", "a 2 2", "b 2 2", "b 5 2", "b 5 2"]);
        let ended: Vec<bool> = seen.iter().map(|(_, ended)| *ended).collect();
        assert_eq!(ended, [false, false, false, false, true]);
    }

    #[test]
    fn clones_share_the_flag() {
        let progress = Progress::hidden();
        let (other, inner) = (progress.clone(), progress.unobserved());
        assert!(!other.interrupted() && other.check().is_ok());
        assert!(!progress.interrupt().raise());
        assert!(progress.interrupt().raise());
        assert!(other.interrupted() && inner.interrupted());
        assert_eq!(other.check(), Err(Failure::Interrupted));
        assert!(!Progress::hidden().interrupted());
    }
}
