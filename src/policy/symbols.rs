//! Symbols across the inputs of a link: what is defined twice, what nobody defines, which kernels have to come out.
//!
//! nvJitLink from 12.6 on answers success to a symbol that is defined twice in PTX or cubins, and before 12.9 it names an unresolved
//! one on stderr only. The bodies of LTO-IR are scrambled, so of LTO-IR nothing is known here; of two LTO-IR the library itself reports
//! a duplicate, of LTO-IR against PTX or a cubin nobody does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::error::{Diagnostic, Error, Result, ResultClass, Severity};
use crate::input::{Binding, Input, Memory, Piece, Symbol, SymbolKind, Symbols, is_provided_by_the_driver, name_without_static};
use crate::options::LinkOptions;
use crate::output;
use crate::policy::used::UsedNames;

/// The symbols of everything that is linked.
#[derive(Debug, Default)]
pub struct LinkSymbols {
    defined: BTreeMap<String, Definition>,
    wanted: BTreeMap<String, Want>,
    /// What is defined as static only, and where.
    statics: BTreeMap<String, Arc<str>>,
    /// Some part tells nothing of its symbols.
    has_unknown: bool,
    used: UsedNames,
}

/// Who needs a symbol, by the pieces' names, and as what.
#[derive(Debug)]
struct Want {
    form: Form,
    pieces: Vec<Arc<str>>,
}

#[derive(Debug)]
struct Definition {
    form: Form,
    binding: Binding,
    initialized: bool,
    piece: Arc<str>,
}

/// Why two definitions do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clash {
    Twice,
    Form,
    Order,
}

impl Definition {
    /// What speaks against another definition of the name after this one.
    ///
    /// Common ones grow to the largest, and may be smaller than one that has a value. nvJitLink does not merge a common one with a
    /// weak one after it: it dies where both are cubins. Nor, before 12.6, with a strong one before it that has no value. (Measured:
    /// PTX and cubins on 12.0 to 13.5, all pairs in both orders.)
    fn clash(&self, after: &Self) -> Option<Clash> {
        use Binding::{Common, Strong, Weak};
        let may_differ = match (self.binding, after.binding) {
            (Common, Common) => true,
            (Common, _) => after.initialized && self.form.size <= after.form.size,
            (_, Common) => self.initialized && after.form.size <= self.form.size,
            _ => false,
        };
        let sized = Form { size: if may_differ { after.form.size } else { self.form.size }, ..self.form };
        match (self.binding, after.binding) {
            _ if !after.form.fits(sized) => Some(Clash::Form),
            (Strong, Strong) => Some(Clash::Twice),
            (Common, Weak) => Some(Clash::Order),
            (Strong, Common) if !self.initialized => Some(Clash::Order),
            _ => None,
        }
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.binding == Binding::Common {
            f.write_str("common ")?;
        }
        self.form.fmt(f)
    }
}

const DEFINE_ONCE: &str = "define it in one unit and declare it extern in the others, or make it static or inline";
const SAME_DECLARATION: &str = "declare it as it is defined: a header that all units include keeps them the same";

/// A sentence and a hint.
fn not_as_defined(name: &str, (form, piece): (Form, &str), definition: &Definition) -> (String, String) {
    let text = format!("'{name}' is declared as a {form} in '{piece}' and defined as a {definition} in '{}'", definition.piece);
    (text, SAME_DECLARATION.to_owned())
}

/// What has to be the same wherever a name is used and defined. nvJitLink up to 12.5 refuses what is not, 12.6 and later only print that, or
/// crash where one is a variable and the other a function (measured).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    kind: SymbolKind,
    memory: Option<Memory>,
    size: Option<u64>,
}

impl Form {
    /// What is not told, as the size of `extern int a[]`, fits everything.
    fn fits(self, other: Self) -> bool {
        let is_variable = |form: Self| form.kind == SymbolKind::Variable;
        let agree = |one: Option<u64>, two: Option<u64>| one.zip(two).is_none_or(|(one, two)| one == two);
        is_variable(self) == is_variable(other) && self.memory == other.memory && agree(self.size, other.size)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(size) = self.size {
            write!(f, "{size}-byte ")?;
        }
        if let Some(memory) = self.memory {
            write!(f, "{} ", format!("{memory:?}").to_lowercase())?;
        }
        f.write_str(self.kind.name())
    }
}

