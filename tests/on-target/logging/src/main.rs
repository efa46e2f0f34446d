#![no_std]
#![no_main]
board::entry!(main);
board::report_panics!();
fn main() -> u32 {
    0
}
