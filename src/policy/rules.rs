//! What one release of nvJitLink or of the CUDA driver needs or lacks: one function a rule, each with the reason and where it is known from.
//!
//! "measured" is: asked of the real library of each release from 12.0 to 13.5, in a process of its own.

use super::plan::{Action, Decision, LibraryFacts, LinkerLibrary, PlannedOption};
use super::request::Request;
use super::table::{OptionId, OptionRow};
use super::{NEWEST, OLDEST, Version, targets_of};
use crate::arch::{Arch, ArchSuffix};
use crate::error::{Error, Result, ResultClass};
use crate::input::{Compression, Input, Part, PartKind, Piece};
use crate::options::{LinkOptions, OutputKind, Value};

use cudarc::driver::sys::{CU_COMPUTE_ACCELERATED_TARGET_BASE, CU_COMPUTE_FAMILY_TARGET_BASE};

/// The target is one that the release knows (measured: a link for each). A release that is not in the table may know more.
pub fn arch_is_known(target: Arch, library: &LibraryFacts) -> Result<()> {
    let Some(version) = library.version.filter(|version| *version <= NEWEST) else { return Ok(()) };
    let asked = target.to_string();
    let name = asked.split_once('_').map_or(asked.as_str(), |(_, name)| name);
    let known = targets_of(version);
    // Driver 580, which is of CUDA 13.0, still compiles for what that toolkit has dropped, but for two of Tegra (measured: 50 to 121).
    let is_driver_580 = library.linker == LinkerLibrary::Driver && version == Version::new(13, 0);
    let still_known = is_driver_580 && !["53", "62"].contains(&name) && targets_of(Version::new(12, 9)).contains(&name);
    if known.contains(&name) || still_known {
        return Ok(());
    }
    let text = format!("{} does not know {target}; it knows sm_{{{}}}", library.describe(), known.join(","));
    Err(Error::new(ResultClass::UnsupportedArch, text))
}

/// A release that the table does not have is taken for the nearest that it has.
pub fn unknown_version(library: &LibraryFacts) -> Option<Decision> {
    let reason = match library.version {
        None => format!("the library does not tell its version, and is taken for nvJitLink {NEWEST}"),
        Some(version) if version > NEWEST => {
            format!("{} {version} is newer than the options table, and is taken for {NEWEST} there", library.linker.name())
        }
        Some(version) if version < OLDEST => {
            format!("{} {version} is older than the options table, and is taken for {OLDEST}", library.linker.name())
        }
        Some(_) => return None,
    };
    Some(Decision { rule: "unknown_version", option: "library".to_owned(), action: Action::Kept, reason })
}

/// The release accepts the option, and this value of it (measured: `nvJitLinkCreate` with each).
pub fn option_is_known(row: &OptionRow, value: &Value, library: &LibraryFacts) -> Result<()> {
    let Some(since) = row.since else {
        return Err(unsupported(library, &format!("{}, which no nvJitLink up to {NEWEST} accepts", row.spelling)));
    };
    needs(library, row.spelling, since)?;
    let Value::Choice(value) = value else { return Ok(()) };
    let Some(limit) = row.limits.iter().find(|limit| limit.value == *value) else { return Ok(()) };
    let what = format!("{}{value}", row.spelling);
    needs(library, &what, limit.since)?;
    match limit.before {
        Some(before) if known_version(library) >= before => {
            Err(unsupported(library, &format!("{what}, which only nvJitLink before {before} has")))
        }
        _ => Ok(()),
    }
}

