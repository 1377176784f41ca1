//! The symbols of device code: which kernels, functions and variables an image defines, and which it needs.
//!
//! A cubin has them in its ELF symbol table, PTX in its directives (`ptx_symbols`); the two say the same of the same code. LTO-IR has a
//! scrambled body, so nothing can be known of it.

use std::collections::{BTreeMap, BTreeSet};

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};

use super::bytes::{Budget, View};
use super::{Compression, Facts, Part, PartKind, Problem, ptx_symbols};

/// One symbol of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name as the linker sees it: mangled, for C++.
    pub name: String,
    /// What it names.
    pub kind: SymbolKind,
    /// How it goes together with others of its name.
    pub binding: Binding,
    /// Whether the image defines it; else it needs it from another.
    ///
    /// That a symbol is needed does not always make it an error to lack it: nvJitLink asks for a function only if a kernel or a variable's
    /// initial value leads to it, and never for [those of the driver](is_provided_by_the_driver).
    pub defined: bool,
    /// Where a variable lives; `None` for kernels and functions.
    pub memory: Option<Memory>,
    /// How many bytes a variable has; `None` for kernels and functions, and where the image does not tell, as for `extern int a[]`.
    pub size: Option<u64>,
    /// Whether the image has a value for a variable in global memory.
    pub initialized: bool,
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A function that the host can launch.
    Kernel,
    /// Any other function.
    Function,
    /// A variable, texture, surface or sampler.
    Variable,
}

impl SymbolKind {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            SymbolKind::Kernel => "kernel",
            SymbolKind::Function => "function",
            SymbolKind::Variable => "variable",
        }
    }
}

/// How a definition goes together with others of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// The only one: a second strong one is an error.
    Strong,
    /// Gives way to a strong one, and merges with other weak ones. nvcc makes templates and inline functions weak.
    Weak,
    /// Merges with others of its name. Textures, surfaces and samplers are like this whatever their directive.
    Common,
    /// Nobody else sees it (`static`, or an unnamed namespace).
    Local,
}

impl Binding {
    /// In lower case.
    pub fn name(self) -> &'static str {
        match self {
            Binding::Strong => "strong",
            Binding::Weak => "weak",
            Binding::Common => "common",
            Binding::Local => "local",
        }
    }
}

/// Where a variable lives. nvJitLink takes two of different memories, or sizes, for a mistake; from 12.6 on it only prints that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// `__device__` and `__managed__`.
    Global,
    /// `__constant__`.
    Constant,
    /// `__shared__`.
    Shared,
    /// A texture reference.
    Texture,
    /// A surface reference.
    Surface,
    /// A sampler reference.
    Sampler,
}

/// The symbols of an image, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// All of them.
    Known(Vec<Symbol>),
    /// There may be any: the image is LTO-IR, or of a kind that we cannot read.
    Unknown,
}

/// The symbols of an unpacked image.
///
/// Left out is what means nothing to a link: sections, labels, the compiler's own locals (`$...`, parameters), functions that are declared and
/// never mentioned, and unsized `extern __shared__` arrays, which stand for memory that the launch gives.
/// The work is linear in the size of the image.
pub fn symbols(kind: PartKind, image: &[u8]) -> Result<Symbols, Problem> {
    read(kind, View::new(image))
}

impl Facts {
    /// The symbols of a part, which is unpacked for it. `input` is what was examined.
    pub fn symbols(&self, input: &[u8], part: &Part) -> Result<Symbols, Problem> {
        if part.has_known_symbols() { part.symbols(&self.part_bytes(input, part)?) } else { Ok(Symbols::Unknown) }
    }
}

impl Part {
    /// Whether its bytes tell its symbols.
    pub(super) fn has_known_symbols(&self) -> bool {
        matches!(self.kind, PartKind::Cubin | PartKind::Ptx | PartKind::RelocatablePtx)
    }

    /// Its symbols. `bytes` are its own, unpacked.
    pub(super) fn symbols(&self, bytes: &[u8]) -> Result<Symbols, Problem> {
        if self.compression == Compression::Stored {
            return read(self.kind, View { bytes, offset: self.offset });
        }
        symbols(self.kind, bytes).map_err(|problem| self.once_unpacked(problem))
    }
}

