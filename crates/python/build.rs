//! Passes the Python version that the crate is built for to the compiler, and the level of optimisation to the crate.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-check-cfg=cfg(optimised)");
    if !matches!(level.as_str(), "" | "0" | "1") {
        println!("cargo::rustc-cfg=optimised");
    }
}
