//! Two network namespaces as two hosts: the ranks of a training talk over TCP, and the bits are the same.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{Bed, Files, STEPS, TRAINING, files, same, system, wait, words};

/// Two namespaces with a cable between them, until it is dropped.
struct Hosts([String; 2]);

/// Addresses of the two.
const ADDRESSES: [&str; 2] = ["10.213.77.1", "10.213.77.2"];

impl Hosts {
    fn new() -> Result<Self, String> {
        let hosts = Self([1, 2].map(|host| format!("dst-{}-{host}", std::process::id())));
        for host in &hosts.0 {
            system(&format!("ip netns add {host}"))?;
            system(&format!("ip -n {host} link set lo up"))?;
        }
        let [a, b] = &hosts.0;
        system(&format!(
            "ip link add cable netns {a} type veth peer name cable netns {b}"
        ))?;
        for (host, address) in hosts.0.iter().zip(ADDRESSES) {
            system(&format!("ip -n {host} addr add {address}/24 dev cable"))?;
            system(&format!("ip -n {host} link set cable up"))?;
        }
        Ok(hosts)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in &self.0 {
            let _ = system(&format!("ip netns del {host}"));
        }
    }
}

/// Runs the training on three ranks of two hosts; the note says if the machine does not permit it.
pub(super) fn run(bed: &Bed, reference: &Files) -> Result<String, String> {
    let hosts = match Hosts::new() {
        Ok(hosts) => hosts,
        Err(reason) => {
            eprintln!("ranks: no namespaces: {reason}");
            return Ok("not run (no network namespaces here)".to_owned());
        }
    };
    let place = bed.place("hosts")?;
    // In place of ssh: its last words are a command for the other host.
    let agent = bed.folder.join("agent.sh");
    let script = format!(
        "#!/bin/sh\nshift\nexec ip netns exec {} sh -c \"$*\"\n",
        hosts.0[1]
    );
    fs::write(&agent, script).map_err(|e| e.to_string())?;
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).map_err(|e| e.to_string())?;
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", &hosts.0[0]])
        .args(["mpirun", "--allow-run-as-root", "-n", "3"])
        .args(["--host", &format!("{}:2,{}:1", ADDRESSES[0], ADDRESSES[1])])
        .args(["--mca", "plm_rsh_agent"])
        .arg(&agent)
        .args(["--mca", "btl", "self,tcp"])
        .args(["--mca", "btl_tcp_if_include", "cable"])
        // The addresses that the system gives to a new cable are not yet valid.
        .args(["--mca", "btl_tcp_disable_family", "6"])
        .args(["--mca", "oob_tcp_if_include", "cable"])
        .args(["--bind-to", "none"])
        .arg(&bed.with)
        .args(TRAINING.split(' ').chain(STEPS.split(' ')))
        .args(["--threads", "1", "--out"])
        .arg(place.join("net.safetensors"))
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let output = wait(&mut command)?;
    if !output.status.success() {
        return Err(format!("three ranks on two hosts: {}", words(&output)));
    }
    same(reference, &files(&place)?, "three ranks on two hosts")?;
    Ok("same bits".to_owned())
}
