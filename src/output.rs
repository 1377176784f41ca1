//! What came out of a link.

use object::Endianness;
use object::elf::{FileHeader64, SymbolOther};
use object::read::elf::{FileHeader, Sym};

use crate::options::OutputKind;

/// The result of a link.
#[derive(Clone, Debug)]
pub struct Output {
    kind: OutputKind,
    bytes: Vec<u8>,
}

/// What a cubin's symbol table says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The kernels that it defines, by name.
    pub kernels: Vec<String>,
    /// The symbols that it uses and does not define.
    pub undefined: Vec<String>,
}

/// The bit of `st_other` that marks an entry point (`STO_CUDA_ENTRY`; `readelf -s` of every cubin of 12.0 to 13.5 shows it on kernels only).
const STO_CUDA_ENTRY: SymbolOther = SymbolOther(0x10);

impl Output {
    pub(crate) fn new(kind: OutputKind, bytes: Vec<u8>) -> Self {
        Self { kind, bytes }
    }

    /// What it is.
    pub fn kind(&self) -> OutputKind {
        self.kind
    }

    /// The bytes, as the library gave them; PTX ends in a NUL.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Kernels and undefined symbols of a cubin; nothing for PTX and LTO-IR.
    pub fn symbols(&self) -> Symbols {
        match self.kind {
            OutputKind::Cubin => cubin_symbols(&self.bytes).unwrap_or_default(),
            OutputKind::Ptx | OutputKind::Ltoir => Symbols::default(),
        }
    }
}

fn cubin_symbols(bytes: &[u8]) -> object::Result<Symbols> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let table = header.sections(endian, bytes)?.symbols(endian, bytes, object::elf::SHT_SYMTAB)?;
    let mut symbols = Symbols::default();
    for symbol in table.iter() {
        let name = || String::from_utf8_lossy(table.symbol_name(endian, symbol).unwrap_or_default()).into_owned();
        if symbol.is_undefined(endian) {
            symbols.undefined.push(name());
        } else if symbol.st_type() == object::elf::STT_FUNC && symbol.st_other() & STO_CUDA_ENTRY == STO_CUDA_ENTRY {
            symbols.kernels.push(name());
        }
    }
    symbols.undefined.retain(|name| !name.is_empty());
    Ok(symbols)
}