fn read(kind: PartKind, image: View) -> Result<Symbols, Problem> {
    match kind {
        PartKind::Cubin => {
            let symbols = match image.bytes.get(4) {
                Some(2) => read_elf::<elf::FileHeader64<Endianness>>(image),
                Some(1) => read_elf::<elf::FileHeader32<Endianness>>(image),
                _ => Err(image.damaged(4, "cubin of unknown ELF class")),
            };
            symbols.map(Symbols::Known)
        }
        PartKind::Ptx | PartKind::RelocatablePtx => Ok(Symbols::Known(ptx_symbols::read(image))),
        PartKind::LtoIr | PartKind::TileIr | PartKind::Concatenated | PartKind::Other(_) => Ok(Symbols::Unknown),
    }
}

// What NVIDIA's tools of 12.0 to 13.5 write beside functions, as symbol types and in the bits of `st_other` that ELF leaves to the machine.
// Plain objects are the linker's own: weak references to `__UFT` and the like, and sizes.
const STT_CUDA_TEXTURE: u8 = 10;
const STT_CUDA_SAMPLER: u8 = 11;
const STT_CUDA_SURFACE: u8 = 12;
const STT_CUDA_OBJECT: u8 = 13;
const STO_CUDA_ENTRY: u8 = 0x10;
// The type of `.nv.global`, which like SHT_NOBITS has no bytes in the file.
const SHT_CUDA_GLOBAL: u32 = 0x7000_0007;
const STO_CUDA_MEMORY: u8 = 0xE0;
const STO_CUDA_GLOBAL: u8 = 0x20;
const STO_CUDA_SHARED: u8 = 0x40;
const STO_CUDA_CONSTANT: u8 = 0x80;

/// Kind and memory; `None` for what is no symbol of the program, as sections and memory that the tools reserve (0xA0).
fn kind_of(symbol_type: u8, other: u8) -> Option<(SymbolKind, Option<Memory>)> {
    let memory = match (symbol_type, other & STO_CUDA_MEMORY) {
        (STT_CUDA_TEXTURE, _) => Memory::Texture,
        (STT_CUDA_SAMPLER, _) => Memory::Sampler,
        (STT_CUDA_SURFACE, _) => Memory::Surface,
        (STT_CUDA_OBJECT, STO_CUDA_GLOBAL) => Memory::Global,
        (STT_CUDA_OBJECT, STO_CUDA_SHARED) => Memory::Shared,
        (STT_CUDA_OBJECT, STO_CUDA_CONSTANT) => Memory::Constant,
        _ if symbol_type != elf::STT_FUNC.0 => return None,
        _ if other & STO_CUDA_ENTRY != 0 => return Some((SymbolKind::Kernel, None)),
        _ => return Some((SymbolKind::Function, None)),
    };
    Some((SymbolKind::Variable, Some(memory)))
}

fn read_elf<Elf: FileHeader<Endian = Endianness>>(view: View) -> Result<Vec<Symbol>, Problem> {
    let broken = |what: &'static str| move |error| view.damaged(0, format!("cubin {what}: {error}"));
    let header = Elf::parse(view.bytes).map_err(broken("header"))?;
    let endian = header.endian().map_err(broken("header"))?;
    let sections = header.sections(endian, view.bytes).map_err(broken("section headers"))?;
    let table = sections.symbols(endian, view.bytes, elf::SHT_SYMTAB).map_err(broken("symbol table"))?;
    let has_bytes = |symbol: &Elf::Sym, index| {
        let section = table.symbol_section(endian, symbol, index).ok().flatten().and_then(|index| sections.section(index).ok());
        section.is_some_and(|section| ![elf::SHT_NOBITS.0, SHT_CUDA_GLOBAL].contains(&section.sh_type(endian).0))
    };
    let mut names = Budget::new(view, 4);
    let mut symbols = Vec::new();
    for (index, symbol) in table.enumerate() {
        let Some((kind, memory)) = kind_of(symbol.st_type().0, symbol.st_other().0) else { continue };
        let is_bound_by_the_host = matches!(memory, Some(Memory::Texture | Memory::Sampler | Memory::Surface));
        let is_undefined = symbol.is_undefined(endian);
        let binding = match symbol.st_bind() {
            _ if is_bound_by_the_host || symbol.is_common(endian) => Binding::Common,
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Strong,
        };
        let size: u64 = symbol.st_size(endian).into();
        let name = table.symbol_name(endian, symbol).map_err(broken("symbol name"))?;
        names.spend(name.len() as u64, "symbol names")?;
        // Of an unsized array; a partial link defines it.
        let is_of_the_launch = memory == Some(Memory::Shared) && size == 0;
        let is_of_the_compiler =
            binding == Binding::Local && (is_undefined || symbol.st_visibility() != elf::STV_DEFAULT || is_internal(name));
        if name.is_empty() || is_of_the_launch || is_of_the_compiler {
            continue;
        }
        symbols.push(Symbol {
            name: String::from_utf8_lossy(name).into_owned(),
            kind,
            binding,
            defined: !is_undefined || is_bound_by_the_host,
            memory,
            size: (kind == SymbolKind::Variable && size > 0).then_some(size),
            initialized: memory == Some(Memory::Global) && has_bytes(symbol, index),
        });
    }
    Ok(symbols)
}

