//! The emulated boards.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::elf::Elf;
use crate::toolchain::{QEMU_ARM, QEMU_RISCV, Tool, ensure};

/// A target with the machine that runs it.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    /// The core, as it is called in summaries.
    pub(crate) core: &'static str,
    /// The target triple.
    pub(crate) target: &'static str,
    emulator: &'static str,
    tool: Tool,
    arguments: &'static [&'static str],
}

/// Programs in C are linked for it.
pub(crate) const CORTEX_M0: Machine = Machine {
    core: "Cortex-M0",
    target: "thumbv6m-none-eabi",
    emulator: "qemu-system-arm",
    tool: QEMU_ARM,
    arguments: &["-cpu", "cortex-m0", "-machine", "microbit"],
};

/// Programs in C run on it, too.
pub(crate) const CORTEX_M4F: Machine = Machine {
    core: "Cortex-M4F",
    target: "thumbv7em-none-eabihf",
    emulator: "qemu-system-arm",
    tool: QEMU_ARM,
    arguments: &["-cpu", "cortex-m4", "-machine", "mps2-an386"],
};

/// Programs in C are linked for it, and run on it in the comparison.
pub(crate) const CORTEX_M33: Machine = Machine {
    core: "Cortex-M33",
    target: "thumbv8m.main-none-eabihf",
    emulator: "qemu-system-arm",
    tool: QEMU_ARM,
    arguments: &["-cpu", "cortex-m33", "-machine", "mps2-an505"],
};

/// Programs in C run on it, too.
pub(crate) const RV32IMAC: Machine = Machine {
    core: "RV32IMAC",
    target: "riscv32imac-unknown-none-elf",
    emulator: "qemu-system-riscv32",
    tool: QEMU_RISCV,
    arguments: &["-machine", "virt", "-bios", "none"],
};

/// All of them; memory maps are in `tests/on-target/memory`.
pub(crate) const TARGETS: [Machine; 4] = [CORTEX_M0, CORTEX_M4F, CORTEX_M33, RV32IMAC];

/// Firmware that hangs is ended after this; the slowest needs a few seconds.
const PATIENCE: Duration = Duration::from_secs(120);

impl Machine {
    /// True if it has a floating-point unit. The tuned controllers run only on those.
    pub(crate) fn has_fpu(&self) -> bool {
        self.target.ends_with("eabihf")
    }

