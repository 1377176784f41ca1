//! What we list as symbols is what binutils' `readelf` and NVIDIA's `cuobjdump` list of a cubin, and of PTX what ptxas makes of it.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cudalink::input::{Binding, Facts, Memory, PartKind, Symbol, SymbolKind, Symbols, examine, symbols};
use support::{NVJITLINKS, PRODUCERS, cudalink, fetch, fixture, nvjitlink};

const CUOBJDUMP: &str = "13.5.37";

/// A line of `readelf -Ws`: type, binding, the machine's bits, section, size, name.
struct Row {
    kind: String,
    binding: String,
    other: u8,
    section: String,
    section_type: String,
    size: u64,
    name: String,
}

fn readelf(file: &Path) -> Vec<Row> {
    let printed = support::run(Command::new("readelf").arg("-Ws").arg(file));
    let sections = support::run(Command::new("readelf").arg("-WS").arg(file));
    // "  [13] .nv.global.init   LOPROC+0x8      0000000000000000 000700 ..."
    let section_type = |number: &str| {
        let of = |line: &str| {
            let (found, rest) = line.trim_start().strip_prefix('[')?.split_once(']')?;
            let section_type = rest.split_whitespace().nth(1)?;
            (found.trim() == number).then(|| section_type.to_owned())
        };
        sections.lines().find_map(of).unwrap_or_default()
    };
    let mut rows = Vec::new();
    for line in printed.lines() {
        // "    48: 0000000000000000   384 FUNC    GLOBAL DEFAULT [<other>: 10]    14 kernel"; NVIDIA's own types are "<processor specific>: 13".
        let line = line.replace("<processor specific>: ", "").replace("<OS specific>: ", "");
        let (line, other) = match line.split_once("[<other>: ") {
            Some((before, after)) => {
                let (other, after) = after.split_once(']').unwrap();
                (format!("{before}{after}"), u8::from_str_radix(other, 16).unwrap())
            }
            None => (line, 0),
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [number, _, size, kind, binding, _, section, name] = words[..]
            && number.strip_suffix(':').is_some_and(|number| number.parse::<u32>().is_ok())
        {
            let size = size.strip_prefix("0x").map_or_else(|| size.parse(), |size| u64::from_str_radix(size, 16)).unwrap();
            let [kind, binding, section, name] = [kind, binding, section, name].map(str::to_owned);
            let section_type = section_type(&section);
            rows.push(Row { kind, binding, other, section, section_type, size, name });
        }
    }
    rows
}

impl Row {
    /// What a row of a global or weak symbol says; `None` for sections and the like, and for memory that the launch gives or tools reserve.
    fn symbol(self) -> Option<Symbol> {
        let is_reserved = self.name.starts_with("__nv_reservedSMEM_");
        let is_of_the_linker = self.binding == "WEAK" && ["__UFT", "__UDT", ".nv."].iter().any(|start| self.name.starts_with(start));
        match (&*self.kind, self.other & 0xE0) {
            ("OBJECT", _) => assert!(is_of_the_linker, "an object: {}", self.name),
            ("13" | "NOTYPE", 0xA0) => assert!(is_reserved, "reserved: {}", self.name),
            ("FUNC" | "10" | "11" | "12", 0) | ("13", 0x20 | 0x40 | 0x80) => assert!(!is_reserved, "not reserved: {}", self.name),
            ("SECTION", _) => {}
            (kind, other) => panic!("{} is of an unknown type {kind} {other:#x}", self.name),
        }
        let memory = match (&*self.kind, self.other & 0xE0) {
            ("10", _) => Some(Memory::Texture),
            ("11", _) => Some(Memory::Sampler),
            ("12", _) => Some(Memory::Surface),
            ("13", 0x20) => Some(Memory::Global),
            ("13", 0x40) => Some(Memory::Shared),
            ("13", 0x80) => Some(Memory::Constant),
            _ => None,
        };
        let kind = match (&*self.kind, self.other & 0x10) {
            ("FUNC", 0x10) => SymbolKind::Kernel,
            ("FUNC", _) => SymbolKind::Function,
            ("10" | "11" | "12", _) => SymbolKind::Variable,
            ("13", _) if memory.is_some() => SymbolKind::Variable,
            _ => return None,
        };
        let is_reference = matches!(memory, Some(Memory::Texture | Memory::Sampler | Memory::Surface));
        let is_undefined = self.section == "UND";
        if memory == Some(Memory::Shared) && self.size == 0 {
            return None;
        }
        let binding = match (&*self.binding, &*self.section) {
            _ if is_reference => Binding::Common,
            (_, "COM") => Binding::Common,
            ("WEAK", _) => Binding::Weak,
            _ => Binding::Strong,
        };
        let size = (kind == SymbolKind::Variable && self.size > 0).then_some(self.size);
        let initialized = memory == Some(Memory::Global) && !["", "NOBITS", "LOPROC+0x7"].contains(&&*self.section_type);
        Some(Symbol { name: self.name, kind, binding, defined: !is_undefined || is_reference, memory, size, initialized })
    }
}

fn known(kind: PartKind, image: &[u8]) -> Vec<Symbol> {
    match symbols(kind, image).unwrap() {
        Symbols::Known(symbols) => symbols,
        Symbols::Unknown => panic!("{kind} with unknown symbols"),
    }
}

fn is_global(symbol: &Symbol) -> bool {
    symbol.binding != Binding::Local
}

fn sorted(mut symbols: Vec<Symbol>) -> Vec<Symbol> {
    symbols.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
    symbols
}

/// Compares all that others can see in a cubin, in its order; gives how many symbols that is.
fn compare_with_readelf(what: &str, cubin: &[u8], folder: &Path) -> usize {
    let file = folder.join("image.cubin");
    fs::write(&file, cubin).unwrap();
    let rows = readelf(&file);
    let ours = known(PartKind::Cubin, cubin);
    let locals: BTreeSet<&str> = rows.iter().filter(|row| row.binding == "LOCAL").map(|row| &*row.name).collect();
    for symbol in ours.iter().filter(|symbol| !is_global(symbol)) {
        assert!(locals.contains(&*symbol.name), "{what}: {symbol:?} is no local symbol");
    }
    let theirs: Vec<Symbol> = rows.into_iter().filter(|row| row.binding != "LOCAL").filter_map(Row::symbol).collect();
    let ours: Vec<Symbol> = ours.into_iter().filter(is_global).collect();
    assert_eq!(ours, theirs, "{what}");
    ours.len()
}

/// Every part of a kind in a file, unpacked.
fn parts(file: &Path, kind: PartKind) -> Vec<(String, Vec<u8>)> {
    let bytes = fs::read(file).unwrap();
    let Ok(facts) = examine(&bytes, &mut |_| None) else { return Vec::new() };
    let name = |index| format!("part {index} of {}", file.display());
    let of_kind = facts.parts.iter().enumerate().filter(|(_, part)| part.kind == kind);
    of_kind.map(|(index, part)| (name(index), facts.part_bytes(&bytes, part).unwrap().into_owned())).collect()
}

fn fixtures() -> Vec<PathBuf> {
    let folders = PRODUCERS.iter().chain(&["wide"]).map(fixture);
    folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())).collect()
}

