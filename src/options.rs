//! What the caller asked for, checked and owned, in no backend's spelling.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::arch::Arch;
use crate::error::{Error, Result, ResultClass};
use crate::policy::table::{self, OptionId, OptionRow, ValueType};

/// What a link gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// A CUDA binary, an ELF file.
    #[default]
    Cubin,
    /// PTX text.
    Ptx,
    /// LTO-IR that later links take.
    Ltoir,
}

impl fmt::Display for OutputKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cubin => "cubin",
            Self::Ptx => "ptx",
            Self::Ltoir => "ltoir",
        })
    }
}

/// Who links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Whichever can do the job.
    #[default]
    Auto,
    /// nvJitLink.
    Nvjitlink,
    /// The CUDA driver's cuLink functions.
    Driver,
}

impl Backend {
    /// Every backend by its name.
    pub const NAMES: [(&str, Self); 3] = [("auto", Self::Auto), ("nvjitlink", Self::Nvjitlink), ("driver", Self::Driver)];

    /// The backend of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, backend)| *backend)
    }
}

/// Which members of an archive are linked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveMembers {
    /// All, as nvJitLink does.
    #[default]
    All,
    /// Those that define a symbol that is undefined so far, as the field's linkers do.
    Needed,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A switch or a truth value.
    Bool(bool),
    /// A number.
    Integer(i64),
    /// One of a choice.
    Choice(&'static str),
    /// An architecture.
    Arch(Arch),
    /// Texts, in the caller's order.
    List(Vec<String>),
}

/// What packed code may have together once unpacked, unless the caller says otherwise. Measured: libcudf 26.10 has 4.5 GB for all
/// architectures together and 0.7 GB for the largest one, libcuvs 26.10 2.2 and 0.3, libcublasLt 13.10 1.7 and 0.3.
pub const DEFAULT_MAX_UNPACKED_BYTES: u64 = 8 << 30;

/// What a caller asks of a link. Options are set by name or by nvJitLink's flags; both go through the same table.
#[derive(Clone, Debug, Default)]
pub struct LinkOptions {
    /// The nvJitLink to use, and no other.
    pub library_path: Option<PathBuf>,
    /// Who links.
    pub backend: Backend,
    /// Kernels that the output must have.
    pub required_kernels: Vec<String>,
    /// Which members of an archive are linked.
    pub archive_members: ArchiveMembers,
    /// Bytes that the packed code of the inputs may have together once unpacked; 0 is [`DEFAULT_MAX_UNPACKED_BYTES`].
    pub max_unpacked_bytes: u64,
    repeated: Vec<OptionId>,
    output: Option<OutputKind>,
    pass_through: Vec<String>,
    values: BTreeMap<OptionId, Value>,
    /// The names in `values` once more, so that one is not taken twice.
    names: BTreeMap<OptionId, HashSet<String>>,
}

impl LinkOptions {
    /// What the link is to give.
    pub fn output(&self) -> OutputKind {
        self.output.unwrap_or_default()
    }

    /// Says what the link is to give. Fails with incompatible_options if something else was said before.
    pub fn set_output(&mut self, output: OutputKind) -> Result<()> {
        match self.output {
            Some(other) if other != output => {
                Err(Error::new(ResultClass::IncompatibleOptions, format!("the output is asked to be {other} and {output}")))
            }
            _ => {
                self.output = Some(output);
                Ok(())
            }
        }
    }

    /// What packed code may have together once unpacked.
    pub fn unpack_limit(&self) -> u64 {
        if self.max_unpacked_bytes == 0 { DEFAULT_MAX_UNPACKED_BYTES } else { self.max_unpacked_bytes }
    }

    /// The value of an option; `None` if it was not asked for.
    pub fn get(&self, id: OptionId) -> Option<&Value> {
        self.values.get(&id)
    }

    /// The value of a switch or a truth value; `None` if it was not asked for.
    pub fn get_bool(&self, id: OptionId) -> Option<bool> {
        match self.get(id) {
            Some(Value::Bool(on)) => Some(*on),
            _ => None,
        }
    }

