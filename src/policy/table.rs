//! One row an option. The parser of flags, the messages and the plan all read it here.
//!
//! The next nvJitLink is one row in [`crate::release`]; an option that it adds is one here. `cargo test --test option_table -- --ignored` asks the
//! real libraries whether both are right.

use cudarc::driver::sys::CUjit_option;

use super::Version;
use crate::options::Value;

/// An option of the linker. The order is the order in which nvJitLink gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // Each one is described by its row.
pub enum OptionId {
    Arch,
    Ptx,
    Relocatable,
    Optimization,
    FastCompile,
    Debug,
    Lineinfo,
    MaxRegisterCount,
    Ftz,
    PrecDiv,
    PrecSqrt,
    Fma,
    KernelsUsed,
    VariablesUsed,
    OptimizeUnusedVariables,
    PtxasOptions,
    NvvmOptions,
    NvvmLatest,
    SplitCompile,
    SplitCompileExtended,
    JumpTableDensity,
    NoCache,
    DeviceStackProtector,
    Time,
    Verbose,
    Lto,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Nothing: it is there or it is not.
    Switch,
    /// `true` or `false`.
    Bool,
    /// A whole number between these two, both included.
    Integer(i64, i64),
    /// One of these.
    Choice(&'static [&'static str]),
    /// An architecture.
    Arch,
    /// Texts; one flag each.
    List,
    /// Names; one flag each, and several may be given with commas or blanks between them.
    Names,
}

/// The releases that accept one value of a choice.
#[derive(Debug)]
pub struct ValueLimit {
    /// The value.
    pub value: &'static str,
    /// The first release that accepts it.
    pub since: Version,
    /// The first release that does not any more, if any.
    pub before: Option<Version>,
}

/// All that is known about one option.
#[derive(Debug)]
pub struct OptionRow {
    /// Which option.
    pub id: OptionId,
    /// Our name: the field of `cl_linker_options`.
    pub name: &'static str,
    /// nvJitLink's spelling, with `=` where a value follows it.
    pub spelling: &'static str,
    /// Other spellings that mean the same.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub value: ValueType,
    /// The first nvJitLink that accepts it (measured: `nvJitLinkCreate` of each release from 12.0 to 13.5); `None` if none does.
    pub since: Option<Version>,
    /// Values that not every release from `since` on accepts (measured too).
    pub limits: &'static [ValueLimit],
    /// The option without which it does nothing.
    pub needs: Option<OptionId>,
    /// The driver's equivalent, a `CUjit_option`; `None` if it has none.
    pub driver: Option<CUjit_option>,
    /// What it does, in half a sentence.
    pub help: &'static str,
    /// Where it is documented: the oldest `nvJitLink.h` that has it.
    pub source: &'static str,
}

const MANY: i64 = i32::MAX as i64;
const V12_0: Option<Version> = Some(Version::new(12, 0));
const V12_3: Option<Version> = Some(Version::new(12, 3));
const V12_5: Option<Version> = Some(Version::new(12, 5));
const V13_0: Option<Version> = Some(Version::new(13, 0));
const V13_5: Option<Version> = Some(Version::new(13, 5));

use CUjit_option::*;
use OptionId as Id;
use ValueType::{Bool, Choice, Integer, List, Names, Switch};

