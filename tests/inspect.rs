//! What `inspect` lists is what NVIDIA's `cuobjdump` lists: kinds, architectures and counts.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{PRODUCERS, cudalink, fetch, fixture};

const CUOBJDUMP: &str = "13.5.37";

/// Kind and architecture of every image, sorted: the two tools go through a file's sections in different orders.
type Listing = Vec<(String, String)>;

fn cuobjdump() -> PathBuf {
    fetch("cuobjdump", CUOBJDUMP).join("nvidia/cu13/bin/cuobjdump")
}

/// cuobjdump prints a heading and an architecture for each image.
fn theirs(file: &Path) -> Listing {
    let printed = Command::new(cuobjdump()).arg("-all").arg(file).output().unwrap();
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let mut listing = Vec::new();
    let mut kind = None;
    for line in printed.lines() {
        if let Some(name) = line.strip_prefix("Fatbin ").and_then(|rest| rest.strip_suffix(" code:")) {
            kind = Some(name.to_owned());
        }
        if let (Some(arch), Some(name)) = (line.strip_prefix("arch = sm_"), &kind) {
            listing.push((name.clone(), arch.to_owned()));
            kind = None;
        }
    }
    listing.sort();
    listing
}

fn ours(file: &Path) -> Listing {
    let (report, _) = support::json(cudalink().args(["inspect", "--json"]).arg(file));
    let parts = report["inputs"][0]["parts"].as_array().unwrap_or_else(|| panic!("{report}"));
    let mut listing: Listing = parts
        .iter()
        .filter_map(|part| {
            let kind = match part["kind"].as_str().unwrap() {
                "cubin" => "elf",
                "ptx" | "relocatable ptx" => "ptx",
                "ltoir" => "nvvm",
                _ => return None,
            };
            let (_, arch) = part["arch"].as_str().unwrap().split_once('_').unwrap();
            Some((kind.to_owned(), arch.to_owned()))
        })
        .collect();
    listing.sort();
    listing
}

fn compare(file: &Path) -> usize {
    let (theirs, ours) = (theirs(file), ours(file));
    assert!(theirs == ours, "{}: cuobjdump lists {}, inspect {}:\n{theirs:?}\n{ours:?}", file.display(), theirs.len(), ours.len());
    ours.len()
}

#[test]
fn fixtures_of_five_releases_are_listed_as_cuobjdump_does() {
    let mut images = 0;
    for folder in PRODUCERS.iter().chain(&["wide"]) {
        for entry in fs::read_dir(fixture(folder)).unwrap() {
            let file = entry.unwrap().path();
            if matches!(file.extension().and_then(|ending| ending.to_str()), Some("fatbin" | "o" | "a")) {
                images += compare(&file);
            }
        }
    }
    assert!(images > 100, "only {images} images were compared");
}

#[test]
fn real_libraries_are_listed_as_cuobjdump_does() {
    for version in ["12.9.79", "13.0.88", "13.5.37"] {
        let files: Vec<PathBuf> = ["libcudadevrt.a", "libcudart_static.a"]
            .iter()
            .map(|name| {
                let folder = fetch("runtime", version);
                let candidates = ["nvidia/cu13/lib", "nvidia/cuda_runtime/lib"].map(|lib| folder.join(lib).join(name));
                candidates.into_iter().find(|file| file.exists()).unwrap_or_else(|| panic!("{version} has no {name}"))
            })
            .collect();
        assert!(compare(&files[0]) > 0, "libcudadevrt.a {version} has device code");
        assert_eq!(compare(&files[1]), 0, "libcudart_static.a {version} has none");
    }
}

/// cuobjdump reads no Windows library, so it is given each fatbin that is in one.
#[test]
fn a_windows_library_is_listed_fatbin_by_fatbin() {
    let file = fetch("runtime-windows", "13.0.88").join("nvidia/cu13/lib/x64/cudadevrt.lib");
    let bytes = fs::read(&file).unwrap();
    let facts = cudalink::input::examine(&bytes, &mut |_| None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut theirs_in_all = Vec::new();
    for container in &facts.containers {
        let fatbin = folder.path().join("one.fatbin");
        fs::write(&fatbin, facts.container_bytes(&bytes, container).unwrap()).unwrap();
        theirs_in_all.extend(theirs(&fatbin));
    }
    theirs_in_all.sort();
    assert!(!theirs_in_all.is_empty());
    assert_eq!(theirs_in_all, ours(&file));
}

#[test]
#[ignore = "fetches 2 GB and takes minutes: cargo test --test inspect -- --ignored"]
fn the_largest_libraries_are_listed_as_cuobjdump_does() {
    for (package, version, file) in [
        ("nvshmem", "3.8.0", "nvidia/nvshmem/lib/libnvshmem_device.a"),
        ("cuvs", "26.10.0", "libcuvs/lib64/libcuvs.so"),
        ("cudf", "26.10.2", "libcudf/lib64/libcudf.so"),
    ] {
        let path = fetch(package, version).join(file);
        let images = compare(&path);
        // Nor is any of it taken for damaged.
        let bytes = fs::read(&path).unwrap();
        let facts = cudalink::input::examine(&bytes, &mut |_| None).unwrap();
        for part in &facts.parts {
            facts.look_inside(&bytes, part).unwrap_or_else(|problem| panic!("{file}: {problem}"));
        }
        println!("{file}: {images} images");
    }
}