    /// The target architecture.
    pub fn arch(&self) -> Option<Arch> {
        match self.get(OptionId::Arch) {
            Some(Value::Arch(arch)) => Some(*arch),
            _ => None,
        }
    }

    /// Every option that was asked for, in the table's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static OptionRow, &Value)> {
        self.values.iter().map(|(id, value)| (id.row(), value))
    }

    /// Sets an option from text, as after the `=` of a flag.
    ///
    /// Fails with bad_option_value or bad_arch, or with incompatible_options if it has another value already.
    /// The options that take a list collect.
    pub fn set(&mut self, id: OptionId, text: &str) -> Result<()> {
        let mut value = parse_value(id.row(), text)?;
        if let (ValueType::Names, Value::List(names)) = (id.row().value, &mut value) {
            let known = self.names.entry(id).or_default();
            names.retain(|name| known.insert(name.clone()));
        }
        if id == OptionId::Ptx {
            return if value == Value::Bool(true) { self.set_output(OutputKind::Ptx) } else { Ok(()) };
        }
        match (self.values.get_mut(&id), value) {
            (None, value) => {
                self.values.insert(id, value);
            }
            (Some(Value::List(list)), Value::List(more)) => list.extend(more),
            (Some(old), new) if *old == new => self.repeated.push(id),
            (Some(_), _) => {
                return Err(Error::new(ResultClass::IncompatibleOptions, format!("{} is given twice, with two values", id.row().name)));
            }
        }
        Ok(())
    }

    /// The options that were set more than once, to the same value.
    pub fn repeated(&self) -> &[OptionId] {
        &self.repeated
    }

    /// Flags that nvJitLink gets as they are.
    pub fn pass_through(&self) -> &[String] {
        &self.pass_through
    }

    /// Takes a flag that the options do not have, for nvJitLink as it is: before `-lto`, after all others. Nothing else checks it, and
    /// there are strings that make nvJitLink end the process.
    ///
    /// Fails with bad_option_value for what is no flag, or is an option that the table knows.
    pub fn add_pass_through(&mut self, flag: &str) -> Result<()> {
        let bad = |reason: &str| Err(Error::new(ResultClass::BadOptionValue, format!("'{flag}' cannot be passed through: {reason}")));
        if !flag.starts_with('-') || flag.contains('\0') {
            return bad("a flag begins with a dash");
        }
        // nvJitLink takes whatever begins with -lto for it, and crashes on destroying a handle that has read it and then failed.
        if table::parse_flag(flag).is_some() || flag.starts_with("-lto") || flag.starts_with("-dlto") {
            return bad("it is an option; set it as one");
        }
        if flag.len() > LONGEST_TEXT {
            return bad("it is too long");
        }
        self.pass_through.push(flag.to_owned());
        Ok(())
    }

    /// Takes an option in nvJitLink's spelling, such as `-arch=sm_90` or `-lto`.
    ///
    /// Fails with unknown_option, and as [`set`](Self::set) does.
    pub fn set_flag(&mut self, flag: &str) -> Result<()> {
        let (row, value) = table::parse_flag(flag).ok_or_else(|| {
            let hint = match table::nearest_flag(flag) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("the options are {}", table::OPTIONS.iter().map(|row| row.spelling).collect::<Vec<_>>().join(" ")),
            };
            Error::new(ResultClass::UnknownOption, format!("'{flag}' is no option")).hint(hint)
        })?;
        self.set(row.id, value.unwrap_or("true"))
    }
}

/// Bytes of one text that is passed on to ptxas or NVVM.
const LONGEST_TEXT: usize = 4096;

