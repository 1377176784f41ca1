//! What is linked runs, and the CUDA driver links what nvJitLink links.
//!
//! The tests that need a GPU are ignored unless they are asked for (`cargo test --test gpu -- --include-ignored`), so that a count of tests
//! says which did not run; asked for where there is none, they fail and say why. `run-elsewhere` runs them on a machine without Rust.
#![allow(unsafe_code)] // Kernels are launched.

#[path = "../support/mod.rs"]
mod support;

mod classes;
mod device;
mod link;
mod options;
mod programs;

use cudalink::{OutputKind, ResultClass};
use cudarc::driver::CudaContext;
use cudarc::driver::result::ctx;

use device::Gpu;
use link::{By, Unit, cubin, link, nvjitlinks, release_of, unit};
use support::PRODUCERS;

/// The fixtures' kernel, for some values.
fn runs(gpu: &Gpu, cubin: &[u8]) -> Result<(), String> {
    let module = gpu.load(cubin)?;
    let kernel = module.kernel("kernel")?;
    for value in [0, 1, 20, -7, i32::MAX, i32::MIN] {
        let (given, expected) = (kernel.answer(value)?, value.wrapping_mul(2).wrapping_add(1));
        if given != expected {
            return Err(format!("it gives {given} for {value}, not {expected}"));
        }
    }
    Ok(())
}

/// Fails with every finding at once: the machine with the GPU is far away.
fn none(findings: &[String]) {
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

/// Two units, as files of a producer's folder; `true` if they hold nothing but LTO-IR.
const FORMS: &[(&str, [&str; 2], bool)] = &[
    ("PTX", ["kernel.ptx", "helper.ptx"], false),
    ("fatbin", ["kernel.fatbin", "helper.fatbin"], false),
    ("compressed fatbin", ["kernel.zip.fatbin", "helper.zip.fatbin"], false),
    ("object", ["kernel.o", "helper.o"], false),
    ("archive", ["kernel.o", "libhelper.a"], false),
    ("object of PTX and LTO-IR", ["kernel.lto.o", "helper.lto.o"], false),
    ("archive of PTX and LTO-IR", ["kernel.lto.o", "libhelper.lto.a"], false),
    ("LTO-IR", ["kernel.ltoir", "helper.ltoir"], true),
    ("fatbin of LTO-IR", ["kernel.lto.fatbin", "helper.lto.fatbin"], true),
    ("PTX and LTO-IR", ["kernel.ptx", "helper.ltoir"], true),
];

/// Links and runs, or fails with the one class where the backend is older than what made the inputs.
fn links_and_runs(gpu: &Gpu, by: &By, producer: (u32, u32), only_ltoir: bool, flags: &[&str], units: &[Unit]) -> Result<(), String> {
    let expected = match by {
        By::Driver if only_ltoir => ResultClass::UnsupportedOption,
        _ if producer > by.version() => ResultClass::InputTooNew,
        _ => ResultClass::Ok,
    };
    let (linker, result) = link(by, flags, OutputKind::Cubin, units);
    let class = result.as_ref().map_or_else(|error| error.class(), |()| ResultClass::Ok);
    if class != expected {
        return Err(format!("{} instead of {}: {}", class.name(), expected.name(), result.err().map_or(String::new(), |e| e.to_string())));
    }
    if class != ResultClass::Ok {
        return Ok(());
    }
    let told = linker.plan().unwrap().decisions.iter().any(|decision| decision.rule == "newer_than_driver");
    let driver = gpu.driver_version();
    if told != (by.version().0 > driver.0) {
        return Err(format!("newer_than_driver is told ({told}) of {:?} over {driver:?}", by.version()));
    }
    runs(gpu, linker.output(OutputKind::Cubin).unwrap().bytes())
}

#[test]
#[ignore = "needs a GPU"]
fn every_form_of_every_producer_runs_from_every_backend() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let (mut findings, mut linked) = (Vec::new(), 0);
    for by in nvjitlinks().into_iter().chain([By::Driver]) {
        for name in PRODUCERS {
            for (form, files, only_ltoir) in FORMS {
                let units = files.map(|file| unit(&format!("{name}/{file}")));
                match links_and_runs(&gpu, &by, release_of(name), *only_ltoir, &[&arch], &units) {
                    Ok(()) => linked += 1,
                    Err(finding) => findings.push(format!("{form} of CUDA {name} by {by}: {finding}")),
                }
            }
        }
    }
    eprintln!("{linked} links are as expected");
    none(&findings);
}