impl LinkSymbols {
    /// Takes in the symbols of one piece that is linked.
    ///
    /// Fails with duplicate_symbol if it defines what another one does, or declares it as something else.
    pub(super) fn add(&mut self, input: &Input, piece: &Piece, symbols: Symbols) -> Result<()> {
        match symbols {
            Symbols::Unknown => self.has_unknown = true,
            Symbols::Known(symbols) => {
                for symbol in symbols {
                    self.add_symbol(symbol, input, piece)?;
                }
            }
        }
        Ok(())
    }

    fn add_symbol(&mut self, symbol: Symbol, input: &Input, piece: &Piece) -> Result<()> {
        let Symbol { name, kind, binding, defined, memory, size, initialized } = symbol;
        let form = Form { kind, memory, size };
        let clash = if !defined {
            self.want(&name, form, piece)
        } else if binding == Binding::Local {
            let bare = name_without_static(&name).unwrap_or(name);
            self.statics.entry(bare).or_insert_with(|| piece.name.clone());
            return Ok(());
        } else {
            self.define(&name, Definition { form, binding, initialized, piece: piece.name.clone() })
        };
        match clash {
            None => Ok(()),
            Some((text, hint)) => Err(Error::new(ResultClass::DuplicateSymbol, text).on_input(input.name()).on_symbol(&name).hint(hint)),
        }
    }

    /// Fails with a sentence and a hint if the name is declared or defined as something else: nvJitLink compares a declaration with
    /// what is there so far (measured), which matters where common variables grow.
    fn want(&mut self, name: &str, form: Form, piece: &Piece) -> Option<(String, String)> {
        if let Some(definition) = self.defined.get(name).filter(|definition| !form.fits(definition.form)) {
            return Some(not_as_defined(name, (form, &piece.name), definition));
        }
        let Some(want) = self.wanted.get_mut(name) else {
            self.wanted.insert(name.to_owned(), Want { form, pieces: vec![piece.name.clone()] });
            return None;
        };
        if !form.fits(want.form) {
            let first = want.pieces.first().map_or("", Arc::as_ref);
            let text = format!("'{name}' is declared as a {} in '{first}' and as a {form} in '{}'", want.form, piece.name);
            return Some((text, SAME_DECLARATION.to_owned()));
        }
        want.form.size = want.form.size.or(form.size);
        if want.pieces.last() != Some(&piece.name) {
            want.pieces.push(piece.name.clone());
        }
        None
    }

    /// Fails as [`want`](Self::want) does, and if it is a definition too many.
    fn define(&mut self, name: &str, new: Definition) -> Option<(String, String)> {
        let Some(first) = self.defined.get_mut(name) else {
            let other_form = |want: &&Want| !want.form.fits(new.form);
            if let Some(want) = self.wanted.get(name).filter(other_form) {
                return Some(not_as_defined(name, (want.form, want.pieces.first().map_or("", Arc::as_ref)), &new));
            }
            self.defined.insert(name.to_owned(), new);
            return None;
        };
        let clash = first.clash(&new).map(|clash| {
            let (one, two) = (&first.piece, &new.piece);
            match clash {
                Clash::Twice => (format!("'{name}' is defined in '{one}' and again in '{two}'"), DEFINE_ONCE.to_owned()),
                Clash::Form => (format!("'{name}' is a {first} in '{one}' and a {new} in '{two}'"), DEFINE_ONCE.to_owned()),
                Clash::Order => {
                    let (binding, other) = (first.binding.name(), new.binding.name());
                    let text = format!("'{name}' is {binding} in '{one}' and then {other} in '{two}', which nvJitLink cannot merge");
                    (text, format!("add '{two}' first, or {DEFINE_ONCE}"))
                }
            }
        });
        if clash.is_none() && (new.binding < first.binding || new.binding == Binding::Common && new.form.size > first.form.size) {
            *first = new;
        }
        clash
    }

    /// Some part tells nothing of its symbols, so that what is found nowhere may be there.
    pub(super) fn some_are_unknown(&self) -> bool {
        self.has_unknown
    }

