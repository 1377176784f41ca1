//! The policy, over every version and without any library: never a panic, never a flag that the version refuses, a reason for everything.

mod support;

use std::fs;

use cudalink::input::Input;
use cudalink::options::Backend;
use cudalink::policy::table::{OPTIONS, ValueType, parse_flag};
use cudalink::policy::{Action, Decision, EntryRule, LibraryFacts, LinkBy, Plan, Request, Version, choose, newer_than_driver};
use cudalink::{Error, LinkOptions, Result, ResultClass};
use proptest::prelude::*;
use serde_json::json;
use support::fixture;

const VERSIONS: [Option<Version>; 20] = {
    const fn v(major: u32, minor: u32) -> Option<Version> {
        Some(Version::new(major, minor))
    }
    [
        None,
        v(11, 8),
        v(12, 0),
        v(12, 1),
        v(12, 2),
        v(12, 3),
        v(12, 4),
        v(12, 5),
        v(12, 6),
        v(12, 8),
        v(12, 9),
        v(13, 0),
        v(13, 1),
        v(13, 2),
        v(13, 3),
        v(13, 4),
        v(13, 5),
        v(13, 6),
        v(14, 0),
        v(15, 3),
    ]
};

const INPUTS: [&str; 14] = [
    "12.0/kernel.ptx",
    "12.0/helper.ltoir",
    "12.0/kernel.cubin",
    "12.4/helper.lto.fatbin",
    "12.4/kernel.zip.fatbin",
    "12.9/helper.lto.o",
    "13.0/kernel.o",
    "13.0/libhelper.lto.a",
    "13.5/kernel.ptx",
    "13.5/helper.ltoir",
    "wide/multi.fatbin",
    "wide/multi.o",
    "wide/whole.cubin",
    "wide/host_only.o",
];

fn input(file: &str) -> Input {
    Input::new(None, fs::read(fixture(file)).unwrap(), file, &mut |_| None).unwrap()
}

fn library(version: Option<Version>) -> LibraryFacts {
    LibraryFacts::nvjitlink("libnvJitLink.so".into(), version, version.is_none_or(|version| version >= Version::new(13, 2)))
}

fn plan(flags: &[&str], inputs: &[&str], version: Option<Version>) -> Result<Plan> {
    let mut options = LinkOptions::default();
    flags.iter().try_for_each(|flag| options.set_flag(flag))?;
    let inputs: Vec<Input> = inputs.iter().map(|file| input(file)).collect();
    let request = Request::new(&options, &inputs, LinkBy::Nvjitlink(EntryRule::of(version)), &mut Vec::new())?;
    if request.finished().is_some() {
        return Ok(request.plan_for_finished());
    }
    request.plan(&library(version))
}

/// The options in the backend's spelling.
fn options_of(plan: &Plan) -> Vec<String> {
    plan.options.iter().map(ToString::to_string).collect()
}

fn class_of(flags: &[&str], inputs: &[&str], version: (u32, u32)) -> ResultClass {
    plan(flags, inputs, Some(Version::new(version.0, version.1))).map_or_else(|error| error.class(), |_| ResultClass::Ok)
}