/// Every option.
#[rustfmt::skip]
pub const OPTIONS: &[OptionRow] = &[
    row(Id::Arch, "arch", "-arch=", ValueType::Arch, V12_0, Some(CU_JIT_TARGET), "12.0", "the architecture to link for; compute_XX for PTX output only"),
    row(Id::Ptx, "output", "-ptx", Switch, V12_0, None, "12.0", "give PTX instead of a cubin; every input must be LTO-IR"),
    row(Id::Relocatable, "relocatable", "-r", Switch, V13_0, None, "13.1", "link incrementally: give another relocatable object; LTO-IR from 13.3 on"),
    OptionRow { limits: &[limit("1", (12, 0), V12_3), limit("2", (12, 0), V12_3)],
        ..row(Id::Optimization, "optimization", "-O", Choice(&["0", "1", "2", "3"]), V12_0, Some(CU_JIT_OPTIMIZATION_LEVEL), "12.0", "optimization level; nvJitLink has 1 and 2 only before 12.3") },
    OptionRow { limits: &[limit("min", (12, 9), None), limit("mid", (12, 9), None)],
        ..row(Id::FastCompile, "fast_compile", "-Ofc=", Choice(&["min", "mid", "max"]), V12_5, None, "13.5", "trade run time for compile time; min and mid from 12.9 on") },
    row(Id::Debug, "debug", "-g", Switch, V12_0, Some(CU_JIT_GENERATE_DEBUG_INFO), "12.0", "generate debug information"),
    row(Id::Lineinfo, "lineinfo", "-lineinfo", Switch, V12_0, Some(CU_JIT_GENERATE_LINE_INFO), "12.0", "generate line information"),
    row(Id::MaxRegisterCount, "max_register_count", "-maxrregcount=", Integer(1, MANY), V12_0, Some(CU_JIT_MAX_REGISTERS), "12.0", "registers that a thread may use"),
    row(Id::Ftz, "ftz", "-ftz=", Bool, V12_0, None, "12.0", "flush denormal numbers to zero"),
    row(Id::PrecDiv, "prec_div", "-prec-div=", Bool, V12_0, None, "12.0", "precise division"),
    row(Id::PrecSqrt, "prec_sqrt", "-prec-sqrt=", Bool, V12_0, None, "12.0", "precise square root"),
    row(Id::Fma, "fma", "-fma=", Bool, V12_0, None, "12.0", "contract a multiplication and an addition"),
    row(Id::KernelsUsed, "kernels_used", "-kernels-used=", Names, V12_0, None, "12.0", "kernels to keep: all whose symbol contains the text; others may be removed"),
    row(Id::VariablesUsed, "variables_used", "-variables-used=", Names, V12_0, None, "12.0", "variables to keep: all whose symbol contains the text; others may be removed"),
    row(Id::OptimizeUnusedVariables, "optimize_unused_variables", "-optimize-unused-variables", Switch, V12_0, None, "12.0", "remove variables that device code does not use"),
    row(Id::PtxasOptions, "ptxas_options", "-Xptxas=", List, V12_0, None, "12.0", "one option for ptxas"),
    row(Id::NvvmOptions, "nvvm_options", "-Xnvvm=", List, V12_0, None, "12.0 to 12.2 only", "one option for NVVM"),
    row(Id::NvvmLatest, "nvvm_latest", "-nvvm-latest", Switch, V13_5, None, "13.5", "use the newest NVVM for every architecture"),
    row(Id::SplitCompile, "split_compile", "-split-compile=", Integer(0, MANY), V12_3, None, "12.3", "threads of one link; 0 for all processors"),
    OptionRow { needs: Some(Id::Lto), ..row(Id::SplitCompileExtended, "split_compile_extended", "-split-compile-extended=", Integer(0, MANY), V12_3, None, "12.3", "the same, more aggressive, with LTO only") },
    OptionRow { needs: Some(Id::Lto), ..row(Id::JumpTableDensity, "jump_table_density", "-jump-table-density=", Integer(0, 101), V12_3, None, "12.3", "percent of cases that make a switch a jump table, with LTO only") },
    row(Id::NoCache, "no_cache", "-no-cache", Switch, V12_5, None, "12.5", "do not use nvJitLink's own cache; before 12.5 there is none"),
    row(Id::DeviceStackProtector, "device_stack_protector", "-device-stack-protector", Switch, None, None, "12.6", "enable stack canaries; documented, and accepted by no release up to 13.5"),
    row(Id::Time, "time", "-time", Switch, V12_0, None, "12.0", "put timings into the info log"),
    row(Id::Verbose, "verbose", "-verbose", Switch, V12_0, Some(CU_JIT_LOG_VERBOSE), "12.0", "put more into the info log"),
    // Last: nvJitLink before 12.8 crashes on destroying a handle whose creation failed after it had read -lto.
    OptionRow { aliases: &["-dlto"], ..row(Id::Lto, "lto", "-lto", Switch, V12_0, None, "12.0", "optimize at link time; added where the inputs hold LTO-IR") },
];

#[allow(clippy::too_many_arguments)] // A row is as wide as the table.
const fn row(
    id: OptionId,
    name: &'static str,
    spelling: &'static str,
    value: ValueType,
    since: Option<Version>,
    driver: Option<CUjit_option>,
    source: &'static str,
    help: &'static str,
) -> OptionRow {
    OptionRow { id, name, spelling, aliases: &[], value, since, limits: &[], needs: None, driver, help, source }
}

const fn limit(value: &'static str, since: (u32, u32), before: Option<Version>) -> ValueLimit {
    ValueLimit { value, since: Version::new(since.0, since.1), before }
}

impl OptionId {
    /// The option's row.
    pub fn row(self) -> &'static OptionRow {
        &OPTIONS[self as usize]
    }
}

impl OptionRow {
    /// The option as nvJitLink gets it: one flag, or one for each text of a list.
    ///
    /// A truth value is a digit: `true` and `false` are documented, and no release from 12.0 to 13.5
    /// links LTO-IR with them (measured: "-ftz=true is an unsupported option" of libnvvm).
    pub fn flags(&self, value: &Value) -> Vec<String> {
        match value {
            Value::Bool(on) if self.spelling.ends_with('=') => vec![format!("{}{}", self.spelling, u8::from(*on))],
            Value::Bool(true) => vec![self.spelling.to_owned()],
            Value::Bool(false) => Vec::new(),
            Value::Integer(number) => vec![format!("{}{number}", self.spelling)],
            Value::Choice(choice) => vec![format!("{}{choice}", self.spelling)],
            Value::Arch(arch) => vec![format!("{}{arch}", self.spelling)],
            Value::List(list) => list.iter().map(|text| format!("{}{text}", self.spelling)).collect(),
        }
    }
}