    /// Makes sure that the emulator is there.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        ensure(&[self.tool])
    }

    /// Runs a program to its end, however it ends.
    pub(crate) fn run(&self, program: &Path) -> Result<Output, String> {
        self.run_command(program, self.command(program))
    }

    /// The same with a clock that advances by 64 ns per instruction, so that the timer of the board counts instructions.
    pub(crate) fn run_by_instructions(&self, program: &Path) -> Result<Output, String> {
        let mut command = self.command(program);
        command.args(["-icount", "shift=6"]);
        self.run_command(program, command)
    }

    fn run_command(&self, program: &Path, mut command: Command) -> Result<Output, String> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| self.complain(program, &e))?;
        // The output is read by others, or a full pipe would hold the emulator up for ever.
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let [out, err] = [out.map(drain), err.map(drain)];
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| self.complain(program, &e))? {
                break status;
            }
            if start.elapsed() > PATIENCE {
                let _ = child.kill();
                let _ = child.wait();
                let seconds = PATIENCE.as_secs();
                return Err(self.complain(program, &format!("no end after {seconds} s")));
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = [out, err].map(|reader| {
            let bytes = reader.and_then(|thread| thread.join().ok());
            bytes.unwrap_or_default()
        });
        Ok(Output {
            status,
            stdout,
            stderr,
        })
    }

    /// Instructions that a program executes from each of these symbols to the next.
    pub(crate) fn count(&self, program: &Path, marks: &[&str]) -> Result<Vec<u64>, String> {
        let marks = addresses(program, marks)?;
        let mut passed = Vec::new();
        self.follow(program, |address, instructions| {
            if marks.get(passed.len()) == Some(&address) {
                passed.push(instructions);
            }
        })?;
        if passed.len() < marks.len() {
            return Err(self.complain(program, &"does not pass its marks"));
        }
        Ok(passed.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    /// Instructions from every passage of the first symbol of a pair to the next of the second.
    pub(crate) fn count_each(
        &self,
        program: &Path,
        pairs: &[[&str; 2]],
    ) -> Result<Vec<Vec<u64>>, String> {
        let marks = addresses(program, pairs.as_flattened())?;
        let mut begun = vec![None; pairs.len()];
        let mut counts = vec![Vec::new(); pairs.len()];
        self.follow(program, |address, instructions| {
            let Some(mark) = marks.iter().position(|mark| *mark == address) else {
                return;
            };
            match (mark % 2, begun[mark / 2].take()) {
                (0, _) => begun[mark / 2] = Some(instructions),
                (_, Some(start)) => counts[mark / 2].push(instructions - start),
                _ => {}
            }
        })?;
        if counts.iter().any(Vec::is_empty) {
            return Err(self.complain(program, &"does not pass its marks"));
        }
        Ok(counts)
    }

    /// Calls `see` with the address of every instruction and the number of those before it.
    ///
    /// The emulator translates one instruction at a time and logs each; exact, and the same on every
    /// instruction set. Counts, not cycles: the emulator knows nothing of pipelines and wait states.
    fn follow(&self, program: &Path, mut see: impl FnMut(u64, u64)) -> Result<(), String> {
        let mut command = self.command(program);
        command.args(["-d", "exec,nochain"]);
        if self.version()? >= (8, 1) {
            command.args(["-accel", "tcg,one-insn-per-tb=on"]);
        } else {
            command.arg("-singlestep");
        }
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| self.complain(program, &e))?;
        let mut instructions = 0;
        let mut log = child.stderr.take().map(BufReader::new);
        let mut line = Vec::new();
        while let Some(log) = &mut log {
            line.clear();
            let read = log.read_until(b'\n', &mut line);
            if read.map_err(|e| self.complain(program, &e))? == 0 {
                break;
            }
            if let Some(address) = std::str::from_utf8(&line).ok().and_then(executed) {
                see(address, instructions);
                instructions += 1;
            }
        }
        child.wait().map_err(|e| self.complain(program, &e))?;
        Ok(())
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(self.emulator);
        command
            .args(self.arguments)
            .args(["-nographic", "-semihosting-config"])
            .args(["enable=on,target=native", "-kernel"])
            .arg(program)
            .stdin(Stdio::null());
        command
    }

    /// (major, minor)
    fn version(&self) -> Result<(u32, u32), String> {
        let output = Command::new(self.emulator)
            .arg("--version")
            .output()
            .map_err(|e| format!("{}: {e}", self.emulator))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = text
            .split_whitespace()
            .skip_while(|w| *w != "version")
            .nth(1);
        let mut parts = number.unwrap_or_default().split('.').map(str::parse);
        match (parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
            _ => Err(format!("{}: which version? {text}", self.emulator)),
        }
    }

    fn complain(&self, program: &Path, what: &dyn std::fmt::Display) -> String {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        format!("{name} on {} ({}): {what}", self.core, self.target)
    }
}

/// Addresses of these symbols, without the Thumb bit.
fn addresses(program: &Path, marks: &[&str]) -> Result<Vec<u64>, String> {
    let elf = Elf::read(program)?;
    let address = |mark: &&str| elf.address(mark).map(|address| address & !1);
    marks.iter().map(address).collect()
}

/// The address in a line of the log: `Trace 0: 0x7f9a98000100 [00800408/00000400/00000110/ff000201] Reset`
fn executed(line: &str) -> Option<u64> {
    let fields = line.strip_prefix("Trace ")?.split_once('[')?.1;
    u64::from_str_radix(fields.split('/').nth(1)?, 16).ok()
}

fn drain(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What cannot be read is missed by those who look at the output.
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

#[cfg(test)]
mod tests {
    use super::executed;

    #[test]
    fn a_line_of_the_log() {
        let line = "Trace 0: 0x7f9a98000100 [00800408/00000400/00000110/ff000201] Reset";
        assert_eq!(executed(line), Some(0x400));
        assert_eq!(executed("qemu: something else [1/2]"), None);
    }
}
