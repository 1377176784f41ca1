//! What came out of a link: looked at, not believed.

use serde::Serialize;

use crate::arch::Arch;
use crate::error::{Error, Result, ResultClass};
use crate::input::{self, Facts, InputKind, SymbolKind};
use crate::options::OutputKind;

/// What came out, for JSON.
#[derive(Clone, Debug, Serialize)]
pub struct OutputDescription {
    kind: OutputKind,
    /// In bytes; that of PTX counts its NUL.
    size: usize,
    #[serde(flatten)]
    symbols: Symbols,
}

/// The result of a link.
#[derive(Clone, Debug)]
pub struct Output {
    kind: OutputKind,
    bytes: Vec<u8>,
    symbols: Symbols,
}

/// What the output's symbols say; nothing for LTO-IR, whose body is scrambled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Symbols {
    /// The kernels that it defines.
    pub kernels: Vec<String>,
    /// What it uses and does not define.
    pub undefined: Vec<String>,
    /// The variables that it defines.
    #[serde(skip)]
    pub variables: Vec<String>,
}

impl Output {
    /// Looks at what a backend gave.
    ///
    /// Fails with link_failed if it is not a whole image of that kind for `target`.
    pub(crate) fn checked(kind: OutputKind, target: Option<Arch>, bytes: Vec<u8>) -> Result<Self> {
        let broken =
            |why: String| Error::new(ResultClass::LinkFailed, format!("the library reported success and gave a {} that is {why}", kind));
        let facts = input::examine(&bytes, &mut |_| None).map_err(|problem| broken(problem.to_string()))?;
        let expected = match kind {
            OutputKind::Cubin => InputKind::Cubin,
            OutputKind::Ptx => InputKind::Ptx,
            OutputKind::Ltoir => InputKind::LtoIr,
        };
        if facts.kind != expected {
            return Err(broken(format!("a {}", facts.kind)));
        }
        let other_arch = |arch: &Arch| kind == OutputKind::Cubin && target.is_some_and(|target| target.number != arch.number);
        if let Some(arch) = facts.parts.iter().filter_map(|part| part.arch).find(other_arch) {
            return Err(broken(format!("for {arch}")));
        }
        let symbols = symbols(&facts, &bytes).map_err(|problem| broken(problem.to_string()))?;
        Ok(Self { kind, bytes, symbols })
    }

    /// What it is and has.
    pub fn describe(&self) -> OutputDescription {
        OutputDescription { kind: self.kind, size: self.bytes.len(), symbols: self.symbols.clone() }
    }

    /// What it is.
    pub fn kind(&self) -> OutputKind {
        self.kind
    }

    /// The bytes, as the library gave them; PTX ends in a NUL.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Kernels and undefined symbols.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }
}

fn symbols(facts: &Facts, bytes: &[u8]) -> std::result::Result<Symbols, input::Problem> {
    let mut found = Symbols::default();
    for part in &facts.parts {
        let input::Symbols::Known(symbols) = facts.symbols(bytes, part)? else { continue };
        for symbol in symbols {
            match (symbol.defined, symbol.kind) {
                (false, _) => found.undefined.push(symbol.name),
                (true, SymbolKind::Kernel) => found.kernels.push(symbol.name),
                (true, SymbolKind::Variable) => found.variables.push(symbol.name),
                (true, SymbolKind::Function) => {}
            }
        }
    }
    Ok(found)
}