#[test]
fn cubins_of_five_releases_are_listed_as_readelf_does() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cubins, mut found) = (0, 0);
    for file in fixtures() {
        for (what, cubin) in parts(&file, PartKind::Cubin) {
            found += compare_with_readelf(&what, &cubin, folder.path());
            cubins += 1;
        }
    }
    assert!(cubins > 40 && found > 60, "{cubins} cubins with {found} symbols");
}

/// `cuobjdump -elf` cuts names to 30 bytes.
#[test]
fn kernels_are_those_that_cuobjdump_marks_as_entries() {
    let cuobjdump = fetch("cuobjdump", CUOBJDUMP).join("nvidia/cu13/bin/cuobjdump");
    let mut kernels = 0;
    for file in fixtures().iter().filter(|file| file.extension().is_some_and(|ending| ending == "cubin")) {
        let printed = support::run(Command::new(&cuobjdump).arg("-elf").arg(file));
        let theirs: Vec<&str> =
            printed.lines().filter(|line| line.contains(" ENTRY ")).map(|line| line.split_whitespace().last().unwrap()).collect();
        let ours = known(PartKind::Cubin, &fs::read(file).unwrap());
        let ours = ours.iter().filter(|symbol| symbol.kind == SymbolKind::Kernel);
        let ours: Vec<&str> = ours.map(|symbol| symbol.name.get(..30).unwrap_or(&symbol.name)).collect();
        assert_eq!(ours, theirs, "{}", file.display());
        kernels += ours.len();
    }
    assert_eq!(kernels, 6);
}