/// The files of CUDA 13.0 that hold code for several architectures, this one's among them.
#[test]
#[ignore = "needs a GPU"]
fn the_fitting_image_of_many_runs_from_every_backend() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let mut findings = Vec::new();
    for by in nvjitlinks().into_iter().chain([By::Driver]) {
        for file in ["wide/multi.fatbin", "wide/multi.o"] {
            // nvJitLink 12.5 to 12.9 link cubins of CUDA 13, and would take the LTO-IR of the object first.
            let reads_it = matches!(by.version(), (12, 5..)) && file == "wide/multi.fatbin";
            let producer = if reads_it { by.version() } else { (13, 0) };
            if let Err(finding) = links_and_runs(&gpu, &by, producer, false, &[&arch], &[unit(file)]) {
                findings.push(format!("{file} by {by}: {finding}"));
            }
        }
    }
    none(&findings);
}

/// Cubins for this GPU, which no fixture has: each nvJitLink that can makes them of PTX.
#[test]
#[ignore = "needs a GPU"]
fn relocatable_cubins_run_from_every_backend() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let mut findings = Vec::new();
    for maker in nvjitlinks().into_iter().filter(|by| by.version() >= (13, 0)) {
        let units = ["kernel", "helper"].map(|name| {
            let ptx = unit(&format!("12.0/{name}.ptx"));
            Unit { name: format!("{name}.cubin"), bytes: cubin(&maker, &[&arch, "-r"], &[ptx]) }
        });
        for by in nvjitlinks().into_iter().chain([By::Driver]) {
            let producer = if matches!(by.version(), (12, 5..)) { by.version() } else { maker.version() };
            if let Err(finding) = links_and_runs(&gpu, &by, producer, false, &[&arch], &units) {
                findings.push(format!("cubins made by {maker}, by {by}: {finding}"));
            }
        }
    }
    none(&findings);
}

#[test]
#[ignore = "needs a GPU"]
fn an_architecture_with_a_suffix_runs_from_every_backend() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}a", gpu.arch());
    let mut findings = Vec::new();
    for by in nvjitlinks().into_iter().chain([By::Driver]) {
        for (form, files, only_ltoir) in FORMS {
            let units = files.map(|file| unit(&format!("12.0/{file}")));
            if let Err(finding) = links_and_runs(&gpu, &by, (12, 0), *only_ltoir, &[&arch], &units) {
                findings.push(format!("{form} by {by}: {finding}"));
            }
        }
    }
    none(&findings);
}

