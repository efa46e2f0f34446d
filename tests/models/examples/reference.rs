//! What the host finds: the lines of every check, then the words of the smallest run. Firmware must find the same.

use dst_models::checks;
use dst_models::smallest::{Report, Room, run};

fn main() {
    for check in checks::SINGLE.iter().chain(checks::DOUBLE) {
        println!("{} {} {}", check.name, check.scalar, check.run());
    }
    let mut report = Report::EMPTY;
    run(&mut Room::new(), &mut report, || {});
    print!("smallest");
    for word in report.words() {
        print!(" {word:08x}");
    }
    println!();
}