/// The row that a flag in nvJitLink's spelling belongs to, and the text after `=`, if any.
pub fn parse_flag(flag: &str) -> Option<(&'static OptionRow, Option<&str>)> {
    let spellings = |row: &'static OptionRow| std::iter::once(row.spelling).chain(row.aliases.iter().copied());
    OPTIONS.iter().find_map(|row| {
        spellings(row).find_map(|spelling| {
            let rest = flag.strip_prefix(spelling)?;
            match row.value {
                ValueType::Switch if rest.is_empty() => Some((row, None)),
                ValueType::Switch => rest.strip_prefix('=').map(|value| (row, Some(value))),
                // -O is the one option whose value follows without a mark; -Ofc= and -optimize-... are others.
                ValueType::Choice(_) if !spelling.ends_with('=') && !rest.starts_with(|c: char| c.is_ascii_digit()) => None,
                _ => Some((row, Some(rest))),
            }
        })
    })
}

/// The flag that was probably meant, for one that is none.
pub fn nearest_flag(flag: &str) -> Option<String> {
    // What people know from nvcc and ptxas.
    const KNOWN_ELSEWHERE: [(&str, &str); 12] = [
        ("-G", "-g"),
        ("-device-debug", "-g"),
        ("-dlink-time-opt", "-lto"),
        ("-fmad", "-fma="),
        ("-generate-line-info", "-lineinfo"),
        ("-gpu-architecture", "-arch="),
        ("-gpu-name", "-arch="),
        ("-maxregcount", "-maxrregcount="),
        ("-ptxas-options", "-Xptxas="),
        ("-rdc", "-r"),
        ("-relocatable-device-code", "-r"),
        ("-v", "-verbose"),
    ];
    let name = format!("-{}", flag.trim_start_matches('-').split(['=', ' ']).next().unwrap_or_default());
    let elsewhere = KNOWN_ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, meant)| (*meant).to_owned());
    let distance = |row: &OptionRow| strsim::damerau_levenshtein(&name, row.spelling.trim_end_matches('='));
    let is_slip = |slips: usize| slips == 0 || slips == 1 && name.len() > 3 || slips == 2 && name.len() > 6;
    let nearest = || OPTIONS.iter().min_by_key(|row| distance(row)).filter(|row| is_slip(distance(row)));
    elsewhere.or_else(|| nearest().map(|row| row.spelling.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_at_its_own_place() {
        for (index, row) in OPTIONS.iter().enumerate() {
            assert_eq!(row.id as usize, index, "{}", row.name);
            assert_eq!(row.id.row().name, row.name);
        }
    }

    #[test]
    fn every_spelling_leads_to_its_row() {
        for row in OPTIONS {
            for spelling in std::iter::once(&row.spelling).chain(row.aliases) {
                let flag = if row.value == ValueType::Switch { spelling.to_string() } else { format!("{spelling}1") };
                assert_eq!(parse_flag(&flag).map(|(found, _)| found.id), Some(row.id), "{flag}");
            }
        }
    }

    #[test]
    fn a_slip_is_told_what_was_meant() {
        for (slip, meant) in [
            ("--arch=sm_80", "-arch="),
            ("-arch sm_80", "-arch="),
            ("-G", "-g"),
            ("-maxregcount=32", "-maxrregcount="),
            ("-maxrregcount 32", "-maxrregcount="),
            ("-prec_div=true", "-prec-div="),
            ("-kernel-used=k", "-kernels-used="),
            ("--lto", "-lto"),
            ("-fmad=false", "-fma="),
            ("-linefo", "-lineinfo"),
            ("--generate-line-info", "-lineinfo"),
            ("--relocatable-device-code=true", "-r"),
            ("--g", "-g"),
            ("--r", "-r"),
        ] {
            assert_eq!(nearest_flag(slip).as_deref(), Some(meant), "{slip}");
        }
        for nonsense in ["", "-", "-x", "-foo", "-bogus", "-Werror"] {
            assert_eq!(nearest_flag(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn what_is_no_option_leads_nowhere() {
        for flag in ["", "-", "lto", "--arch=sm_80", "-arch", "-G", "-Omin", "-lto2", "-Ofast-compile=max", "-maxregcount=3", "-ftz"] {
            assert!(parse_flag(flag).is_none(), "{flag}");
        }
    }
}
