//! Clock of the tasks: the system timer of the processor, 1000 ticks per second. A board support crate of embassy brings its own.

use core::cell::RefCell;
use core::sync::atomic::{AtomicU32, Ordering};
use core::task::Waker;

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use cortex_m_rt::exception;
use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;

/// Clock of the processor.
const HERTZ: u32 = 168_000_000;

struct Clock {
    /// Milliseconds since the start, for 49 days.
    now: AtomicU32,
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock {
    now: AtomicU32::new(0),
    queue: Mutex::new(RefCell::new(Queue::new())),
});

impl Driver for Clock {
    fn now(&self) -> u64 {
        u64::from(self.now.load(Ordering::Relaxed))
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|token| {
            // The timer interrupts every millisecond, so there is no alarm to set.
            let _ = self
                .queue
                .borrow(token)
                .borrow_mut()
                .schedule_wake(at, waker);
        });
    }
}

/// Starts the timer.
pub fn start(mut timer: SYST) {
    timer.set_clock_source(SystClkSource::Core);
    timer.set_reload(HERTZ / 1000 - 1);
    timer.clear_current();
    timer.enable_counter();
    timer.enable_interrupt();
}

#[exception]
fn SysTick() {
    let now = CLOCK.now.load(Ordering::Relaxed).wrapping_add(1);
    CLOCK.now.store(now, Ordering::Relaxed);
    critical_section::with(|token| {
        CLOCK
            .queue
            .borrow(token)
            .borrow_mut()
            .next_expiration(u64::from(now));
    });
}
