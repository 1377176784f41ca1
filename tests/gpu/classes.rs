//! One mistake has one class, whoever links.

use cudalink::{OutputKind, ResultClass};

use super::device::Gpu;
use super::link::{By, Unit, broken_ptx, cubin, link, nvjitlinks, ptx, unit};
use super::none;

#[test]
#[ignore = "needs a GPU"]
fn a_mistake_has_one_class_from_every_backend() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let flags: &[&str] = &[&arch];
    let [kernel, helper] = ["12.0/kernel.ptx", "12.0/helper.ptx"].map(unit);
    let again = Unit { name: "again.ptx".to_owned(), ..helper.clone() };
    let named = |name: &str, bytes: &[u8]| Unit { name: name.to_owned(), bytes: bytes.to_vec() };
    // Made by a library that every backend here can read: the driver, and what is of its release.
    let maker = nvjitlinks().into_iter().find(|by| by.version().0 == 13).expect("there is no nvJitLink 13");
    let relocatable = cubin(&maker, &[&arch, "-r"], std::slice::from_ref(&kernel));
    let finished = named("finished.cubin", &cubin(&maker, flags, &[kernel.clone(), helper.clone()]));
    let half = named("half.cubin", &relocatable[..relocatable.len() / 2]);
    let kernel_cubin = named("kernel.cubin", &relocatable);
    let too_new = ptx("too_new.ptx", "99.9", ".visible .entry kernel() { ret; }");
    let wrong_type = ptx("type.ptx", "8.0", ".visible .entry kernel() { .reg .f32 %f; add.s32 %f, %f, 1; ret; }");
    let for_newer = named("newer.ptx", b".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry kernel() { ret; }\n");
    let cases: &[(&str, ResultClass, &[&str], Vec<Unit>)] = &[
        ("nothing", ResultClass::NoInputs, flags, vec![]),
        ("defined twice, PTX", ResultClass::DuplicateSymbol, flags, vec![kernel.clone(), helper.clone(), again.clone()]),
        ("defined nowhere, PTX", ResultClass::UnresolvedSymbol, flags, vec![kernel.clone()]),
        ("defined nowhere, cubin", ResultClass::UnresolvedSymbol, flags, vec![kernel_cubin.clone()]),
        ("defined twice, cubin", ResultClass::DuplicateSymbol, flags, vec![kernel_cubin.clone(), kernel.clone(), helper.clone()]),
        ("PTX of the future", ResultClass::InputTooNew, flags, vec![too_new]),
        ("no device code at all", ResultClass::UnrecognizedInput, flags, vec![named("text", b"hello")]),
        ("an instruction that is none", ResultClass::CompileFailed, flags, vec![broken_ptx()]),
        ("an operand of a wrong type", ResultClass::CompileFailed, flags, vec![wrong_type]),
        ("a cubin for another architecture", ResultClass::ArchMismatch, flags, vec![unit("12.0/kernel.cubin"), helper.clone()]),
        ("PTX for one architecture alone", ResultClass::ArchMismatch, flags, vec![for_newer]),
        ("a finished cubin and more", ResultClass::NotRelocatable, flags, vec![finished, helper.clone()]),
        ("half a cubin", ResultClass::BadInput, flags, vec![half, helper.clone()]),
        ("half a fatbin", ResultClass::BadInput, flags, vec![named("half.fatbin", &unit("12.0/kernel.fatbin").bytes[..100])]),
        ("no device code in an object", ResultClass::NoDeviceCode, flags, vec![unit("wide/host_only.o")]),
        ("an architecture that is none yet", ResultClass::UnsupportedArch, &["-arch=sm_999"], vec![kernel.clone(), helper.clone()]),
        ("no architecture", ResultClass::MissingArch, &[], vec![kernel.clone(), helper.clone()]),
        ("options that exclude each other", ResultClass::IncompatibleOptions, &[&arch, "-g", "-O3"], vec![kernel, helper]),
    ];
    let mut findings = Vec::new();
    for by in nvjitlinks().into_iter().filter(|by| by.version() >= maker.version()).chain([By::Driver]) {
        for (what, expected, flags, units) in cases {
            let (linker, result) = link(&by, flags, OutputKind::Cubin, units);
            let class = result.as_ref().map_or_else(|error| error.class(), |()| ResultClass::Ok);
            if class != *expected {
                let message = result.err().map_or(String::new(), |error| error.to_string());
                findings.push(format!(
                    "{what} by {by}: {} instead of {}: {message} ({:?})",
                    class.name(),
                    expected.name(),
                    linker.logs().error
                ));
            }
        }
    }
    none(&findings);
}

/// What CUDA 13.5 made is too new for a driver of an earlier release, and the message names both.
#[test]
#[ignore = "needs a GPU"]
fn what_is_too_new_for_the_driver_is_told_with_both_releases() {
    let gpu = Gpu::first();
    let (major, minor) = gpu.driver_version();
    if (major, minor) >= (13, 5) {
        eprintln!("nothing is asked: the driver is of CUDA {major}.{minor}, which reads every fixture");
        return;
    }
    for file in ["13.5/kernel.ptx", "13.5/kernel.fatbin", "13.5/kernel.zip.fatbin", "13.5/kernel.o"] {
        let arch = format!("-arch={}", gpu.arch());
        let error = link(&By::Driver, &[&arch], OutputKind::Cubin, &[unit(file)]).1.unwrap_err();
        assert_eq!(error.class(), ResultClass::InputTooNew, "{file}: {error}");
        let message = error.to_string();
        assert!(message.contains("13.5") && message.contains(&format!("{major}.{minor}")) && message.contains(file), "{message}");
    }
}
