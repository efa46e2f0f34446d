//! Progress on the terminal, and the end of the program by a signal.
//!
//! Bars go to standard error, for tasks that take longer than two seconds. If standard error is a file, a line goes there every
//! minute instead. The first Ctrl-C (or request to terminate) raises the flag of the process, so that finished results are kept. What
//! has not ended 1.2 seconds later is ended, wherever it is; no file is half-written, since files are renamed when they are
//! whole. The second signal ends the program at once. A terminal that takes no output and a pipe without a reader delay no end.
//!
//! In an MPI job the first rank does this, and its end is that of the job; the others wait for it without a word.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::printable::printable;
use crate::files;
use crate::parallel::ranks;
use crate::progress::{Interrupt, Observer, TaskState};

/// Time after which a task gets a bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines in a file.
const PERIOD: Duration = Duration::from_secs(60);
/// Time between two looks at tasks that report nothing.
const LOOK: Duration = Duration::from_millis(250);
/// Time between the first signal and the end of the process.
const GRACE: Duration = Duration::from_millis(1200);
/// The same in an MPI job: Open MPI passes a signal on after a second, and kills a second later. The first rank ends first: it has
/// files to write.
const GRACE_OF_RANKS: [Duration; 2] = [Duration::from_millis(350), Duration::from_millis(450)];
/// Longest time of the last words: the terminal may be stopped.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Longest time of the last act. It takes milliseconds, unless the disk is slow.
const LAST_ACT: Duration = Duration::from_secs(5);

/// Progress bars on standard error, or lines if it is no terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    tasks: Arc<Tasks>,
}

#[derive(Debug)]
struct Tasks {
    bars: MultiProgress,
    /// True if lines are written instead of bars.
    lines: bool,
    known: Mutex<HashMap<u64, Bar>>,
}

/// Bar of one task.
#[derive(Debug)]
struct Bar {
    bar: ProgressBar,
    message: String,
    done: usize,
    total: usize,
    started: Instant,
    /// Time of the last line.
    line: Instant,
    skipped: usize,
    shown: bool,
}

impl Terminal {
    pub(super) fn new() -> Self {
        let tasks = Arc::new(Tasks {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            lines: !std::io::stderr().is_terminal(),
            known: Mutex::new(HashMap::new()),
        });
        // A task may be in one long step, and report nothing.
        let seen = Arc::downgrade(&tasks);
        thread::spawn(move || {
            while let Some(tasks) = seen.upgrade() {
                tasks.known().values_mut().for_each(|bar| tasks.look(bar));
                drop(tasks);
                thread::sleep(LOOK);
            }
        });
        Self { tasks }
    }
}

impl Tasks {
    fn known(&self) -> MutexGuard<'_, HashMap<u64, Bar>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows what is due.
    fn look(&self, bar: &mut Bar) {
        if self.lines && bar.line.elapsed() >= PERIOD {
            bar.line = Instant::now();
            // The write may fail (no space, closed pipe): the work goes on.
            let _ = writeln!(std::io::stderr(), "{}", bar.text(bar.started.elapsed()));
        }
        if !self.lines && !bar.shown && bar.started.elapsed() >= PATIENCE {
            bar.show(&self.bars);
        }
    }
}

impl Bar {
    fn new(total: usize) -> Self {
        let now = Instant::now();
        let length = u64::try_from(total).unwrap_or(u64::MAX);
        Self {
            bar: ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden()),
            message: String::new(),
            done: 0,
            total,
            started: now,
            line: now,
            skipped: 0,
            shown: false,
        }
    }

    fn update(&mut self, state: TaskState<'_>) {
        let bar = &self.bar;
        if self.message != state.message {
            state.message.clone_into(&mut self.message);
            bar.set_message(printable(state.message).into_owned());
        }
        // Another thread may have been here first with a later state.
        self.done = self.done.max(state.done);
        bar.set_position(u64::try_from(self.done).unwrap_or(u64::MAX));
        if state.skipped > self.skipped {
            self.skipped = state.skipped;
            bar.reset_eta();
        }
    }

    fn show(&mut self, bars: &MultiProgress) {
        let bar = &self.bar;
        let template = match self.total {
            1 => "{msg:<28} {spinner:.blue} {elapsed}",
            _ => "{msg:<28} {wide_bar:.blue} {percent:>3} %  {eta} left",
        };
        // The template is our own: if it were wrong, the plain style of the library would do.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bars.add(bar.clone());
        bar.enable_steady_tick(Duration::from_millis(500));
        self.shown = true;
    }

    /// The state after this time, in one line.
    fn text(&self, elapsed: Duration) -> String {
        let &Self {
            done,
            skipped,
            total,
            ..
        } = self;
        let message = printable(&self.message);
        let minutes = elapsed.as_secs_f64() / 60.0;
        if total == 1 {
            return format!("{message}: {minutes:.0} min so far");
        }
        let each = minutes / done.saturating_sub(skipped).max(1) as f64;
        let left = (each * total.saturating_sub(done) as f64).ceil();
        format!("{message}: {done} of {total}, {left} min left")
    }
}