/// Whether a local symbol has a name that no source can give it: `$str`, `$__internal_0_$...`, `.nv.constant0`.
pub(super) fn is_internal(name: &[u8]) -> bool {
    matches!(name, [b'$' | b'.', ..])
}

/// Every name that nvJitLink accepts without a definition, for the driver has one, but for those that begin with `__cuda_syscall`.
///
/// Measured: calls of 523 candidates, among them every such name in the libraries' strings and in `libcudadevrt.a`, linked by 12.0.140, 12.4.127,
/// 12.9.86, 13.0.88 and 13.5.37. The first rows are accepted by all of them, `cudaGraph...` but for Launch since 12.4, the last rows by 13.5.
/// Everything else in a program that launches from the device (`cuda...`, `__cudaCDP2...`) is in `libcudadevrt.a`.
const OF_THE_DRIVER: &[&str] = &[
    "__assertfail",
    "__profile",
    "free",
    "malloc",
    "vfprintf",
    "vprintf",
    "cnpCtxSynchronize",
    "cnpDeviceGetAttribute",
    "cnpDeviceGetName",
    "cnpDeviceGetTotalMem",
    "cnpEventCreate",
    "cnpEventDestroy",
    "cnpEventRecord",
    "cnpFuncGetAttribute",
    "cnpGetCacheConfig",
    "cnpGetDevice",
    "cnpGetDeviceCount",
    "cnpGetLastError",
    "cnpGetLimit",
    "cnpGetParameterBuffer",
    "cnpGetParameterBufferV2",
    "cnpGetSharedMemConfig",
    "cnpLaunchDevice",
    "cnpLaunchDeviceV2",
    "cnpSetLastError",
    "cnpStreamCreate",
    "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    "cudaGraphLaunch",
    "cudaGraphKernelNodeSetEnabled",
    "cudaGraphKernelNodeSetGridDim",
    "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply",
    "cudaGraphSetConditional",
    "cudaDeviceMemcpyAsync",
    "cudaDeviceMemcpyBatchAsync",
    "cudaFabricOpErrorStatusCount",
    "cudaFabricOpErrorStatusGet",
    "cudaResizeSharedMemory",
    "cudaSubgridScheduleManageWarpSpecializedWorkspaceAndDependencies",
    "cudaSubgridSynchronousWorkspaceAdvanceWorkset",
    "cudaSubgridSynchronousWorkspaceCompleteAndFetchWorkItem",
    "cudaSubgridSynchronousWorkspaceGetWorksetUserData",
    "cudaSubgridSynchronousWorkspaceInitialize",
    "cudaSubgridWarpSpecializedWorkspaceAdvanceWorkset",
    "cudaSubgridWarpSpecializedWorkspaceCompleteWorkItem",
    "cudaSubgridWarpSpecializedWorkspaceFetchWorkItem",
    "cudaSubgridWarpSpecializedWorkspaceGetWorksetUserData",
    "cudaSubgridWarpSpecializedWorkspaceInitialize",
    "cudaSubgridWarpSpecializedWorkspaceWaitOnWorkItemDependencies",
];

/// Whether an undefined symbol of this name needs no definition in a link: the driver has it when it loads the code.
/// Some names are younger than some libraries, which then ask for them; that is for the library to say.
pub fn is_provided_by_the_driver(name: &str) -> bool {
    name.starts_with("__cuda_syscall") || OF_THE_DRIVER.contains(&name)
}

