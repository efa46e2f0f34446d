//! Position controller of a motor as a task that wakes every 50 ms, above everything else; the tuner has the idle time.
//!
//! The task has a deadline: a tick takes at most the steps of the certificate in `motor.rs`. New gains of the estimator come from the
//! tuner through a queue and are taken between two ticks, never in the middle of one.

#![no_std]
#![no_main]

mod clock;
#[path = "../../firmware/src/motor.rs"]
mod motor;
mod tuner;

use cortex_m::interrupt::InterruptNumber;
use cortex_m_rt::{entry, exception};
use cortex_m_semihosting::{debug, hprintln};
use embassy_executor::InterruptExecutor;
use embassy_time::{Duration, Instant, Ticker};
use heapless::spsc::{Consumer, Queue};
use panic_halt as _;
use static_cell::{ConstStaticCell, StaticCell};
use tuner::{FIRST, Gains, Tuner};

/// Steps that a tick may take: the number that the certificate in `motor.rs` is about.
const BUDGET: usize = 44;
/// Period of the control task.
const PERIOD: Duration = Duration::from_millis(50);
/// A tick that ends later than this after its time is late.
const DEADLINE: Duration = Duration::from_millis(5);

/// Interrupt that the executor of the control task borrows: one that the board does not use.
#[derive(Clone, Copy)]
struct Borrowed;

// SAFETY: the chip has 82 interrupts.
unsafe impl InterruptNumber for Borrowed {
    fn number(self) -> u16 {
        80
    }
}

static EXECUTOR: InterruptExecutor = InterruptExecutor::new();
static QUEUE: StaticCell<Queue<Gains, 4>> = StaticCell::new();
static MEMORY: ConstStaticCell<motor::Memory> = ConstStaticCell::new(motor::Memory::new());
static TUNER: ConstStaticCell<Tuner> = ConstStaticCell::new(Tuner::new());

#[exception]
unsafe fn DefaultHandler(number: i16) {
    if number == Borrowed.number() as i16 {
        // SAFETY: this is the interrupt with which the executor was started.
        unsafe { EXECUTOR.on_interrupt() };
    }
}

/// The motor and its controller. The plant is simulated; replace it by your sensors and your actuator.
#[embassy_executor::task]
async fn control(mut gains: Consumer<'static, Gains>) {
    let ([a, b, c, d], [e, f]) = (motor::A, motor::B);
    let Ok(mut tick) = MEMORY.take().start() else {
        return;
    };
    let (mut x, mut estimate, mut theta) = ([1.0, 0.0], [0.9, 0.5], FIRST);
    let (mut most, mut late, mut received) = (0, 0, 0);
    let mut ticker = Ticker::every(PERIOD);
    for _ in 0..100 {
        let begun = Instant::now();
        while let Some(better) = gains.dequeue() {
            theta = better;
            received += 1;
        }
        let outcome = match motor::CONTROLLER.tick(&mut tick, &estimate, &[], BUDGET) {
            Ok(outcome) => outcome,
            // An estimate that is not a number: stop the motor here.
            Err(_) => break,
        };
        most = most.max(outcome.steps);
        late += u32::from(Instant::now() - begun > DEADLINE);
        let u = tick.inputs().first().copied().unwrap_or(0.0);
        let off = x[0] - estimate[0];
        let [p, v] = estimate;
        estimate = [
            a * p + b * v + e * u + 0.05 * theta[0] * off,
            c * p + d * v + f * u + 0.05 * theta[1] * off,
        ];
        x = [a * x[0] + b * x[1] + e * u, c * x[0] + d * x[1] + f * u];
        ticker.next().await;
    }
    hprintln!(
        "position {:.4}, error of the speed {:.4}, at most {} steps in a tick, {} late, gains received {} times",
        x[0],
        (x[1] - estimate[1]).abs(),
        most,
        late,
        received
    );
    debug::exit(debug::EXIT_SUCCESS);
}

#[entry]
fn main() -> ! {
    if let Some(core) = cortex_m::Peripherals::take() {
        clock::start(core.SYST);
    }
    let (mut better, gains) = QUEUE.init(Queue::new()).split();
    let spawner = EXECUTOR.start(Borrowed);
    if let Ok(task) = control(gains) {
        spawner.spawn(task);
    }
    // Idle time: whatever the control task leaves.
    let tuner = TUNER.take();
    let (mut first, mut best) = (None, f32::INFINITY);
    while let Ok(Some((theta, seconds))) = tuner.improve() {
        first.get_or_insert(seconds);
        if seconds < best {
            best = seconds;
            // A full queue is no loss: a better θ follows, or the last is among those in the queue.
            let _ = better.enqueue(theta);
        }
    }
    hprintln!(
        "tuner: the estimator settles after {:.2} s, at first after {:.2} s",
        best,
        first.unwrap_or(best)
    );
    loop {
        cortex_m::asm::wfi();
    }
}