fn parse_value(row: &OptionRow, text: &str) -> Result<Value> {
    let bad = |takes: &str| Error::new(ResultClass::BadOptionValue, format!("{} takes {takes}, not '{text}'", row.name));
    match row.value {
        ValueType::Switch | ValueType::Bool => match text {
            "true" | "1" => Ok(Value::Bool(true)),
            "false" | "0" => Ok(Value::Bool(false)),
            _ => Err(bad("true or false")),
        },
        ValueType::Integer(least, most) => match text.parse() {
            Ok(number) if (least..=most).contains(&number) && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(Value::Integer(number)),
            _ => Err(bad(&format!("a whole number from {least} to {most}"))),
        },
        ValueType::Choice(choices) => match choices.iter().find(|choice| **choice == text) {
            Some(choice) => Ok(Value::Choice(choice)),
            None => Err(bad(&choices.join(", "))),
        },
        ValueType::Arch => text.parse().map(Value::Arch),
        ValueType::Names => {
            let names: Vec<String> = text.split([',', ' ', '\t', '\n']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
            if names.is_empty() || text.contains('\0') {
                Err(bad("a name, or several with commas between them"))
            } else {
                Ok(Value::List(names))
            }
        }
        // nvJitLink ends the process over an option for ptxas of 100,000 bytes.
        ValueType::List if text.len() > LONGEST_TEXT => Err(bad(&format!("at most {LONGEST_TEXT} bytes"))),
        ValueType::List if text.is_empty() || text.contains('\0') => Err(bad("a text that is not empty")),
        ValueType::List => Ok(Value::List(vec![text.to_owned()])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(flags: &[&str]) -> ResultClass {
        let mut options = LinkOptions::default();
        match flags.iter().try_for_each(|flag| options.set_flag(flag)) {
            Ok(()) => ResultClass::Ok,
            Err(error) => error.class(),
        }
    }

    #[test]
    fn a_mistaken_value_is_named_as_such() {
        for flag in [
            "-O9",
            "-Ofc=fast",
            "-ftz=yes",
            "-maxrregcount=",
            "-maxrregcount=-1",
            "-maxrregcount=+3",
            "-maxrregcount=x",
            "-split-compile=1.5",
        ] {
            assert_eq!(class_of(&[flag]), ResultClass::BadOptionValue, "{flag}");
        }
        for flag in ["-jump-table-density=102", "-kernels-used=", "-lto=maybe", "-maxrregcount=99999999999999999999"] {
            assert_eq!(class_of(&[flag]), ResultClass::BadOptionValue, "{flag}");
        }
    }

    #[test]
    fn saying_the_same_twice_is_fine_and_two_things_is_not() {
        assert_eq!(class_of(&["-arch=sm_80", "-arch=sm_80", "-g", "-g", "-ftz=1", "-ftz=true"]), ResultClass::Ok);
        for flags in [["-arch=sm_80", "-arch=sm_90"], ["-ftz=true", "-ftz=false"], ["-O0", "-O3"]] {
            assert_eq!(class_of(&flags), ResultClass::IncompatibleOptions, "{flags:?}");
        }
        let mut options = LinkOptions::default();
        options.set_output(OutputKind::Ltoir).unwrap();
        assert_eq!(options.set_flag("-ptx").unwrap_err().class(), ResultClass::IncompatibleOptions);
    }

    #[test]
    fn only_what_is_no_option_passes_through() {
        let mut options = LinkOptions::default();
        options.add_pass_through("-res-usage").unwrap();
        for flag in ["-lto", "-lto2", "-dlto=1", "-arch=sm_80", "-ftz=true", "res-usage", ""] {
            assert_eq!(options.add_pass_through(flag).unwrap_err().class(), ResultClass::BadOptionValue, "{flag}");
        }
        assert_eq!(options.pass_through(), ["-res-usage"]);
    }

    #[test]
    fn lists_keep_the_callers_order_and_names_stand_alone() {
        let mut options = LinkOptions::default();
        for flag in ["-kernels-used=b", "-kernels-used=a, c c b,", "-Xptxas=-v", "-Xptxas=-O1 -v", "-Xptxas=-v"] {
            options.set_flag(flag).unwrap();
        }
        let list = |texts: &[&str]| Value::List(texts.iter().map(|text| text.to_string()).collect());
        assert_eq!(options.get(OptionId::KernelsUsed), Some(&list(&["b", "a", "c"])));
        assert_eq!(options.get(OptionId::PtxasOptions), Some(&list(&["-v", "-O1 -v", "-v"])));
        for empty in ["-kernels-used=", "-kernels-used= ", "-variables-used=,"] {
            assert_eq!(class_of(&[empty]), ResultClass::BadOptionValue, "{empty}");
        }
    }
}
