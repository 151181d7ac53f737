//! Facts about the machine: system, processor and memory for a bug report, and whether it supports the AVX2 build.
//!
//! ```
//! let info = sinew_system::system_info();
//! assert!(info.logical_cores >= 1 && info.total_memory >= info.available_memory);
//! ```
//!
//! Facts are read from `/proc` on Linux and with the `sysinfo` crate elsewhere (not yet tested there). An unknown fact
//! is an empty text or 0, never an error.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
use linux as sys;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as sys;

/// The facts that [`system_info`] returns. An unknown fact is an empty text or 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemInfo {
    /// The family of the system, named as in Node: `linux`, `darwin`, `win32`.
    pub platform: String,
    /// The family of the processor, named as in Node: `x64`, `arm64`.
    pub arch: String,
    /// The name and version of the system, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os_version: String,
    /// The version of the kernel.
    pub kernel_version: String,
    /// The name of the machine in the network.
    pub host_name: String,
    /// The name of the processor.
    pub cpu_brand: String,
    /// The number of hardware threads.
    pub logical_cores: u32,
    /// The number of cores.
    pub physical_cores: u32,
    /// The total memory in bytes.
    pub total_memory: u64,
    /// The memory in bytes that is available without swapping.
    pub available_memory: u64,
}

/// Returns facts about the machine. Needs about a millisecond.
#[must_use]
pub fn system_info() -> SystemInfo {
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "x86" => "ia32",
        other => other,
    };
    SystemInfo { platform: platform.to_string(), arch: arch.to_string(), ..sys::facts() }
}

/// Returns true if the processor and the system support all of x86-64-v3, including AVX2. Returns false on other
/// architectures.
#[must_use]
pub fn cpu_supports_modern() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // The macro also checks whether the system saves the wide registers.
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("avx")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("movbe")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn facts_match_the_output_of_system_programs() {
        let info = system_info();
        let output = |program: &str, argument: &str| {
            let output = std::process::Command::new(program).arg(argument).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_string()
        };
        assert_eq!(info.platform, "linux");
        assert_eq!(info.kernel_version, output("uname", "-r"));
        assert_eq!(info.host_name, output("uname", "-n"));
        let all: u32 = output("getconf", "_NPROCESSORS_ONLN").parse().unwrap();
        assert_eq!(info.logical_cores, all);
        assert!((1..=all).contains(&info.physical_cores), "{info:?}");
        assert!(info.total_memory >= info.available_memory && info.available_memory > 0, "{info:?}");
        assert!(!info.os_version.is_empty() && !info.cpu_brand.is_empty(), "{info:?}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_fast_build_needs_every_feature_of_the_level() {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let flags: Vec<&str> = info.lines().find(|line| line.starts_with("flags")).unwrap().split(' ').collect();
        let needed = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"];
        assert_eq!(cpu_supports_modern(), needed.iter().all(|flag| flags.contains(flag)));
    }
}