/// In two and in three stages, over LTO-IR and over relocatable cubins.
/// `Output` checks what the cubin is for. Driver 580 links for what its toolkit does not know any more, too.
#[test]
#[ignore = "needs a GPU"]
fn the_driver_links_for_other_devices_than_the_one_here() {
    let _gpu = Gpu::first();
    let cubins = [unit("12.0/kernel.cubin"), unit("12.0/helper.cubin")];
    assert!(!cubin(&By::Driver, &["-arch=sm_80"], &cubins).is_empty());
    let text = ".version 8.0\n.target sm_50\n.address_size 64\n.visible .entry kernel() { ret; }\n";
    let low = [Unit { name: "low.ptx".to_owned(), bytes: text.into() }];
    for arch in ["-arch=sm_50", "-arch=sm_70", "-arch=sm_80", "-arch=sm_86", "-arch=sm_100", "-arch=sm_100f", "-arch=sm_120a"] {
        assert!(!cubin(&By::Driver, &[arch], &low).is_empty(), "{arch}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn an_incremental_link_runs() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let libraries: Vec<By> = nvjitlinks().into_iter().filter(|by| by.version() >= (13, 4)).collect();
    assert!(!libraries.is_empty(), "there is no nvJitLink of 13.4 or later: run-elsewhere unpacks one");
    let mut findings = Vec::new();
    for by in &libraries {
        let stage = |name: &str, output: OutputKind, flags: &[&str], units: &[&Unit]| -> Result<Unit, String> {
            let units: Vec<Unit> = units.iter().map(|unit| (*unit).clone()).collect();
            let (linker, result) = link(by, &[&[arch.as_str()], flags].concat(), output, &units);
            result.map_err(|error| format!("{name}: {error}"))?;
            Ok(Unit { name: name.to_owned(), bytes: linker.output(output).unwrap().bytes().to_vec() })
        };
        let (ltoir, cubin) = (OutputKind::Ltoir, OutputKind::Cubin);
        let mut check = |what: &str, linked: Result<Unit, String>| {
            if let Err(finding) = linked.and_then(|unit| runs(&gpu, &unit.bytes)) {
                findings.push(format!("{what} by {by}: {finding}"));
            }
        };
        for producer in ["12.0", "13.0"] {
            let [kernel, helper] = ["kernel", "helper"].map(|name| unit(&format!("{producer}/{name}.ltoir")));
            let first = stage("first", ltoir, &["-r", "-lto"], &[&kernel]);
            let second = first.clone().and_then(|first| stage("second", ltoir, &["-r", "-lto"], &[&first, &helper]));
            check("two stages", first.and_then(|first| stage("last", cubin, &["-lto"], &[&first, &helper])));
            check("three stages", second.and_then(|second| stage("last", cubin, &["-lto"], &[&second])));
            let objects = stage("kernel", cubin, &["-r", "-lto"], &[&kernel])
                .and_then(|kernel| Ok((kernel, stage("helper", cubin, &["-r", "-lto"], &[&helper])?)));
            check("two stages over cubins", objects.clone().and_then(|(kernel, helper)| stage("last", cubin, &[], &[&kernel, &helper])));
            let both = objects.and_then(|(kernel, helper)| stage("both", cubin, &["-r"], &[&kernel, &helper]));
            check("three stages over cubins", both.and_then(|both| stage("last", cubin, &[], &[&both])));
        }
    }
    none(&findings);
}

/// The driver links in the caller's context and leaves it current.
#[test]
#[ignore = "needs a GPU"]
fn the_callers_context_stays_current() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let units = ["kernel", "helper"].map(|name| unit(&format!("12.0/{name}.ptx")));
    let own = CudaContext::new_non_primary(0, 0).unwrap();
    own.bind_to_thread().unwrap();
    let linked = cubin(&By::Driver, &[&arch], &units);
    assert_eq!(ctx::get_current().unwrap(), Some(own.cu_ctx()));
    assert_ne!(gpu.context(), own.cu_ctx());
    // A failure leaves it too.
    assert_eq!(link(&By::Driver, &[&arch], OutputKind::Cubin, &[link::broken_ptx()]).1.unwrap_err().class(), ResultClass::CompileFailed);
    assert_eq!(ctx::get_current().unwrap(), Some(own.cu_ctx()));
    runs(&gpu, &linked).unwrap();
}

#[test]
#[ignore = "needs a GPU"]
fn a_thread_without_a_context_has_none_after_the_link() {
    let gpu = Gpu::first();
    let arch = format!("-arch={}", gpu.arch());
    let units = ["kernel", "helper"].map(|name| unit(&format!("12.0/{name}.ptx")));
    let alone = || {
        assert_eq!(ctx::get_current().unwrap(), None);
        let linked = cubin(&By::Driver, &[&arch], &units);
        assert_eq!(ctx::get_current().unwrap(), None);
        link(&By::Driver, &[&arch], OutputKind::Cubin, &[link::broken_ptx()]).1.unwrap_err();
        assert_eq!(ctx::get_current().unwrap(), None);
        linked
    };
    let linked: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(alone)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for cubin in &linked {
        runs(&gpu, cubin).unwrap();
    }
}