#[test]
fn ptx_has_the_symbols_of_the_cubin_made_from_it() {
    for producer in PRODUCERS {
        for unit in ["kernel", "helper"] {
            let read = |ending| fs::read(fixture(format!("{producer}/{unit}.{ending}"))).unwrap();
            let [ptx, cubin] = [known(PartKind::Ptx, &read("ptx")), known(PartKind::Cubin, &read("cubin"))];
            assert!(!cubin.is_empty());
            assert_eq!(sorted(ptx), sorted(cubin), "{unit} of CUDA {producer}");
        }
    }
}

/// Every directive and every trap that ptxas takes.
const DIRECTIVES: &str = r#"
.version 8.0
.target sm_80, texmode_independent
.address_size 64
// .visible .entry commented_out () { }
/* .visible .global .b32 commented_out_too; } */
.file 1 "a \"
.file 2 "{ .visible .global .b32 in_a_string;
// .cu"
.extern .func (.param .b32 r) ext_called (.param .b32 a);
.extern .func ext_addressed (.param .b32 a);
.extern .func ext_unused (.param .b32 a);
.extern .func exit ();
.extern .func shadowed ();
.extern .global .b32 ext_g;
.extern .global .align 4 .b8 ext_array[];
.extern .const .b32 ext_c;
.extern .shared .align 16 .b8 of_the_launch[];
.extern .shared .align 16 .b8 of_a_unit[48];
.extern .global .b32 later;
.visible .global .align 4 .b32 later = 7;
.visible .global .align 4 .b32 vis_g = 1;
.visible .global .b32 multi_a, multi_b[3], multi_c = 4, multi_d[0x10U][010];
.weak .global .align 4 .b32 weak_g;
.weak .global .align 16 .v4 .f32 weak_v[2];
.common .global .align 8 .b64 com_g;
.weak .const .b32 weak_c = 5;
.visible .global .attribute(.managed) .align 4 .u32 man;
.visible .global .align 8 .u64 tab[3] = {generic(vis_g), vis_g, vis_g+4};
.const .b32 loc_c[2][2] = {{1,2},{3,4}};
.global .align 8 .u64 pointer = ext_addressed;
.global .b32 loc_g;
.visible .shared .align 4 .b8 vis_s[8];
.visible .global .texref tex;
.extern .global .surfref surf;
.global .samplerref samp;
.weak .func (.param .b32 r) weak_f (.param .b32 a) { ret; }
.visible .func forward (.param .b32 a);
.func stat_f (.param .b32 a) { ret; }
.weak .func weak_noreturn () .noreturn { exit; }
.func forward (.param .b32 a) { .reg .b32 shadowed; .param .b32 b; mov.b32 shadowed, 1; st.param.b32 [b], shadowed; call stat_f, (b); ret; }
.extern .func block_shadowed ();
.visible .func shadows () { { .reg .b32 block_shadowed; mov.b32 block_shadowed, 1; } call block_shadowed, (); ret; }
.visible .func labels () { shadowed: bra shadowed; }
.visible .func parameters (.param .b32 shadowed) { .reg .b32 %r<2>; .loc 1 5 3 ld.param.b32 %r1, [shadowed]; .loc 1 6 1 exit; }
.visible .func alias_a (.param .b32 a);
.alias alias_a, forward;
.weak .entry weak_k () { ret; }
.entry stat_k () .maxntid 32, 1, 1 .pragma "nounroll"; { ret; }
.visible .entry kernel (.param .u64 p) .maxntid 32,1,1 .minnctapersm 2
{
 .reg .b32 %r<5>; .reg .b64 %d<5>; .reg .pred %p<2>; .reg .f32 %f<5>;
 .pragma "nounroll";
 .shared .align 4 .b8 in_a_function[16];
 ld.global.b32 %r1, [ext_g];
 setp.eq.s32 %p1, %r1, 0;
 @%p1 bra done;
 ld.const.b32 %r2, [loc_c];
 ld.shared.b32 %r2, [of_the_launch];
 ld.shared.b32 %r2, [of_a_unit];
 ld.global.b32 %r2, [loc_g];
 st.shared.b32 [in_a_function], %r2;
 ld.global.b64 %d1, [pointer];
 st.global.b64 [com_g], %d1;
 mov.f32 %f1, 0f3F800000;
 mov.b64 %d2, {%r1, %r2};
 { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), ext_called, (x); call.uni (y), weak_f, (x); call.uni forward, (x); call.uni alias_a, (x); }