/// One flag of each option, with a value that it takes.
fn flags() -> Vec<String> {
    let value = |value_type| match value_type {
        ValueType::Switch => "",
        ValueType::Bool => "1",
        ValueType::Integer(..) => "2",
        ValueType::Choice(choices) => choices[0],
        ValueType::Arch => "sm_80",
        ValueType::List | ValueType::Names => "-v",
    };
    OPTIONS.iter().map(|row| format!("{}{}", row.spelling, value(row.value))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn a_plan_has_only_what_the_version_accepts_and_a_reason_for_the_rest(
        version in proptest::sample::select(&VERSIONS[..]),
        flags in proptest::sample::subsequence(flags(), 0..6).prop_shuffle(),
        arch in proptest::sample::select(vec!["sm_80", "sm_86", "sm_90", "sm_90a", "sm_100f", "sm_50", "compute_80", "sm_999"]),
        inputs in proptest::collection::vec(proptest::sample::select(&INPUTS[..]), 0..4),
    ) {
        let arch = format!("-arch={arch}");
        let mut asked: Vec<&str> = flags.iter().map(String::as_str).filter(|flag| !flag.starts_with("-arch")).collect();
        asked.push(&arch);
        let made = plan(&asked, &inputs, version);
        prop_assert_eq!(&made, &plan(&asked, &inputs, version));
        asked.reverse();
        prop_assert_eq!(&made, &plan(&asked, &inputs, version), "the order of the options matters");
        match made {
            Err(error) => {
                prop_assert_ne!(error.class(), ResultClass::Internal);
                prop_assert!(!error.to_string().is_empty());
            }
            Ok(plan) => {
                let at = version.unwrap_or(Version::new(13, 5)).clamp(Version::new(12, 0), Version::new(13, 5));
                let options = options_of(&plan);
                for option in &options {
                    let (row, _) = parse_flag(option).unwrap();
                    prop_assert!(row.since.is_some_and(|since| since <= at), "{option} on {at}");
                    let is_told = |decision: &Decision| decision.option == *option || decision.reason.contains(option.as_str());
                    let was_asked = asked.contains(&option.as_str());
                    prop_assert!(was_asked || plan.decisions.iter().any(is_told) || option == "-lto", "{option} came from nowhere");
                }
                prop_assert!(options.iter().position(|option| option == "-lto").is_none_or(|at| at + 1 == options.len()));
                prop_assert!(plan.decisions.iter().all(|decision| !decision.reason.is_empty() && !decision.rule.is_empty()));
            }
        }
    }
}

#[test]
fn an_option_is_refused_where_the_version_lacks_it() {
    for (flag, lacks, has) in [
        ("-r", (12, 9), (13, 0)),
        ("-split-compile=2", (12, 2), (12, 3)),
        ("-Ofc=max", (12, 4), (12, 5)),
        ("-Ofc=min", (12, 8), (12, 9)),
        ("-nvvm-latest", (13, 4), (13, 5)),
        ("-O1", (12, 3), (12, 2)),
    ] {
        let flags = ["-arch=sm_80", flag];
        assert_eq!(class_of(&flags, &["12.0/kernel.ptx"], lacks), ResultClass::UnsupportedOption, "{flag}");
        assert_eq!(class_of(&flags, &["12.0/kernel.ptx"], has), ResultClass::Ok, "{flag}");
    }
    assert_eq!(class_of(&["-arch=sm_80", "-device-stack-protector"], &["12.0/kernel.ptx"], (13, 5)), ResultClass::UnsupportedOption);
    let refusal = plan(&["-arch=sm_80", "-r"], &["12.0/kernel.ptx"], Some(Version::new(12, 9))).unwrap_err().to_string();
    assert!(refusal.contains("12.9") && refusal.contains("13.0"), "{refusal}");
}

#[test]
fn incremental_lto_links_do_not_use_the_cache_before_13_6() {
    let flags = ["-arch=sm_80", "-r"];
    let options = |version| plan(&flags, &["12.0/helper.ltoir"], Some(version)).unwrap();
    assert_eq!(options_of(&options(Version::new(13, 4))), ["-arch=sm_80", "-r", "-no-cache", "-lto"]);
    let fixed = options(Version::new(13, 6));
    assert_eq!(options_of(&fixed), ["-arch=sm_80", "-r", "-lto"]);
    assert!(fixed.decisions.iter().any(|decision| decision.rule == "no_cache_for_incremental_lto" && decision.action == Action::Kept));
    // Not of LTO-IR, or not incremental: the cache stays.
    assert_eq!(options_of(&plan(&flags, &["12.0/kernel.ptx"], Some(Version::new(13, 4))).unwrap()), ["-arch=sm_80", "-r"]);
    assert_eq!(options_of(&plan(&flags[..1], &["12.0/helper.ltoir"], Some(Version::new(13, 4))).unwrap()), ["-arch=sm_80", "-lto"]);
    let forced = plan(&["-arch=sm_80", "-r", "-no-cache=false"], &["12.0/helper.ltoir"], Some(Version::new(13, 4))).unwrap();
    assert!(forced.decisions.iter().any(|decision| decision.action == Action::Changed));
    assert_eq!(class_of(&flags, &["12.0/helper.ltoir"], (13, 2)), ResultClass::UnsupportedOption);
}

#[test]
fn lto_follows_from_the_inputs_unless_the_caller_decides() {
    let v = Some(Version::new(13, 5));
    let lto = |flags: &[&str], inputs: &[&str]| options_of(&plan(flags, inputs, v).unwrap()).contains(&"-lto".to_owned());
    for file in ["12.0/helper.ltoir", "12.4/helper.lto.fatbin", "12.9/helper.lto.o", "13.0/libhelper.lto.a"] {
        assert!(lto(&["-arch=sm_80"], &["12.0/kernel.ptx", file]), "{file}");
    }
    assert!(!lto(&["-arch=sm_80"], &["12.0/kernel.ptx", "12.4/helper.zip.fatbin"]));
    // Its LTO-IR is for sm_90.
    assert!(!lto(&["-arch=sm_80", "-lto"], &["wide/multi.o"]));
    assert!(lto(&["-arch=sm_90"], &["wide/multi.o"]));
    let dropped = plan(&["-arch=sm_80", "-lto"], &["12.0/kernel.ptx"], v).unwrap();
    assert_eq!(dropped.decisions[0].action, Action::Dropped);
    // Off: LTO-IR alone is a contradiction, beside PTX the PTX is linked.
    assert_eq!(class_of(&["-arch=sm_80", "-lto=false"], &["12.0/helper.ltoir"], (13, 5)), ResultClass::IncompatibleOptions);
    assert!(!lto(&["-arch=sm_80", "-lto=false"], &["12.9/helper.lto.o"]));
}

#[test]
fn contradictions_are_found_before_any_library_is() {
    for flags in
        [&["-arch=compute_80"][..], &["-arch=sm_80", "-r", "-ptx"], &["-arch=sm_80", "-ptx", "-lto=false"], &["-arch=sm_80", "-g", "-O3"]]
    {
        assert_eq!(class_of(flags, &["12.0/helper.ltoir"], (13, 5)), ResultClass::IncompatibleOptions, "{flags:?}");
    }
    assert_eq!(class_of(&["-lto"], &["12.0/helper.ltoir"], (13, 5)), ResultClass::MissingArch);
    assert_eq!(class_of(&["-arch=sm_80", "-ptx"], &["12.0/helper.ltoir", "12.0/kernel.ptx"], (13, 5)), ResultClass::NotLtoir);
}

#[test]
fn what_the_library_would_lose_or_cannot_read_is_refused() {
    for (class, arch, inputs, version) in [
        (ResultClass::InputTooNew, "sm_80", &["13.5/helper.ltoir"][..], (13, 4)),
        (ResultClass::InputTooNew, "sm_80", &["13.5/kernel.ptx"], (12, 9)),
        (ResultClass::InputTooNew, "sm_80", &["12.9/kernel.cubin"], (12, 4)),
        (ResultClass::ArchMismatch, "sm_75", &["12.0/kernel.ptx"], (13, 5)),
        (ResultClass::ArchMismatch, "sm_90", &["12.0/kernel.cubin"], (13, 5)),
        (ResultClass::UnsupportedArch, "sm_100", &["12.0/kernel.ptx"], (12, 6)),
        (ResultClass::NotRelocatable, "sm_80", &["wide/whole.cubin", "12.0/kernel.ptx"], (13, 5)),
        (ResultClass::NoDeviceCode, "sm_80", &["wide/host_only.o", "wide/host_only.a"], (13, 5)),
        (ResultClass::Ok, "sm_80", &["wide/whole.cubin"], (13, 5)),
        (ResultClass::Ok, "sm_80", &["wide/host_only.o", "12.0/kernel.ptx"], (13, 5)),
    ] {
        let arch = format!("-arch={arch}");
        assert_eq!(class_of(&[&arch], inputs, version), class, "{arch} {inputs:?} {version:?}");
    }
}

#[test]
fn what_an_old_library_cannot_unpack_is_given_unpacked() {
    let unpacks = |file: &str, minor| {
        let plan = plan(&["-arch=sm_80"], &[file], Some(Version::new(12, minor))).unwrap();
        plan.decisions.iter().any(|decision| decision.rule == "unpack_images")
    };
    assert!(unpacks("wide/kernel.old.zstd.fatbin", 3));
    assert!(!unpacks("wide/kernel.old.zstd.fatbin", 4));
    assert!(!unpacks("12.0/kernel.zip.fatbin", 0), "LZ4 is read by every release");
    assert_eq!(class_of(&["-arch=sm_80"], &["wide/helper.old.zstd.lto.fatbin"], (12, 3)), ResultClass::InputTooNew);
    assert_eq!(class_of(&["-arch=sm_80"], &["wide/helper.old.zstd.lto.fatbin"], (12, 4)), ResultClass::Ok);
}

#[test]
fn a_version_that_the_table_does_not_have_is_told() {
    for version in [None, Some(Version::new(14, 0)), Some(Version::new(11, 8))] {
        let plan = plan(&["-arch=sm_80"], &["12.0/kernel.ptx"], version).unwrap();
        assert!(plan.decisions.iter().any(|decision| decision.rule == "unknown_version"), "{version:?}");
    }
    let plan = plan(&["-arch=sm_130"], &["12.0/kernel.ptx"], Some(Version::new(14, 0))).unwrap();
    assert_eq!(options_of(&plan), ["-arch=sm_130"], "a newer release may know more architectures");
}

/// Which backend links where these two libraries are, or the class of the refusal; and whether the plan says why it is not nvJitLink.
fn choice(asked: Backend, flag: &str, file: &str, nvjitlink: Option<Version>, driver: Option<Version>) -> (String, bool) {
    let mut options = LinkOptions::default();
    ["-arch=sm_80", flag].into_iter().filter(|flag| !flag.is_empty()).try_for_each(|flag| options.set_flag(flag)).unwrap();
    let inputs = [input(file)];
    let plan = |by, facts: Option<LibraryFacts>, missing| {
        let request = Request::new(&options, &inputs, by, &mut Vec::new())?;
        request.plan(&facts.ok_or_else(|| Error::new(missing, "it is not here"))?)
    };
    let nvjitlink =
        || plan(LinkBy::Nvjitlink(EntryRule::of(nvjitlink)), nvjitlink.map(|version| library(Some(version))), ResultClass::LibraryNotFound);
    let driver = || plan(LinkBy::Driver, driver.map(driver_facts), ResultClass::DriverNotFound);
    match choose(asked, nvjitlink, driver) {
        Ok((plan, why)) => (json!(plan.backend).as_str().unwrap().to_owned(), why.is_some_and(|why| why.rule == "driver_for_the_job")),
        Err(error) => (error.class().name().to_owned(), false),
    }
}

fn driver_facts(version: Version) -> LibraryFacts {
    LibraryFacts::driver("libcuda.so.1".into(), version)
}

#[test]
fn nvjitlink_links_where_it_can_and_the_driver_where_only_it_can() {
    use Backend::{Auto, Driver, Nvjitlink};
    let (none, v12_0, v12_9, v13_5) = (None, Some(Version::new(12, 0)), Some(Version::new(12, 9)), Some(Version::new(13, 5)));
    let (ptx, ltoir, both, new) = ("12.0/kernel.ptx", "12.0/kernel.ltoir", "12.4/kernel.lto.o", "13.5/kernel.ptx");
    for (asked, flag, file, nvjitlink, driver, expected, is_told) in [
        (Auto, "", ptx, v13_5, v13_5, "nvjitlink", false),
        (Auto, "", ptx, v13_5, none, "nvjitlink", false),
        (Auto, "", ptx, none, v13_5, "driver", true),
        (Auto, "", ptx, none, none, "library_not_found", false),
        // What this nvJitLink cannot do and the driver can.
        (Auto, "-O1", ptx, v13_5, v12_0, "driver", true),
        (Auto, "-Ofc=max", ptx, v12_0, v12_0, "unsupported_option", false),
        (Auto, "", new, v12_9, v13_5, "driver", true),
        (Auto, "", new, v12_9, v12_9, "input_too_new", false),
        (Auto, "-split-compile=2", ptx, v12_0, v13_5, "unsupported_option", false),
        // LTO-IR never goes to the driver; what stands beside it does.
        (Auto, "", ltoir, v12_0, v13_5, "nvjitlink", false),
        (Auto, "", ltoir, none, v13_5, "library_not_found", false),
        (Auto, "", both, none, v13_5, "driver", true),
        (Auto, "-lto", both, none, v13_5, "library_not_found", false),
        (Auto, "-ptx", ltoir, none, v13_5, "library_not_found", false),
        (Auto, "-r", ptx, none, v13_5, "library_not_found", false),
        // Forced.
        (Nvjitlink, "", ptx, none, v13_5, "library_not_found", false),
        (Nvjitlink, "-O1", ptx, v13_5, v13_5, "unsupported_option", false),
        (Driver, "", ptx, v13_5, v12_0, "driver", false),
        (Driver, "", ptx, v13_5, none, "driver_not_found", false),
        (Driver, "", ltoir, v13_5, v13_5, "unsupported_option", false),
        (Driver, "-lto", both, v13_5, v13_5, "unsupported_option", false),
        (Driver, "-r", ptx, v13_5, v13_5, "unsupported_option", false),
        (Driver, "-ptx", ltoir, v13_5, v13_5, "unsupported_option", false),
        (Driver, "-ftz=true", ptx, v13_5, v13_5, "unsupported_option", false),
        (Driver, "", new, v13_5, v12_9, "input_too_new", false),
    ] {
        let found = choice(asked, flag, file, nvjitlink, driver);
        assert_eq!(found, (expected.to_owned(), is_told), "{asked:?} {flag} {file}, nvJitLink {nvjitlink:?}, driver {driver:?}");
    }
}

#[test]
fn an_option_reaches_the_driver_or_is_refused() {
    let refused = |flag: &str| choice(Backend::Driver, flag, "12.0/kernel.ptx", None, Some(Version::new(13, 0))).0;
    // Of names it is told first that no input defines them.
    for row in OPTIONS.iter().filter(|row| row.driver.is_none() && row.value != ValueType::Names) {
        let flag = flags().into_iter().find(|flag| flag.starts_with(row.spelling)).unwrap();
        assert_eq!(refused(&flag), "unsupported_option", "{flag}");
    }
    let plan = |flags: &[&str]| {
        let mut options = LinkOptions::default();
        flags.iter().try_for_each(|flag| options.set_flag(flag)).unwrap();
        let inputs = [input("12.0/kernel.ptx")];
        let request = Request::new(&options, &inputs, LinkBy::Driver, &mut Vec::new()).unwrap();
        options_of(&request.plan(&driver_facts(Version::new(13, 0))).unwrap())
    };
    assert_eq!(
        plan(&["-arch=sm_90a", "-O2", "-lineinfo", "-maxrregcount=32", "-verbose"]),
        [
            "CU_JIT_TARGET=65626",
            "CU_JIT_OPTIMIZATION_LEVEL=2",
            "CU_JIT_GENERATE_LINE_INFO=1",
            "CU_JIT_MAX_REGISTERS=32",
            "CU_JIT_LOG_VERBOSE=1"
        ]
    );
    assert_eq!(plan(&["-arch=sm_100f", "-g"]), ["CU_JIT_TARGET=131172", "CU_JIT_GENERATE_DEBUG_INFO=1"]);
    assert_eq!(plan(&["-arch=sm_80", "-g=false", "-no-cache=false", "-lto=false"]), ["CU_JIT_TARGET=80"], "off is the driver's default");
}

#[test]
fn a_driver_of_an_older_major_release_is_told() {
    for (nvjitlink, driver, told) in
        [((13, 5), (12, 9), true), ((13, 5), (13, 0), false), ((12, 9), (13, 0), false), ((12, 0), (11, 8), true)]
    {
        let driver = driver_facts(Version::new(driver.0, driver.1));
        let decision = newer_than_driver(&library(Some(Version::new(nvjitlink.0, nvjitlink.1))), &driver);
        assert_eq!(decision.is_some(), told, "{nvjitlink:?} {driver:?}");
    }
}