impl Observer for Terminal {
    fn observe(&self, state: TaskState<'_>) {
        let mut known = self.tasks.known();
        if state.ended {
            if let Some(task) = known.remove(&state.task) {
                task.bar.finish_and_clear();
                self.tasks.bars.remove(&task.bar);
            }
            return;
        }
        let bar = known
            .entry(state.task)
            .or_insert_with(|| Bar::new(state.total));
        bar.update(state);
        self.tasks.look(bar);
    }

    fn suspend(&self, work: &mut dyn FnMut()) {
        self.tasks.bars.suspend(work);
    }
}

/// Last act of a process that is ended in the middle of its work.
type Rescue = Box<dyn FnOnce() + Send>;
static RESCUE: Mutex<Option<Rescue>> = Mutex::new(None);

/// Replaces the last act of a process that is ended in the middle of its work. It takes milliseconds, and needs nothing that the work
/// may hold.
pub(super) fn rescue(last: impl FnOnce() + Send + 'static) {
    *RESCUE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last));
}

/// Starts an act beside this thread; the receiver is disconnected when it has ended, or could not begin.
fn begin(act: Option<Rescue>) -> mpsc::Receiver<()> {
    let (done, ended) = mpsc::channel();
    if let Some(act) = act {
        // Without a thread for it, it is left out.
        let _ = thread::Builder::new().spawn(move || {
            act();
            drop(done);
        });
    }
    ended
}

/// Ends the process with code 130, after its last act and its last words.
fn end(words: Option<&'static str>) -> ! {
    let last = RESCUE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let speak = words.map(|words| -> Rescue { Box::new(move || super::complain(&words)) });
    let (spoken, acted) = (begin(speak), begin(last));
    let _ = spoken.recv_timeout(LAST_WORDS);
    let _ = acted.recv_timeout(LAST_ACT);
    files::abandon();
    std::process::exit(130)
}

/// The flag of this process. The first Ctrl-C (or request to terminate) raises it, the second ends the process with code 130.
/// The error is one sentence.
pub(super) fn interrupt() -> Result<Interrupt, String> {
    static PROCESS: OnceLock<Result<Interrupt, String>> = OnceLock::new();
    let install = || {
        let flag = Interrupt::never();
        let seen = flag.clone();
        let handler = move || {
            if !ranks::is_first() {
                thread::sleep(GRACE_OF_RANKS[1]);
                end(None);
            }
            // Before the flag: no work that it cuts short is sent.
            ranks::go_on_alone();
            if seen.raise() {
                end(None);
            }
            // First: the terminal may be slow, or gone, which is often the reason for the signal.
            let watch = thread::Builder::new().spawn(|| {
                thread::sleep(match ranks::count() {
                    1 => GRACE,
                    _ => GRACE_OF_RANKS[0],
                });
                end(Some("interrupted"));
            });
            if watch.is_err() {
                end(Some("interrupted"));
            }
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

    fn state(message: &str, [skipped, done, total]: [usize; 3]) -> TaskState<'_> {
        TaskState {
            task: 7,
            message,
            done,
            skipped,
            total,
            ended: false,
        }
    }

    #[test]
    fn lines() {
        let at = |counts: [usize; 3]| {
            let mut bar = Bar::new(counts[2]);
            bar.update(state("training, loss 1e-2", counts));
            bar.text(Duration::from_secs(60))
        };
        let expected = |parts: &str| format!("training, loss 1e-2: {parts} min left");
        assert_eq!(at([0, 30, 500]), expected("30 of 500, 16"));
        assert_eq!(at([20, 30, 500]), expected("30 of 500, 47"));
        assert_eq!(at([0, 0, 5]), expected("0 of 5, 5"));
        assert_eq!(at([5, 5, 5]), expected("5 of 5, 0"));
        assert_eq!(at([0, 0, 1]), "training, loss 1e-2: 1 min so far");
    }

    #[test]
    fn bars_end_with_their_tasks() {
        let terminal = Terminal::new();
        terminal.observe(state("work", [0, 0, 3]));
        terminal.observe(state("work", [0, 2, 3]));
        // A late report of an earlier state.
        terminal.observe(state("work", [0, 1, 3]));
        assert_eq!(terminal.tasks.known()[&7].bar.position(), 2);
        terminal.observe(TaskState {
            ended: true,
            ..state("work", [0, 2, 3])
        });
        assert!(terminal.tasks.known().is_empty());
    }

    /// A task that reports nothing after its beginning is shown all the same.
    #[test]
    fn silent_tasks_are_shown() {
        let terminal = Terminal::new();
        terminal.observe(state("work", [0, 0, 1]));
        let shown = |terminal: &Terminal| terminal.tasks.known()[&7].shown;
        if terminal.tasks.lines {
            // Only a terminal has bars.
            return;
        }
        assert!(!shown(&terminal));
        thread::sleep(PATIENCE + 4 * LOOK);
        assert!(shown(&terminal));
    }
}
