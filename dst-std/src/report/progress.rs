//! How far a long computation is, and how to end it early.
//!
//! Bars go to standard error, for what takes longer than two seconds; where that is no terminal but a file, a line goes there every minute
//! instead. The first Ctrl-C raises a flag that experiments poll, so that what is finished is kept; the second ends the program at once.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// What is done sooner than this needs no bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Between two lines in a file.
const PERIOD: Duration = Duration::from_secs(60);

/// The bars of a program; clones draw on the same terminal.
#[derive(Clone, Debug)]
pub struct Progress {
    bars: MultiProgress,
    /// Is there something to write lines to?
    lines: bool,
}

impl Progress {
    /// Bars on standard error, or lines if it is no terminal.
    pub fn new() -> Self {
        Self {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::stderr()),
            lines: !std::io::stderr().is_terminal(),
        }
    }

    /// Neither.
    pub fn hidden() -> Self {
        Self {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::hidden()),
            lines: false,
        }
    }

    /// Begins something of `total` equal parts.
    pub fn task(&self, name: impl Into<String>, total: usize) -> Task {
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        Task {
            inner: Arc::new(Inner {
                bar: bar.with_message(name.into()),
                bars: self.bars.clone(),
                lines: self.lines.then(|| Mutex::new(Instant::now())),
                skipped: AtomicU64::new(0),
                started: Instant::now(),
                shown: Once::new(),
            }),
        }
    }

    /// Does something that writes to the terminal, with the bars out of the way.
    pub fn suspend<R>(&self, work: impl FnOnce() -> R) -> R {
        self.bars.suspend(work)
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// Something under way; clones count together, from any thread. Its bar goes with the last clone.
#[derive(Clone, Debug)]
pub struct Task {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bar: ProgressBar,
    bars: MultiProgress,
    /// When the last line was written.
    lines: Option<Mutex<Instant>>,
    /// Parts that were done before it began.
    skipped: AtomicU64,
    started: Instant,
    shown: Once,
}

impl Task {
    /// So many more parts are done.
    pub fn advance(&self, parts: usize) {
        let Inner {
            bar,
            bars,
            lines,
            skipped,
            started,
            shown,
        } = &*self.inner;
        bar.inc(u64::try_from(parts).unwrap_or(u64::MAX));
        if let Some(mut last) = lines.as_ref().and_then(|last| last.lock().ok())
            && last.elapsed() >= PERIOD
        {
            *last = Instant::now();
            let (done, total) = (bar.position(), bar.length().unwrap_or(0));
            let skipped = skipped.load(Ordering::Relaxed);
            let line = line(&bar.message(), [skipped, done, total], started.elapsed());
            // There may be no room, or nobody to read: the work goes on.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        if !shown.is_completed() && started.elapsed() >= PATIENCE {
            shown.call_once(|| {
                // The template is our own: if it were wrong, the plain style of the library would do.
                if let Ok(style) = ProgressStyle::with_template(
                    "{msg:<28} {wide_bar:.blue} {percent:>3} %  {eta} left",
                ) {
                    bar.set_style(style.progress_chars("━╸─"));
                }
                bars.add(bar.clone());
                bar.enable_steady_tick(Duration::from_millis(500));
            });
        }
    }

    /// So many parts were done before it began: they tell nothing of how long the others take.
    pub fn skip(&self, parts: usize) {
        let parts = u64::try_from(parts).unwrap_or(u64::MAX);
        self.inner.skipped.fetch_add(parts, Ordering::Relaxed);
        self.inner.bar.inc(parts);
        self.inner.bar.reset_eta();
    }

    /// Shows other words beside the bar.
    pub fn say(&self, words: impl Into<String>) {
        self.inner.bar.set_message(words.into());
    }

    /// Parts done so far.
    pub fn done(&self) -> usize {
        usize::try_from(self.inner.bar.position()).unwrap_or(usize::MAX)
    }
}

/// How far it is after this time, in one line.
fn line(name: &str, [skipped, done, total]: [u64; 3], elapsed: Duration) -> String {
    let each = elapsed.as_secs_f64() / done.saturating_sub(skipped).max(1) as f64;
    let minutes = (each * total.saturating_sub(done) as f64 / 60.0).ceil();
    format!("{name}: {done} of {total}, {minutes} min left")
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
        self.bars.remove(&self.bar);
    }
}

/// A flag that Ctrl-C raises; clones share it.
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

    /// The flag of this process: the first Ctrl-C (or request to terminate) raises it, the second ends the process with
    /// code 130. The error is one sentence.
    pub fn install() -> Result<Self, String> {
        static PROCESS: OnceLock<Result<Interrupt, String>> = OnceLock::new();
        let install = || {
            let flag = Self::never();
            let seen = flag.clone();
            let handler = move || {
                if seen.raised.swap(true, Ordering::SeqCst) {
                    std::process::exit(130);
                }
                // The terminal may be gone, which is often why we are told to stop.
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

    /// Should the work end?
    pub fn raised(&self) -> bool {
        self.raised.load(Ordering::SeqCst)
    }

    /// Asks for an end.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::SeqCst);
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
    fn lines() {
        let minute = Duration::from_secs(60);
        let at = |parts| line("training, loss 1e-2", parts, minute);
        let told = |parts: &str| format!("training, loss 1e-2: {parts} min left");
        assert_eq!(at([0, 30, 500]), told("30 of 500, 16"));
        assert_eq!(at([20, 30, 500]), told("30 of 500, 47"));
        assert_eq!(at([0, 0, 5]), told("0 of 5, 5"));
        assert_eq!(at([5, 5, 5]), told("5 of 5, 0"));
    }

    #[test]
    fn clones_share_the_flag() {
        let flag = Interrupt::never();
        let other = flag.clone();
        assert!(!other.raised());
        flag.raise();
        assert!(other.raised());
        assert!(!Interrupt::never().raised());
    }
}