/// `-O` in a link with `-lto`: before 12.3 libnvvm refuses it, and takes the same level under its own
/// name, as ptxas does (measured: each level, alone and beside PTX).
pub fn optimization_with_lto(row: &OptionRow, value: &Value, lto: bool, library: &LibraryFacts) -> Option<(Vec<String>, Decision)> {
    const PASSED_ON_SINCE: Version = Version::new(12, 3);
    let Value::Choice(level) = value else { return None };
    if row.id != OptionId::Optimization || !lto || known_version(library) >= PASSED_ON_SINCE {
        return None;
    }
    let flags = vec![format!("-Xnvvm=-opt={level}"), format!("-Xptxas=-O{level}")];
    let reason = format!("nvJitLink before {PASSED_ON_SINCE} fails over it in a link with -lto, so it is given as {}", flags.join(" "));
    let decision = Decision { rule: "optimization_with_lto", option: format!("-O{level}"), action: Action::Changed, reason };
    Some((flags, decision))
}

/// What is asked for is so without the option: before 12.5 there is neither a cache nor its option.
pub fn is_so_anyway(row: &OptionRow, library: &LibraryFacts) -> Option<Decision> {
    let since = row.since.filter(|since| row.id == OptionId::NoCache && known_version(library) < *since)?;
    let reason = format!("nvJitLink has a cache from {since} on, and {} has none", library.describe());
    Some(Decision { rule: "is_so_anyway", option: row.spelling.to_owned(), action: Action::Dropped, reason })
}

/// An option that works on LTO-IR only is accepted without it, and does nothing.
pub fn needs_lto(row: &OptionRow, lto: bool) -> Option<Decision> {
    let reason = format!("it has an effect with {} only, which is not on", row.needs?.row().spelling);
    (!lto).then(|| Decision { rule: "needs_lto", option: row.spelling.to_owned(), action: Action::Kept, reason })
}

/// `-kernels-used` and `-variables-used` where they do harm (measured: PTX, cubins and LTO-IR,
/// each alone and together).
///
/// 12.1 dies of one of them without the other in a link of LTO-IR alone. In any other link every
/// release keeps each variable, and for `-variables-used` without `-kernels-used` drops each kernel.
pub fn names_to_keep(request: &Request<'_>, row: &OptionRow, library: &LibraryFacts) -> Option<Decision> {
    const DIES_OF_ONE: Version = Version::new(12, 1);
    let other = match row.id {
        OptionId::KernelsUsed => OptionId::VariablesUsed,
        OptionId::VariablesUsed => OptionId::KernelsUsed,
        _ => return None,
    };
    let is_alone = request.options.get(other).is_none();
    let reason = match (request.is_of_ltoir_alone(), row.id) {
        (true, _) if is_alone && library.version == Some(DIES_OF_ONE) => {
            format!("nvJitLink {DIES_OF_ONE} crashes over it without {} in a link of LTO-IR; nothing is removed", other.row().spelling)
        }
        (false, OptionId::VariablesUsed) => {
            "only a link of LTO-IR alone removes variables; in any other nvJitLink takes it for removing all kernels".to_owned()
        }
        _ => return None,
    };
    Some(Decision { rule: "names_to_keep", option: row.spelling.to_owned(), action: Action::Dropped, reason })
}

/// An option that is said twice is passed once.
pub fn repeated(options: &LinkOptions) -> impl Iterator<Item = Decision> {
    options.repeated().iter().map(|id| Decision {
        rule: "repeated_option",
        option: id.row().spelling.to_owned(),
        action: Action::Dropped,
        reason: "it is given more than once, with the same value".to_owned(),
    })
}

/// LTO-IR output: 13.2 and 13.3 export the getters too, and answer INTERNAL (measured).
pub fn ltoir_output(output: OutputKind, library: &LibraryFacts) -> Result<()> {
    if output != OutputKind::Ltoir {
        return Ok(());
    }
    needs(library, "LTO-IR output", Version::new(13, 4))?;
    if library.linker == (LinkerLibrary::Nvjitlink { exports_linked_ltoir: true }) {
        return Ok(());
    }
    Err(unsupported(library, "LTO-IR output: it does not export nvJitLinkGetLinkedLTOIR"))
}

