//! One row an option. The parser of flags, the messages and the plan all read it here.

use super::Version;
use crate::options::Value;

/// The oldest release that the table knows.
pub const OLDEST: Version = Version::new(12, 0);
/// The newest release that the table knows.
pub const NEWEST: Version = Version::new(13, 5);

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
    /// The first nvJitLink that accepts it; `None` if none does.
    pub since: Option<Version>,
    /// What it does, in half a sentence.
    pub help: &'static str,
}

const MANY: i64 = i32::MAX as i64;

/// Every option. Versions are measured: `nvJitLinkCreate` of each release from 12.0 to 13.5 was asked.
pub const OPTIONS: &[OptionRow] = &[
    row(OptionId::Arch, "arch", "-arch=", ValueType::Arch, V12_0, "the architecture to link for; compute_XX for PTX output only"),
    row(OptionId::Ptx, "output", "-ptx", ValueType::Switch, V12_0, "emit PTX instead of a cubin; every input must be LTO-IR"),
    row(
        OptionId::Relocatable,
        "relocatable",
        "-r",
        ValueType::Switch,
        Some(Version::new(13, 0)),
        "link incrementally: give another relocatable object",
    ),
    row(
        OptionId::Optimization,
        "optimization",
        "-O",
        ValueType::Choice(&["0", "1", "2", "3"]),
        V12_0,
        "optimization level; 1 and 2 only before 12.3",
    ),
    row(
        OptionId::FastCompile,
        "fast_compile",
        "-Ofc=",
        ValueType::Choice(&["min", "mid", "max"]),
        Some(Version::new(12, 5)),
        "trade run time for compile time",
    ),
    row(OptionId::Debug, "debug", "-g", ValueType::Switch, V12_0, "generate debug information"),
    row(OptionId::Lineinfo, "lineinfo", "-lineinfo", ValueType::Switch, V12_0, "generate line information"),
    row(
        OptionId::MaxRegisterCount,
        "max_register_count",
        "-maxrregcount=",
        ValueType::Integer(1, MANY),
        V12_0,
        "registers that a thread may use",
    ),
    row(OptionId::Ftz, "ftz", "-ftz=", ValueType::Bool, V12_0, "flush denormal numbers to zero"),
    row(OptionId::PrecDiv, "prec_div", "-prec-div=", ValueType::Bool, V12_0, "precise division"),
    row(OptionId::PrecSqrt, "prec_sqrt", "-prec-sqrt=", ValueType::Bool, V12_0, "precise square root"),
    row(OptionId::Fma, "fma", "-fma=", ValueType::Bool, V12_0, "contract a multiplication and an addition"),
    row(OptionId::KernelsUsed, "kernels_used", "-kernels-used=", ValueType::List, V12_0, "kernels to keep; others may be removed"),
    row(OptionId::VariablesUsed, "variables_used", "-variables-used=", ValueType::List, V12_0, "variables to keep; others may be removed"),
    row(
        OptionId::OptimizeUnusedVariables,
        "optimize_unused_variables",
        "-optimize-unused-variables",
        ValueType::Switch,
        V12_0,
        "remove variables that device code does not use",
    ),
    row(OptionId::PtxasOptions, "ptxas_options", "-Xptxas=", ValueType::List, V12_0, "one option for ptxas"),
    row(OptionId::NvvmOptions, "nvvm_options", "-Xnvvm=", ValueType::List, V12_0, "one option for NVVM; undocumented since 12.3"),
    row(
        OptionId::NvvmLatest,
        "nvvm_latest",
        "-nvvm-latest",
        ValueType::Switch,
        Some(Version::new(13, 5)),
        "use the newest NVVM for every architecture",
    ),
    row(
        OptionId::SplitCompile,
        "split_compile",
        "-split-compile=",
        ValueType::Integer(0, MANY),
        V12_3,
        "threads of one link; 0 for all processors",
    ),
    row(
        OptionId::SplitCompileExtended,
        "split_compile_extended",
        "-split-compile-extended=",
        ValueType::Integer(0, MANY),
        V12_3,
        "the same, more aggressive, with LTO only",
    ),
    row(
        OptionId::JumpTableDensity,
        "jump_table_density",
        "-jump-table-density=",
        ValueType::Integer(0, 101),
        V12_3,
        "percent of cases that make a switch a jump table, with LTO",
    ),
    row(OptionId::NoCache, "no_cache", "-no-cache", ValueType::Switch, Some(Version::new(12, 5)), "do not use nvJitLink's own cache"),
    row(
        OptionId::DeviceStackProtector,
        "device_stack_protector",
        "-device-stack-protector",
        ValueType::Switch,
        None,
        "documented since 12.6 and accepted by no release up to 13.5",
    ),
    row(OptionId::Time, "time", "-time", ValueType::Switch, V12_0, "put timings into the info log"),
    row(OptionId::Verbose, "verbose", "-verbose", ValueType::Switch, V12_0, "put more into the info log"),
    // Last: nvJitLink before 12.8 crashes on destroying a handle whose creation failed after it had read -lto.
    OptionRow { aliases: &["-dlto"], ..row(OptionId::Lto, "lto", "-lto", ValueType::Switch, V12_0, "optimize at link time") },
];

const V12_0: Option<Version> = Some(Version::new(12, 0));
const V12_3: Option<Version> = Some(Version::new(12, 3));

const fn row(
    id: OptionId,
    name: &'static str,
    spelling: &'static str,
    value: ValueType,
    since: Option<Version>,
    help: &'static str,
) -> OptionRow {
    OptionRow { id, name, spelling, aliases: &[], value, since, help }
}

impl OptionId {
    /// The option's row.
    pub fn row(self) -> &'static OptionRow {
        &OPTIONS[self as usize]
    }
}

impl OptionRow {
    /// The option as nvJitLink gets it: one flag, or one for each text of a list.
    pub fn flags(&self, value: &Value) -> Vec<String> {
        match value {
            Value::Bool(on) if self.spelling.ends_with('=') => vec![format!("{}{on}", self.spelling)],
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
    fn what_is_no_option_leads_nowhere() {
        for flag in ["", "-", "lto", "--arch=sm_80", "-arch", "-G", "-Omin", "-lto2", "-Ofast-compile=max", "-maxregcount=3", "-ftz"] {
            assert!(parse_flag(flag).is_none(), "{flag}");
        }
    }
}
