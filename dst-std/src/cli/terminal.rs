//! Progress on the terminal, and Ctrl-C.
//!
//! Bars go to standard error, for tasks that take longer than two seconds. If standard error is a file, a line goes there every
//! minute instead. The first Ctrl-C raises the flag of the process, so that finished results are kept; the second ends the program.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::progress::{Interrupt, Observer, TaskState};

/// Time after which a task gets a bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines in a file.
const PERIOD: Duration = Duration::from_secs(60);

/// Progress bars on standard error, or lines if it is no terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    bars: MultiProgress,
    /// True if lines are written instead of bars.
    lines: bool,
    tasks: Mutex<HashMap<u64, Bar>>,
}

/// Bar of one task.
#[derive(Debug)]
struct Bar {
    bar: ProgressBar,
    started: Instant,
    /// Time of the last line.
    line: Instant,
    skipped: usize,
    shown: bool,
}

impl Terminal {
    pub(super) fn new() -> Self {
        Self {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            lines: !std::io::stderr().is_terminal(),
            tasks: Mutex::new(HashMap::new()),
        }
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<u64, Bar>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bar {
    fn new(total: usize) -> Self {
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let now = Instant::now();
        Self {
            bar: ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden()),
            started: now,
            line: now,
            skipped: 0,
            shown: false,
        }
    }

    fn update(&mut self, state: TaskState<'_>) {
        let bar = &self.bar;
        if bar.message() != state.message {
            bar.set_message(state.message.to_owned());
        }
        let done = u64::try_from(state.done).unwrap_or(u64::MAX);
        // Another thread may have been here first with a later state.
        bar.inc(done.saturating_sub(bar.position()));
        if state.skipped > self.skipped {
            self.skipped = state.skipped;
            bar.reset_eta();
        }
    }

    fn show(&mut self, bars: &MultiProgress) {
        let bar = &self.bar;
        // The template is our own: if it were wrong, the plain style of the library would do.
        if let Ok(style) =
            ProgressStyle::with_template("{msg:<28} {wide_bar:.blue} {percent:>3} %  {eta} left")
        {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bars.add(bar.clone());
        bar.enable_steady_tick(Duration::from_millis(500));
        self.shown = true;
    }
}

impl Observer for Terminal {
    fn observe(&self, state: TaskState<'_>) {
        let mut tasks = self.tasks();
        if state.ended {
            if let Some(task) = tasks.remove(&state.task) {
                task.bar.finish_and_clear();
                self.bars.remove(&task.bar);
            }
            return;
        }
        let task = tasks
            .entry(state.task)
            .or_insert_with(|| Bar::new(state.total));
        task.update(state);
        if self.lines && task.line.elapsed() >= PERIOD {
            task.line = Instant::now();
            // The write may fail (no space, closed pipe): the work goes on.
            let _ = writeln!(
                std::io::stderr(),
                "{}",
                line(&state, task.started.elapsed())
            );
        }
        if !task.shown && task.started.elapsed() >= PATIENCE {
            task.show(&self.bars);
        }
    }

    fn suspend(&self, work: &mut dyn FnMut()) {
        self.bars.suspend(work);
    }
}

/// The state of a task after this time, in one line.
fn line(state: &TaskState<'_>, elapsed: Duration) -> String {
    let TaskState {
        message,
        done,
        skipped,
        total,
        ..
    } = *state;
    let each = elapsed.as_secs_f64() / done.saturating_sub(skipped).max(1) as f64;
    let minutes = (each * total.saturating_sub(done) as f64 / 60.0).ceil();
    format!("{message}: {done} of {total}, {minutes} min left")
}

/// The flag of this process. The first Ctrl-C (or request to terminate) raises it, the second ends the process with code 130.
/// The error is one sentence.
pub(super) fn interrupt() -> Result<Interrupt, String> {
    static PROCESS: OnceLock<Result<Interrupt, String>> = OnceLock::new();
    let install = || {
        let flag = Interrupt::never();
        let seen = flag.clone();
        let handler = move || {
            if seen.raise() {
                std::process::exit(130);
            }
            // The terminal may be gone: that is often the reason for the signal.
            let _ = writeln!(
                std::io::stderr(),
                "interrupted: ending as soon as possible; once more ends at once"
            );
        };
        match ctrlc::set_handler(handler) {
            Ok(()) => Ok(flag),
            Err(error) => Err(format!("Ctrl-C cannot be caught: {error}")),
        }
    };
    PROCESS.get_or_init(install).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let at = |[skipped, done, total]: [usize; 3]| {
            let state = TaskState {
                task: 0,
                message: "training, loss 1e-2",
                done,
                skipped,
                total,
                ended: false,
            };
            line(&state, Duration::from_secs(60))
        };
        let expected = |parts: &str| format!("training, loss 1e-2: {parts} min left");
        assert_eq!(at([0, 30, 500]), expected("30 of 500, 16"));
        assert_eq!(at([20, 30, 500]), expected("30 of 500, 47"));
        assert_eq!(at([0, 0, 5]), expected("0 of 5, 5"));
        assert_eq!(at([5, 5, 5]), expected("5 of 5, 0"));
    }

    #[test]
    fn bars_end_with_their_tasks() {
        let terminal = Terminal::new();
        let state = |done, ended| TaskState {
            task: 7,
            message: "work",
            done,
            skipped: 0,
            total: 3,
            ended,
        };
        terminal.observe(state(0, false));
        terminal.observe(state(2, false));
        // A late report of an earlier state.
        terminal.observe(state(1, false));
        assert_eq!(terminal.tasks()[&7].bar.position(), 2);
        terminal.observe(state(2, true));
        assert!(terminal.tasks().is_empty());
    }
}