/// What a local symbol would be called if its source did not say `static`, by which another unit may be looking for it.
///
/// nvcc and NVRTC put a tag of the unit into the names of what is static: `__nv_static_33__TAG__Z1fi`, where 33 is the length of `_TAG`,
/// and `_ZN42_INTERNAL_TAG1fEi`. `None` if there is no tag, or what is left cannot be told, as for templates.
pub fn name_without_static(name: &str) -> Option<String> {
    let (bare, was_tagged) = match name.strip_prefix("__nv_static_").and_then(|rest| sized(rest, "_")) {
        Some((_, rest)) => (rest.strip_prefix('_')?, true),
        None => (name, false),
    };
    let Some((tag, rest)) = bare.strip_prefix("_ZN").and_then(|rest| sized(rest, "")) else {
        return was_tagged.then(|| bare.to_owned());
    };
    if !tag.starts_with("_INTERNAL_") {
        return was_tagged.then(|| bare.to_owned());
    }
    let (last, after) = sized(rest, "")?;
    match (after.strip_prefix('E'), after.bytes().next()) {
        // A variable outside of every namespace is not mangled.
        (Some(""), _) => Some(last.to_owned()),
        (Some(parameters), _) => Some(format!("_Z{}{last}{parameters}", last.len())),
        (None, Some(b'0'..=b'9')) => Some(format!("_ZN{rest}")),
        _ => None,
    }
}

/// The text that begins with its own length, and what follows: `f` and `Ei` of `1fEi`.
fn sized<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = text.split_at_checked(digits)?;
    rest.strip_prefix(separator)?.split_at_checked(length.parse().ok()?)
}

/// The symbols of an input as a whole: one of each name, whatever number of parts have it.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// What others can see, by name: kind and the strongest binding.
    pub defined: BTreeMap<String, (SymbolKind, Binding)>,
    undefined: BTreeSet<String>,
}

impl Summary {
    pub fn add(&mut self, symbols: Vec<Symbol>) {
        for symbol in symbols {
            if !symbol.defined {
                self.undefined.insert(symbol.name);
            } else if symbol.binding != Binding::Local {
                let said = self.defined.entry(symbol.name).or_insert((symbol.kind, symbol.binding));
                said.1 = said.1.min(symbol.binding);
            }
        }
    }