    /// What the texts of `kernels_used` and `variables_used` name.
    pub(super) fn used(&self) -> &UsedNames {
        &self.used
    }

    /// Symbols to add to, with what keeps them.
    pub(super) fn with(used: UsedNames) -> Self {
        Self { used, ..Self::default() }
    }

    /// The findings about texts of `kernels_used` and `variables_used` that only the output could
    /// tell, for there is LTO-IR.
    pub fn texts_not_in_output(&mut self, output: &output::Symbols) -> Vec<Diagnostic> {
        if !self.has_unknown {
            return Vec::new();
        }
        for (kind, names) in [(SymbolKind::Kernel, &output.kernels), (SymbolKind::Variable, &output.variables)] {
            for name in names {
                self.used.keeps(kind, name);
            }
        }
        self.used.not_found().collect()
    }

    /// What the output must have and lacks, of the kernels that it has.
    pub fn missing_kernels(&self, options: &LinkOptions, found: &[String]) -> Result<()> {
        let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
        let is_kernel = |definition: &Definition| definition.form.kind == SymbolKind::Kernel;
        let expected = self.defined.iter().filter(|(name, definition)| is_kernel(definition) && self.used.leaves_kernel(name));
        let required = options.required_kernels.iter().map(String::as_str);
        match expected.map(|(name, _)| name.as_str()).chain(required).find(|name| !found.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let text = match self.defined.get(name) {
                    Some(definition) => format!("the kernel '{name}' of '{}' is not in the output", definition.piece),
                    None => format!("the kernel '{name}' is not in the output, and is in no input that could be looked into"),
                };
                Err(Error::new(ResultClass::MissingKernel, text).on_symbol(name))
            }
        }
    }

    /// What a failed link failed of, as far as the symbols tell: the error, with every symbol that is unresolved and every input that wants it.
    pub fn explain_failure(&self, error: Error) -> (Error, Vec<Diagnostic>) {
        let said = error.class();
        let of_the_link = error.diagnostic().backend.as_ref().is_some_and(|backend| backend.call.ends_with("LinkComplete"));
        // LTO-IR may define what nobody else does, so with it only the library knows that something is unresolved.
        let could_be = said == ResultClass::UnresolvedSymbol || (said == ResultClass::LinkFailed && of_the_link && !self.has_unknown);
        let lacking = |name: &str| !self.defined.contains_key(name) && !is_provided_by_the_driver(name);
        let mut unresolved: Vec<(&String, &Want)> = self.wanted.iter().filter(|(name, _)| lacking(name)).collect();
        if !could_be || unresolved.is_empty() {
            return (error, Vec::new());
        }
        // The one that the library names comes first.
        let named = error.diagnostic().symbol.clone();
        unresolved.sort_by_key(|(name, _)| named.as_ref() != Some(name));
        let mut diagnostics = unresolved.iter().map(|(name, want)| self.unresolved(name, &want.pieces, &error));
        match diagnostics.next() {
            Some(first) => (Error::from(first), diagnostics.collect()),
            None => (error, Vec::new()),
        }
    }

    fn unresolved(&self, name: &str, pieces: &[Arc<str>], error: &Error) -> Diagnostic {
        let list = pieces.iter().map(|piece| format!("'{piece}'")).collect::<Vec<_>>().join(", ");
        let hint = if let Some(piece) = self.statics.get(name) {
            Some(format!("'{piece}' has one of that name that is static, which no other unit can see"))
        } else if name.starts_with("cuda") || name.starts_with("__cudaCDP2") {
            Some("it is in libcudadevrt.a: add that too".to_owned())
        } else {
            Some("add the unit that defines it, compiled with -rdc=true (nvcc -dc)".to_owned())
        };
        Diagnostic {
            severity: Severity::Error,
            result: ResultClass::UnresolvedSymbol,
            input: pieces.first().map(|piece| piece.to_string()),
            line: None,
            symbol: Some(name.to_owned()),
            message: format!("'{name}' is used in {list} and defined nowhere"),
            hint,
            backend: error.diagnostic().backend.clone(),
        }
    }
}