/// `-r` with `-lto`: 13.0 to 13.2 fail with "Unresolved extern function" (measured).
pub fn relocatable_lto(request: &Request<'_>, library: &LibraryFacts) -> Result<()> {
    if is_relocatable_lto(request) { needs(library, "an incremental link (-r) of LTO-IR", Version::new(13, 3)) } else { Ok(()) }
}

/// An incremental LTO link must not use the library's cache before 13.6: its vendor confirmed a use-after-free there.
pub fn no_cache(request: &Request<'_>, library: &LibraryFacts) -> Option<Decision> {
    const FIXED_IN: Version = Version::new(13, 6);
    let asked = request.options.get_bool(OptionId::NoCache);
    if !is_relocatable_lto(request) || asked == Some(true) {
        return None;
    }
    let is_fixed = library.version.is_some_and(|version| version >= FIXED_IN);
    let (action, reason) = match asked {
        _ if is_fixed => (Action::Kept, format!("the cache is safe in incremental LTO links from {FIXED_IN} on")),
        Some(_) => (Action::Changed, format!("the cache was asked for, and is unsafe in incremental LTO links before {FIXED_IN}")),
        None => (Action::Added, format!("the cache has a use-after-free in incremental LTO links before {FIXED_IN}")),
    };
    let option = if action == Action::Kept { "cache" } else { OptionId::NoCache.row().spelling };
    Some(Decision { rule: "no_cache_for_incremental_lto", option: option.to_owned(), action, reason })
}

fn is_relocatable_lto(request: &Request<'_>) -> bool {
    request.lto && request.options.get_bool(OptionId::Relocatable) == Some(true)
}

/// A library reads what its own and older releases made, across the 12/13 border too (measured: LTO-IR, PTX and cubins of
/// five producers on five libraries). What does not tell its maker is left to the library.
///
/// Compressed LTO-IR is scrambled too, so that nobody else can unpack it; 12.0 to 12.3 refuse it, LZ4 or zstd (measured).
pub fn input_is_not_too_new(input: &Input, piece: &Piece, part: Option<&Part>, library: &LibraryFacts) -> Result<()> {
    let (Some(part), Some(version)) = (part, library.version) else { return Ok(()) };
    let too_new = |what: String, needed: Version| {
        let text = format!("'{}' is {what}, which needs {} {needed}; {} is older", piece.name, library.linker.name(), library.describe());
        Err(Error::new(ResultClass::InputTooNew, text).on_input(input.name()))
    };
    let version = version.max(OLDEST);
    if part.scrambled && version < ZSTD_SINCE {
        return too_new("compressed LTO-IR".to_owned(), ZSTD_SINCE);
    }
    if part.producer.is_newer_than_known() && version <= NEWEST {
        let text = format!("'{}' is {} of a release after CUDA {NEWEST}; {} cannot read it", piece.name, part.kind, library.describe());
        return Err(Error::new(ResultClass::InputTooNew, text).on_input(input.name()));
    }
    let Some(needed) = part.producer.cuda().map(Version::of) else { return Ok(()) };
    // 12.5 to 12.9 link the cubins of 13.x, and the result runs (13.0 and 13.5 on 12.9, on an H200), though 13.0 to 13.4 refuse those
    // of a later minor, and so does the driver of CUDA 13.0.
    let is_nvjitlink = library.linker != LinkerLibrary::Driver;
    let reads_newer_cubins = is_nvjitlink && part.kind == PartKind::Cubin && version.major == 12 && version.minor >= 5;
    if needed <= version || reads_newer_cubins {
        return Ok(());
    }
    too_new(format!("{} of CUDA {needed}", part.kind), needed)
}