    /// What some part needs and none defines.
    pub fn undefined(&self) -> impl Iterator<Item = &String> {
        self.undefined.iter().filter(|name| !self.defined.contains_key(*name))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    /// Binding and type, `st_other`, section, size and name; and what we make of it.
    type Case = ((u8, u8, u16, u64, &'static str), Option<(SymbolKind, Binding, bool, Option<Memory>, Option<u64>)>);

    const LOCAL: u8 = 0;
    const GLOBAL: u8 = 0x10;
    const WEAK: u8 = 0x20;
    const FUNC: u8 = 2;
    const OBJECT: u8 = 13;
    const COMMON: u16 = 0xFFF2;

    const CASES: &[Case] = &[
        ((GLOBAL | FUNC, 0x10, 1, 9, "k"), Some((SymbolKind::Kernel, Binding::Strong, true, None, None))),
        // Entry and some other bit, as ptxas has of them.
        ((WEAK | FUNC, 0x50, 1, 9, "weak_k"), Some((SymbolKind::Kernel, Binding::Weak, true, None, None))),
        ((LOCAL | FUNC, 0x10, 1, 9, "static_k"), Some((SymbolKind::Kernel, Binding::Local, true, None, None))),
        ((GLOBAL | FUNC, 0, 1, 9, "f"), Some((SymbolKind::Function, Binding::Strong, true, None, None))),
        ((GLOBAL | FUNC, 0, 0, 0, "needed_f"), Some((SymbolKind::Function, Binding::Strong, false, None, None))),
        ((GLOBAL | OBJECT, 0x20, 1, 4, "v"), Some((SymbolKind::Variable, Binding::Strong, true, Some(Memory::Global), Some(4)))),
        ((GLOBAL | OBJECT, 0x24, 1, 4, "managed"), Some((SymbolKind::Variable, Binding::Strong, true, Some(Memory::Global), Some(4)))),
        ((GLOBAL | OBJECT, 0x20, 0, 0, "needed_v"), Some((SymbolKind::Variable, Binding::Strong, false, Some(Memory::Global), None))),
        ((GLOBAL | OBJECT, 0x20, COMMON, 4, "c"), Some((SymbolKind::Variable, Binding::Common, true, Some(Memory::Global), Some(4)))),
        ((WEAK | OBJECT, 0x80, 1, 4, "w"), Some((SymbolKind::Variable, Binding::Weak, true, Some(Memory::Constant), Some(4)))),
        ((GLOBAL | OBJECT, 0x40, 1, 4, "s"), Some((SymbolKind::Variable, Binding::Strong, true, Some(Memory::Shared), Some(4)))),
        ((GLOBAL | OBJECT, 0x40, 0, 4, "needed_s"), Some((SymbolKind::Variable, Binding::Strong, false, Some(Memory::Shared), Some(4)))),
        ((GLOBAL | 10, 0, 0, 0, "texture"), Some((SymbolKind::Variable, Binding::Common, true, Some(Memory::Texture), None))),
        ((GLOBAL | 11, 0, 0, 0, "sampler"), Some((SymbolKind::Variable, Binding::Common, true, Some(Memory::Sampler), None))),
        ((GLOBAL | 12, 0, 0, 0, "surface"), Some((SymbolKind::Variable, Binding::Common, true, Some(Memory::Surface), None))),
        // Memory of the launch, before and after a partial link.
        ((GLOBAL | OBJECT, 0x40, 0, 0, "launch"), None),
        ((GLOBAL | OBJECT, 0x40, 1, 0, "launch_too"), None),
        ((WEAK | OBJECT, 0xA0, 1, 128, "__nv_reservedSMEM_gb10b_war_var"), None),
        ((WEAK | 1, 0, 0, 8, "__UFT_OFFSET"), None),
        ((LOCAL | OBJECT, 0x81, 1, 8, "_param"), None),
        ((LOCAL | OBJECT, 0x20, 1, 8, "$str"), None),
        ((LOCAL | FUNC, 0, 0, 0, "undefined_local"), None),
        ((LOCAL | 3, 0, 1, 0, ".text.k"), None),
        ((GLOBAL | FUNC, 0, 1, 9, ""), None),
    ];

    #[test]
    fn reads_what_the_tools_write() {
        let cubin = samples::cubin_with_symbols(&CASES.iter().map(|(row, _)| *row).collect::<Vec<_>>());
        let Symbols::Known(found) = symbols(PartKind::Cubin, &cubin).unwrap() else { panic!() };
        let mut found = found.into_iter();
        for ((_, _, section, _, name), expected) in CASES {
            let Some((kind, binding, defined, memory, size)) = *expected else { continue };
            // The one section is the string table, which has bytes.
            let initialized = memory == Some(Memory::Global) && *section == 1;
            assert_eq!(found.next(), Some(Symbol { name: (*name).to_owned(), kind, binding, defined, memory, size, initialized }));
        }
        assert_eq!(found.next(), None);
    }

    #[test]
    fn a_hostile_string_table_costs_no_more_than_its_file() {
        let name = "n".repeat(1 << 12);
        let mut cubin = samples::cubin_with_symbols(&[(GLOBAL | FUNC, 0, 1, 9, name.as_str()); 1000]);
        let Err(Problem::Damaged { what, .. }) = symbols(PartKind::Cubin, &cubin) else { panic!() };
        assert_eq!(what, "symbol names that overlap");
        cubin.truncate(cubin.len() - 1);
        assert!(symbols(PartKind::Cubin, &cubin).is_err());
    }

    #[test]
    fn an_input_has_each_name_once_and_lacks_what_no_part_defines() {
        let texts = [
            ".extern .func f (); .extern .func g (); .weak .func h () { call f; call g; } .func local () { ret; }",
            ".visible .func f () { ret; } .visible .func h () { ret; }",
            ".weak .func f () { ret; } .extern .func local (); .visible .func i () { call local; }",
        ];
        let mut summary = Summary::default();
        for text in texts {
            summary.add(ptx_symbols::read(View::new(text.as_bytes())));
        }
        let defined: Vec<_> = summary.defined.iter().map(|(name, (_, binding))| (&**name, *binding)).collect();
        assert_eq!(defined, [("f", Binding::Strong), ("h", Binding::Strong), ("i", Binding::Strong)]);
        assert!(summary.undefined().eq(["g", "local"]));
    }

    #[test]
    fn a_part_that_cannot_be_unpacked_is_told() {
        let entry = samples::Entry { kind: 2, version: (1, 8), flags: 0x8011, payload: b"no zstd", unpacked: 100, ..Default::default() };
        let described = super::super::describe_with_symbols(&samples::fatbin(&[entry]), "unit", &mut |_| None, 1 << 20);
        let symbols = described.symbols.unwrap();
        assert!(!symbols.complete && symbols.defined.is_empty() && symbols.undefined.is_empty());
        assert!(described.warnings[0].starts_with("the symbols of part 0 cannot be read: "), "{:?}", described.warnings);
    }

    #[test]
    fn a_block_of_many_images_is_unpacked_once() {
        let cubin = samples::cubin_with_symbols(&[(GLOBAL | FUNC, 0x10, 1, 9, "k")]);
        let fatbin = samples::container(&samples::block(&cubin, &cubin, true));
        let facts = super::super::examine(&fatbin, &mut |_| None).unwrap();
        let block = facts.parts[0].bytes_to_unpack();
        assert_eq!((facts.parts.len(), facts.parts[1].bytes_to_unpack()), (2, block));
        // What is unpacked is counted: twice would be too much.
        let described = super::super::describe_with_symbols(&fatbin, "unit", &mut |_| None, block);
        let symbols = described.symbols.unwrap();
        assert!(symbols.complete, "{:?}", described.warnings);
        assert_eq!(symbols.defined.iter().map(|symbol| &*symbol.name).collect::<Vec<_>>(), ["k"]);
        // Nor is a block that cannot be unpacked tried for each image of it.
        let mut broken = fatbin.clone();
        let at = facts.parts[0].offset as usize;
        broken[at..at + 4].fill(0);
        let described = super::super::describe_with_symbols(&broken, "unit", &mut |_| None, u64::MAX);
        let [warning] = &described.warnings[..] else { panic!("{:?}", described.warnings) };
        assert!(warning.starts_with("the symbols of part 0 cannot be read: "), "{warning}");
    }

    #[test]
    fn what_cannot_be_read_has_unknown_symbols() {
        for kind in [PartKind::LtoIr, PartKind::TileIr, PartKind::Concatenated, PartKind::Other(3)] {
            assert_eq!(symbols(kind, b"anything"), Ok(Symbols::Unknown));
        }
        assert!(symbols(PartKind::Cubin, b"").is_err());
        assert!(symbols(PartKind::Cubin, b"\x7FELF\x03").is_err());
    }

    #[test]
    fn the_driver_has_system_calls_and_a_few_names() {
        for name in ["vprintf", "malloc", "__assertfail", "__cuda_syscall_anything", "cnpLaunchDeviceV2", "cudaGraphSetConditional"] {
            assert!(is_provided_by_the_driver(name), "{name}");
        }
        for name in ["printf", "cudaMalloc", "__cudaCDP2LaunchDeviceV2", "cudaGetDevice", "cnpAnything", "helper", ""] {
            assert!(!is_provided_by_the_driver(name), "{name}");
        }
    }

    #[test]
    fn static_names_lose_the_tag_of_their_unit() {
        // Names of nvcc 13.5 and NVRTC 12.0.
        let cases = [
            ("__nv_static_22__d413c2ac_6_hu1_cu_con_sdev", Some("sdev")),
            ("__nv_static_33__fad6029d_11_features_cu_ddc28318__Z2skPi", Some("_Z2skPi")),
            ("_ZN31_INTERNAL_d413c2ac_6_hu1_cu_con2stEi", Some("_Z2sti")),
            ("_ZN31_INTERNAL_d413c2ac_6_hu1_cu_con4sdevE", Some("sdev")),
            ("_ZN37_INTERNAL_00000000_9_kernel_cu_kernel2nv6target5sm_35E", Some("_ZN2nv6target5sm_35E")),
            (
                "__nv_static_33__fad6029d_11_features_cu_ddc28318__ZN42_INTERNAL_fad6029d_11_features_cu_ddc283182ns4sdevE",
                Some("_ZN2ns4sdevE"),
            ),
            ("_ZN31_INTERNAL_d413c2ac_6_hu1_cu_con4tmplIiEET_S0_", None),
            ("_ZN2ns4sdevE", None),
            ("__nv_static_99__short", None),
            ("__nv_static_99999999999999999999__x", None),
            ("_ZN10_INTERNAL_", None),
            ("_ZN10_INTERNAL_9", None),
            ("_ZN2\u{e9}", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(name_without_static(name).as_deref(), expected, "{name}");
        }
    }
}
