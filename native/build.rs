//! Linker flags of an addon.

fn main() {
    napi_build::setup();
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // A worker that ends would unmap the addon under the threads of its pool.
        println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    }
}
