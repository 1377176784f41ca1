//! The plan: exactly what one backend is told, and why.

use std::path::PathBuf;

use serde::Serialize;

use super::Version;
use super::table::OptionId;
use crate::error::{Error, Result, ResultClass};
use crate::input::{Input, InputKind};
use crate::options::{Backend, LinkOptions, OutputKind, Value, name};

/// What the policy has to know about an nvJitLink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LibraryFacts {
    /// The file, without links.
    pub path: PathBuf,
    /// The release; `None` if the library does not say. The policy takes such a library for the newest it knows.
    pub version: Option<Version>,
    /// The functions that give linked LTO-IR are exported. From 13.4 on they work.
    #[serde(skip)]
    pub exports_linked_ltoir: bool,
}

impl LibraryFacts {
    /// The library for a message, such as "nvJitLink 13.5 (/usr/lib/libnvJitLink.so.13)".
    pub fn describe(&self) -> String {
        let version = self.version.map_or("of unknown version".to_owned(), |version| version.to_string());
        format!("nvJitLink {version} ({})", self.path.display())
    }
}

/// What a rule did to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The caller did not ask for it.
    Added,
    /// The caller asked for it.
    Dropped,
}

/// One thing that the policy did to what the caller asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The rule's name.
    pub rule: &'static str,
    /// The option, in the backend's spelling.
    pub option: &'static str,
    /// What was done.
    pub action: Action,
    /// Why.
    pub reason: String,
}

/// What a backend is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Who links.
    pub backend: Backend,
    /// With which library.
    pub library: LibraryFacts,
    /// What it gives.
    #[serde(skip)]
    pub output: OutputKind,
    /// The options, in the order and spelling in which the backend gets them.
    pub options: Vec<String>,
    /// What was done to the caller's options, and why.
    pub decisions: Vec<Decision>,
}

/// What is asked for, free of contradictions, before any library is looked at.
#[derive(Debug)]
pub struct Request<'a> {
    options: &'a LinkOptions,
    lto: bool,
    decisions: Vec<Decision>,
}

impl<'a> Request<'a> {
    /// Checks what holds for every library.
    ///
    /// Fails with no_inputs, missing_arch or incompatible_options.
    pub fn new(options: &'a LinkOptions, inputs: &[Input]) -> Result<Self> {
        if inputs.is_empty() {
            return Err(Error::new(ResultClass::NoInputs, "nothing was added to link"));
        }
        let output = options.output();
        let arch = options.arch().ok_or_else(|| {
            Error::new(ResultClass::MissingArch, "no target architecture was given").hint("set arch, or pass -arch=sm_XX")
        })?;
        let contradiction = |text: String| Err(Error::new(ResultClass::IncompatibleOptions, text));
        if arch.is_virtual && output != OutputKind::Ptx {
            return contradiction(format!(
                "{arch} is a virtual architecture, which only PTX output can have, and the output is {}",
                name(output)
            ));
        }
        if options.get_bool(OptionId::Relocatable) == Some(true) && output == OutputKind::Ptx {
            return contradiction("a relocatable link (-r) cannot give PTX".into());
        }
        let mut decisions = Vec::new();
        let lto = match options.get_bool(OptionId::Lto) {
            Some(false) if output != OutputKind::Cubin => {
                return contradiction(format!("{} output needs link-time optimization (-lto), which is off", name(output)));
            }
            Some(asked) => asked,
            None => match lto_reason(inputs, output) {
                Some(reason) => {
                    decisions.push(Decision {
                        rule: "lto_from_inputs",
                        option: OptionId::Lto.row().spelling,
                        action: Action::Added,
                        reason,
                    });
                    true
                }
                None => false,
            },
        };
        Ok(Self { options, lto, decisions })
    }

    /// The plan for one nvJitLink.
    ///
    /// Fails with unsupported_option if its version lacks something that is asked for.
    pub fn plan(&self, library: &LibraryFacts) -> Result<Plan> {
        let mut options = Vec::new();
        if self.options.output() == OutputKind::Ptx {
            options.push(OptionId::Ptx.row().spelling.to_owned());
        }
        for (row, value) in self.options.iter().filter(|(row, _)| row.id != OptionId::Lto) {
            let flags: Vec<String> = match value {
                Value::Bool(on) if row.spelling.ends_with('=') => vec![format!("{}{on}", row.spelling)],
                Value::Bool(true) => vec![row.spelling.to_owned()],
                Value::Bool(false) => continue,
                Value::Integer(number) => vec![format!("{}{number}", row.spelling)],
                Value::Choice(choice) => vec![format!("{}{choice}", row.spelling)],
                Value::Arch(arch) => vec![format!("{}{arch}", row.spelling)],
                Value::List(list) => list.iter().map(|text| format!("{}{text}", row.spelling)).collect(),
            };
            match row.since {
                Some(since) => needs(library, row.spelling, since)?,
                None => return Err(unsupported(library, &format!("{}, which no nvJitLink up to 13.5 accepts", row.spelling))),
            }
            options.extend(flags);
        }
        if self.options.output() == OutputKind::Ltoir {
            needs(library, "LTO-IR output", LTOIR_OUTPUT_SINCE)?;
            if !library.exports_linked_ltoir {
                return Err(unsupported(library, "LTO-IR output: the library does not export nvJitLinkGetLinkedLTOIR"));
            }
        }
        if let (Some(Value::Choice(level @ ("1" | "2"))), Some(version)) = (self.options.get(OptionId::Optimization), library.version)
            && version >= ONLY_O0_AND_O3_SINCE
        {
            return Err(unsupported(library, &format!("-O{level}, which only nvJitLink before {ONLY_O0_AND_O3_SINCE} accepts")));
        }
        if self.lto {
            options.push(OptionId::Lto.row().spelling.to_owned());
        }
        Ok(Plan {
            backend: Backend::Nvjitlink,
            library: library.clone(),
            output: self.options.output(),
            options,
            decisions: self.decisions.clone(),
        })
    }
}

