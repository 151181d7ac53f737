//! The facts on macOS and Windows, from the `sysinfo` crate. Tested under wine; only compiled for macOS.

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::SystemInfo;

/// Returns the version as Node's `os.release()`. For Windows, the library returns only the build, and 10 and 11 share a
/// version.
fn kernel_version() -> String {
    let version = System::kernel_version().unwrap_or_default();
    if cfg!(windows) && !version.contains('.') { format!("10.0.{version}") } else { version }
}

pub(crate) fn facts() -> SystemInfo {
    let wanted =
        RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(wanted);
    let logical = system.cpus().len() as u32;
    SystemInfo {
        os_version: System::long_os_version().unwrap_or_default(),
        kernel_version: kernel_version(),
        host_name: System::host_name().unwrap_or_default(),
        cpu_brand: system.cpus().first().map_or(String::new(), |cpu| cpu.brand().trim().to_string()),
        logical_cores: logical,
        physical_cores: System::physical_core_count().map_or(logical, |count| count as u32),
        total_memory: system.total_memory(),
        available_memory: system.available_memory(),
        ..SystemInfo::default()
    }
}
