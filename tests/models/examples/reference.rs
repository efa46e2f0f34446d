//! Results of the host: the lines of every check, the words of the controllers' ticks and of the descents, then those of the smallest run. Firmware
//! must produce the same.

use dst_models::airframe;
use dst_models::checks;
use dst_models::descents;
use dst_models::smallest::{Report, Room, run};
use dst_models::ticks;

fn main() {
    for check in checks::SINGLE.iter().chain(checks::DOUBLE) {
        println!("{} {} {}", check.name, check.scalar, check.run());
    }
    let mut room = ticks::Room::new();
    let mut reports = [ticks::Report::EMPTY; 2];
    let [safety, hover] = &mut reports;
    ticks::safety(&mut room, safety, |_| {});
    ticks::hover(&mut room, hover, |_| {});
    for (name, report) in ["safety_filter", "quadrotor"].iter().zip(reports) {
        let words = report.words().map(|word| format!("{word:08x}"));
        println!("ticks {name} {}", words.join(" "));
    }
    let few = descents::run(&mut descents::new::<4>(), |_| {});
    let many = descents::run(&mut descents::new::<14>(), |_| {});
    for report in [few, many] {
        let words = report.words().map(|word| format!("{word:08x}"));
        println!("descent {}", words.join(" "));
    }
    let (theta, x) = (airframe::THETA, airframe::X);
    let mut scratch = [0.0; 5 * airframe::TRACE + 21];
    let digests = [
        airframe::plain(&theta, &x),
        airframe::dual(&theta, &x),
        airframe::traced(&theta, &x, &mut scratch),
    ];
    let words = digests.map(|word| format!("{word:08x}"));
    println!("formula {}", words.join(" "));
    let mut report = Report::EMPTY;
    run(&mut Room::new(), &mut report, || {});
    print!("smallest");
    for word in report.words() {
        print!(" {word:08x}");
    }
    println!();
}