/// What the release cannot unpack itself it gets unpacked: zstd before 12.4 (12.0 crashes, 12.1 to 12.3 refuse it), and blocks of several
/// images before 13.4 (measured). The driver is taken for the nvJitLink of its release.
pub fn unpack(input: &Input, piece: &Piece, library: &LibraryFacts) -> Option<Decision> {
    let version = library.version?;
    let name = library.linker.name();
    let reason = input.parts(piece).iter().find_map(|part| {
        if part.compression == Compression::Zstd && version < ZSTD_SINCE {
            Some(format!("{name} before {ZSTD_SINCE} cannot read zstd"))
        } else if part.block.is_some() && version < BLOCKS_SINCE {
            Some(format!("{name} before {BLOCKS_SINCE} cannot read a block of several images"))
        } else {
            None
        }
    })?;
    Some(Decision { rule: "unpack_images", option: piece.name.to_string(), action: Action::Changed, reason })
}

/// The driver gives cubins, and links neither LTO-IR nor incrementally: cuLink has no options for it.
pub fn driver_gives_cubins(options: &LinkOptions) -> Result<()> {
    let on = |id| options.get_bool(id) == Some(true);
    let what = match options.output() {
        OutputKind::Ptx => "PTX output",
        OutputKind::Ltoir => "LTO-IR output",
        OutputKind::Cubin if on(OptionId::Relocatable) => "an incremental link (-r)",
        OutputKind::Cubin if on(OptionId::Lto) => "link-time optimization (-lto)",
        OutputKind::Cubin => return Ok(()),
    };
    let text = format!("the CUDA driver does not have {what}; nvJitLink does");
    Err(Error::new(ResultClass::UnsupportedOption, text).hint("install the wheel nvidia-nvjitlink, and leave the backend to cudalink"))
}

/// The driver's own spelling of an option (cuda.h, `CUjit_option`).
pub fn jit_option(row: &OptionRow, value: &Value, library: &LibraryFacts) -> Result<PlannedOption> {
    let lacks = |what: &str| unsupported(library, &format!("{what}, which is an option of nvJitLink"));
    let option = row.driver.ok_or_else(|| lacks(row.spelling))?;
    let value = match value {
        Value::Bool(on) => u32::from(*on),
        Value::Integer(number) => u32::try_from(*number).map_err(|_| lacks(row.spelling))?,
        Value::Choice(choice) => choice.parse().map_err(|_| lacks(row.spelling))?,
        Value::Arch(arch) => target(*arch),
        Value::List(_) => return Err(lacks(row.spelling)),
    };
    Ok(PlannedOption::Jit(option, value))
}

/// A `CUjit_target`.
fn target(arch: Arch) -> u32 {
    arch.number
        + match arch.suffix {
            ArchSuffix::None => 0,
            ArchSuffix::A => CU_COMPUTE_ACCELERATED_TARGET_BASE,
            ArchSuffix::F => CU_COMPUTE_FAMILY_TARGET_BASE,
        }
}

/// A cubin of a later major release may be one that the driver does not load: compatibility ends there (CUDA's own rule).
pub fn newer_than_driver(library: &LibraryFacts, driver: &LibraryFacts) -> Option<Decision> {
    let is_newer = library.version.zip(driver.version).is_some_and(|(library, driver)| library.major > driver.major);
    is_newer.then(|| Decision {
        rule: "newer_than_driver",
        option: "library".to_owned(),
        action: Action::Kept,
        reason: format!("{} may not load what {} links: its major release is older", driver.describe(), library.describe()),
    })
}

const ZSTD_SINCE: Version = Version::new(12, 4);
const BLOCKS_SINCE: Version = Version::new(13, 4);

/// The release, within the table.
fn known_version(library: &LibraryFacts) -> Version {
    library.version.unwrap_or(NEWEST).clamp(OLDEST, NEWEST)
}

fn needs(library: &LibraryFacts, what: &str, since: Version) -> Result<()> {
    if known_version(library) < since {
        return Err(unsupported(library, &format!("{what}, which needs nvJitLink {since}")));
    }
    Ok(())
}

pub fn unsupported(library: &LibraryFacts, what: &str) -> Error {
    Error::new(ResultClass::UnsupportedOption, format!("{} does not have {what}", library.describe()))
}
