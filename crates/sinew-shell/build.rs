//! Links the supervisor so that it starts fast, because it is started for every command: it has a fixed address and
//! therefore no relocations, functions are looked up when they are called, and the unwinder is linked statically.
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if !std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        return;
    }
    println!("cargo::rustc-link-arg-bin=sinew-shell-host=-no-pie");
    println!("cargo::rustc-link-arg-bin=sinew-shell-host=-Wl,-z,lazy");
    if let Some(unwinder) = static_unwinder()
        && let Ok(out) = std::env::var("OUT_DIR")
        // The linker reads this file instead of the shared library.
        && std::fs::write(Path::new(&out).join("libgcc_s.so"), format!("INPUT({} -lgcc)\n", unwinder.display())).is_ok()
    {
        println!("cargo::rustc-link-arg-bin=sinew-shell-host=-L{out}");
    }
}

/// Returns the static unwinder of the system's compiler. A linker that the user chose, for example for another system,
/// brings its own.
fn static_unwinder() -> Option<PathBuf> {
    let gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let native = std::env::var_os("HOST") == std::env::var_os("TARGET");
    if !gnu || !native || std::env::var_os("RUSTC_LINKER").is_some() {
        return None;
    }
    let answer = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
    path.is_absolute().then_some(path).filter(|path| path.is_file())
}
