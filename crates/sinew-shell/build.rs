//! The companion is started for every command, so it starts fast: at a fixed address there is nothing to relocate.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg-bin=sinew-shell-host=-no-pie");
    }
}
