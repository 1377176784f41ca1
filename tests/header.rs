//! The committed header is the generated one.

use std::path::Path;

const HEADER: &str = "include/cudalink.h";

#[test]
fn the_committed_header_equals_the_generated_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let mut generated = Vec::new();
    cbindgen::generate_with_config(root, config).unwrap().write(&mut generated);
    let generated = String::from_utf8(generated).unwrap();
    if std::env::var_os("CUDALINK_BLESS").is_some() {
        std::fs::write(root.join(HEADER), &generated).unwrap();
    }
    let committed = std::fs::read_to_string(root.join(HEADER)).unwrap();
    assert!(committed == generated, "{HEADER} is not what cbindgen makes of src/capi; CUDALINK_BLESS=1 cargo test --test header writes it");
}

#[test]
fn the_header_defines_only_names_of_ours() {
    let header = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER)).unwrap();
    let foreign =
        |line: &&str| line.strip_prefix("#define ").is_some_and(|name| !name.starts_with("CL_") && !name.starts_with("CUDALINK_"));
    assert_eq!(header.lines().find(foreign), None);
}