// nvJitLink 13.2 and 13.3 export the getters too, and answer INTERNAL.
const LTOIR_OUTPUT_SINCE: Version = Version::new(13, 4);
const ONLY_O0_AND_O3_SINCE: Version = Version::new(12, 3);

fn lto_reason(inputs: &[Input], output: OutputKind) -> Option<String> {
    if output != OutputKind::Cubin {
        return Some(format!("{} output needs it", name(output)));
    }
    inputs.iter().find(|input| input.kind() == InputKind::LtoIr).map(|input| format!("'{}' is LTO-IR", input.name()))
}

fn needs(library: &LibraryFacts, what: &str, since: Version) -> Result<()> {
    match library.version {
        Some(version) if version < since => Err(unsupported(library, &format!("{what}, which needs nvJitLink {since}"))),
        _ => Ok(()),
    }
}

fn unsupported(library: &LibraryFacts, what: &str) -> Error {
    Error::new(ResultClass::UnsupportedOption, format!("{} does not have {what}", library.describe()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(kind: InputKind) -> Input {
        let bytes: &[u8] = match kind {
            InputKind::LtoIr => &[0xED, 0x43, 0x4E, 0x7F, 1, 57, 2, 51],
            _ => b".version 8.0\n.target sm_80\n",
        };
        Input::new(Some(kind), bytes.to_vec(), "unit").unwrap()
    }

    fn plan(flags: &[&str], inputs: &[InputKind], version: Option<Version>) -> Result<Plan> {
        let mut options = LinkOptions::default();
        flags.iter().try_for_each(|flag| options.set_flag(flag))?;
        let inputs: Vec<_> = inputs.iter().map(|kind| input(*kind)).collect();
        Request::new(&options, &inputs)?.plan(&LibraryFacts { path: "libnvJitLink.so".into(), version, exports_linked_ltoir: true })
    }

    fn class_of(flags: &[&str], version: (u32, u32)) -> ResultClass {
        plan(flags, &[InputKind::LtoIr], Some(Version::new(version.0, version.1))).map_or_else(|error| error.class(), |_| ResultClass::Ok)
    }

    #[test]
    fn lto_goes_last_whatever_the_order() {
        let plan = plan(&["-lto", "-g", "-arch=sm_80", "-verbose"], &[InputKind::Ptx], None).unwrap();
        assert_eq!(plan.options, ["-arch=sm_80", "-g", "-verbose", "-lto"]);
    }

    #[test]
    fn an_option_is_refused_where_the_version_lacks_it() {
        for (flag, lacks, has) in [
            ("-r", (12, 9), (13, 0)),
            ("-no-cache", (12, 4), (12, 5)),
            ("-split-compile=2", (12, 2), (12, 3)),
            ("-Ofc=max", (12, 4), (12, 5)),
            ("-nvvm-latest", (13, 4), (13, 5)),
            ("-O1", (12, 3), (12, 2)),
        ] {
            assert_eq!(class_of(&["-arch=sm_80", flag], lacks), ResultClass::UnsupportedOption, "{flag}");
            assert_eq!(class_of(&["-arch=sm_80", flag], has), ResultClass::Ok, "{flag}");
        }
        assert_eq!(class_of(&["-arch=sm_80", "-device-stack-protector"], (13, 5)), ResultClass::UnsupportedOption);
    }

    #[test]
    fn contradictions_are_found_before_any_library_is() {
        for flags in [&["-arch=compute_80"][..], &["-arch=sm_80", "-r", "-ptx"], &["-arch=sm_80", "-ptx", "-lto=false"]] {
            assert_eq!(class_of(flags, (13, 5)), ResultClass::IncompatibleOptions, "{flags:?}");
        }
        assert_eq!(class_of(&["-lto"], (13, 5)), ResultClass::MissingArch);
    }

    #[test]
    fn a_library_of_unknown_version_is_taken_for_the_newest() {
        assert!(plan(&["-arch=sm_80", "-r", "-nvvm-latest"], &[InputKind::LtoIr], None).is_ok());
    }
}