done:
 @!%p1 exit;
 ret;
}
"#;

#[test]
fn directives_mean_what_they_mean_to_ptxas() {
    let folder = tempfile::tempdir().unwrap();
    let [source, output] = ["source.ptx", "output.cubin"].map(|name| folder.path().join(name));
    fs::write(&source, DIRECTIVES).unwrap();
    for version in NVJITLINKS.iter().filter(|version| version.starts_with("13")) {
        // A partial link leaves everything as it is.
        let mut link = cudalink();
        link.args(["link", "-arch=sm_80", "-r", "--json", "--library"]).arg(nvjitlink(version)).arg("-o").arg(&output).arg(&source);
        let (report, _) = support::json(&mut link);
        assert_eq!(report["result"], "ok", "{report}");
        let cubin = fs::read(&output).unwrap();
        assert!(compare_with_readelf(version, &cubin, folder.path()) >= 30);
        let mut ptx = known(PartKind::Ptx, DIRECTIVES.as_bytes());
        let common = ptx.iter_mut().find(|symbol| symbol.name == "com_g").unwrap();
        assert_eq!(common.binding, Binding::Common);
        // A partial link gives it its place.
        common.binding = Binding::Strong;
        assert_eq!(sorted(ptx), sorted(known(PartKind::Cubin, &cubin)), "{version}");
    }
}

#[test]
fn inspect_lists_symbols_if_asked() {
    let file = fixture("13.5/kernel.zip.fatbin");
    let (report, status) = support::json(cudalink().args(["inspect", "--symbols", "--json"]).arg(&file).arg(fixture("13.5/helper.lto.o")));
    assert_eq!(status, 0);
    let expected = serde_json::json!({
        "defined": [{ "name": "kernel", "type": "kernel", "binding": "strong" }], "undefined": ["helper"], "complete": true,
    });
    assert_eq!(report["inputs"][0]["symbols"], expected);
    let expected = serde_json::json!({
        "defined": [{ "name": "helper", "type": "function", "binding": "strong" }], "undefined": [], "complete": false,
    });
    assert_eq!(report["inputs"][1]["symbols"], expected);
    let (report, _) = support::json(cudalink().args(["inspect", "--json"]).arg(&file));
    assert!(report["inputs"][0].get("symbols").is_none(), "{report}");
    let text = support::run(cudalink().args(["inspect", "--symbols"]).arg(&file));
    assert!(text.ends_with("\n  kernel   strong kernel\n  undefined       helper\n"), "{text}");
}

#[test]
#[ignore = "fetches 2 GB and takes minutes: cargo test --test symbols -- --ignored"]
fn the_largest_libraries_are_listed_as_readelf_does() {
    let folder = tempfile::tempdir().unwrap();
    for (package, version, file) in [
        ("runtime", "13.5.37", "nvidia/cu13/lib/libcudadevrt.a"),
        ("runtime", "12.9.79", "nvidia/cuda_runtime/lib/libcudadevrt.a"),
        ("nvshmem", "3.8.0", "nvidia/nvshmem/lib/libnvshmem_device.a"),
        ("cuvs", "26.10.0", "libcuvs/lib64/libcuvs.so"),
        ("cudf", "26.10.2", "libcudf/lib64/libcudf.so"),
    ] {
        let bytes = fs::read(fetch(package, version).join(file)).unwrap();
        let facts: Facts = examine(&bytes, &mut |_| None).unwrap();
        let (mut images, mut found) = ([0; 2], [0; 2]);
        for (index, part) in facts.parts.iter().enumerate() {
            let what = format!("part {index} of {file}");
            match part.kind {
                PartKind::Cubin => {
                    images[0] += 1;
                    let cubin = facts.part_bytes(&bytes, part).unwrap();
                    found[0] += compare_with_readelf(&what, &cubin, folder.path());
                }
                PartKind::Ptx => {
                    let Symbols::Known(symbols) = facts.symbols(&bytes, part).unwrap() else { panic!("{what}") };
                    images[1] += 1;
                    found[1] += symbols.len();
                }
                _ => {}
            }
        }
        println!("{file}: {} symbols in {} cubins, {} in {} PTX", found[0], images[0], found[1], images[1]);
    }
}
