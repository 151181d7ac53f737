//! The binding of `getSystemInfo` and of the loader's processor check.

use napi_derive::napi;
use sinew::system;

/// Facts about the machine.
#[napi(object)]
pub(crate) struct SystemFacts {
    pub platform: String,
    pub arch: String,
    pub os_version: String,
    pub kernel_version: String,
    pub host_name: String,
    pub cpu_brand: String,
    pub logical_cores: u32,
    pub physical_cores: u32,
    pub total_memory: f64,
    pub available_memory: f64,
}

impl From<system::SystemInfo> for SystemFacts {
    fn from(info: system::SystemInfo) -> SystemFacts {
        let system::SystemInfo {
            platform,
            arch,
            os_version,
            kernel_version,
            host_name,
            cpu_brand,
            logical_cores,
            physical_cores,
            total_memory,
            available_memory,
        } = info;
        SystemFacts {
            platform,
            arch,
            os_version,
            kernel_version,
            host_name,
            cpu_brand,
            logical_cores,
            physical_cores,
            total_memory: total_memory as f64,
            available_memory: available_memory as f64,
        }
    }
}

/// Returns facts about the machine.
#[napi]
pub(crate) fn get_system_info() -> SystemFacts {
    system::system_info().into()
}

/// Returns true if the processor supports all of x86-64-v3.
#[napi]
pub(crate) fn cpu_supports_modern() -> bool {
    system::cpu_supports_modern()
}
