//! Every check in single precision.

#![no_std]
#![no_main]

use dst_models::checks;

board::entry!(main);
board::report_panics!();

fn main() -> u32 {
    suite::run(checks::SINGLE)
}
