//! Reads the facts from `/proc` on Linux.

use std::collections::HashSet;
use std::fs::read_to_string;

use crate::SystemInfo;

pub(crate) fn facts() -> SystemInfo {
    // The facts of a missing file stay unknown.
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let (release, cpus, memory) = (text("/etc/os-release"), text("/proc/cpuinfo"), text("/proc/meminfo"));
    let name = rustix::system::uname();
    let logical = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let (logical, physical) = cores(&cpus).unwrap_or((logical, logical));
    SystemInfo {
        os_version: pretty_name(&release).unwrap_or_default(),
        kernel_version: name.release().to_string_lossy().into_owned(),
        host_name: name.nodename().to_string_lossy().into_owned(),
        cpu_brand: brand(&cpus).unwrap_or_else(|| name.machine().to_string_lossy().into_owned()),
        logical_cores: logical,
        physical_cores: physical,
        total_memory: bytes(&memory, "MemTotal").unwrap_or(0),
        available_memory: bytes(&memory, "MemAvailable").or_else(|| bytes(&memory, "MemFree")).unwrap_or(0),
        ..SystemInfo::default()
    }
}

/// Returns `PRETTY_NAME` of os-release, with its quotes and escapes removed; `None` if it is missing.
fn pretty_name(release: &str) -> Option<String> {
    let value = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let quote = value.chars().next().filter(|first| matches!(first, '"' | '\''));
    let inner = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(value);
    let mut name = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        name.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    Some(name)
}

/// Returns `(logical, physical)`; a processor without a core number counts as one core.
fn cores(cpus: &str) -> Option<(u32, u32)> {
    let blocks: Vec<&str> = cpus.split("\n\n").filter(|block| field(block, "processor").is_some()).collect();
    let core = |block: &&str| Some((field(block, "physical id")?.to_string(), field(block, "core id")?.to_string()));
    let physical: Option<HashSet<_>> = blocks.iter().map(core).collect();
    let logical = u32::try_from(blocks.len()).ok().filter(|count| *count > 0)?;
    Some((logical, physical.map_or(logical, |set| set.len() as u32)))
}

/// Returns the name of the processor; on ARM, the name of the board.
fn brand(cpus: &str) -> Option<String> {
    ["model name", "Model", "Hardware", "cpu model"].iter().find_map(|key| field(cpus, key)).map(str::to_string)
}

fn field<'a>(block: &'a str, key: &str) -> Option<&'a str> {
    block.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then_some(value.trim())
    })
}

fn bytes(memory: &str, key: &str) -> Option<u64> {
    let kib: u64 = field(memory, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_core_count_as_one_core() {
        let cpu = |n: u32, socket: u32, core: u32| {
            format!(
                "processor\t: {n}\nmodel name\t: Some CPU @ 2.00GHz\nphysical id\t: {socket}\ncore id\t\t: {core}\n"
            )
        };
        let text = [cpu(0, 0, 0), cpu(1, 0, 1), cpu(2, 0, 0), cpu(3, 1, 0)].join("\n");
        assert_eq!((cores(&text), brand(&text).as_deref()), (Some((4, 3)), Some("Some CPU @ 2.00GHz")));
    }

    #[test]
    fn a_board_with_little_information_has_a_name_and_cores() {
        let text = "processor\t: 0\nBogoMIPS\t: 108\n\nprocessor\t: 1\n\nModel\t\t: Raspberry Pi 4\n";
        assert_eq!((cores(text), brand(text).as_deref()), (Some((2, 2)), Some("Raspberry Pi 4")));
        assert_eq!((cores(""), brand("")), (None, None));
    }

    #[test]
    fn names_are_unquoted_and_sizes_are_in_bytes() {
        assert_eq!(pretty_name("A=1\nPRETTY_NAME=\"Some \\\"OS\\\" 12\"\n").as_deref(), Some("Some \"OS\" 12"));
        assert_eq!(pretty_name("PRETTY_NAME='x'").as_deref(), Some("x"));
        assert_eq!(pretty_name("PRETTY_NAME=plain").as_deref(), Some("plain"));
        assert_eq!(pretty_name("PRETTY_NAME=\"").as_deref(), Some("\""));
        assert_eq!(bytes("MemTotal:  2 kB\n", "MemTotal"), Some(2048));
        assert_eq!(bytes("MemTotal: x kB\n", "MemTotal"), None);
    }
}
