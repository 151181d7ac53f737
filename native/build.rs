//! Linker flags of an addon.

fn main() {
    napi_build::setup();
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") {
        // When a worker ends, the addon must not be unmapped while threads of its pool still run.
        println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    }
    if is("CARGO_CFG_TARGET_OS", "windows") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        // zig leaves out the list that rustc passes, and a library may export 65,535 symbols.
        let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo::rustc-link-arg-cdylib={folder}/exports.def");
    }
}
