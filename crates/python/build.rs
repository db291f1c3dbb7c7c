//! Passes the Python version that the crate is built for to the compiler.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
}
