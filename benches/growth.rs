//! How time and peak memory grow with the input: over five doublings, each in a process of its own. A slope of 1 is linear.
//! Where the raw library can do the same, it does in the same run.
//!
//! `cargo bench --bench growth [-- CASE...]`

#[path = "../tests/support/mod.rs"]
#[allow(clippy::duplicate_mod)]
mod support;

mod raw;

use std::fs;
use std::process::Command;
use std::time::Instant;

use cudalink::input::{describe, describe_with_symbols};
use cudalink::{LinkOptions, Linker, ResultClass};
use raw::Raw;

/// What makes an input of a size and gives what is measured of it.
type Make = fn(usize) -> Box<dyn FnOnce()>;

struct Case {
    name: &'static str,
    smallest: usize,
    ours: Make,
    /// The same work done by the raw library.
    raw: Option<Make>,
}

impl Case {
    const fn new(name: &'static str, smallest: usize, ours: Make) -> Self {
        Self { name, smallest, ours, raw: None }
    }

    const fn against(self, raw: Make) -> Self {
        Self { raw: Some(raw), ..self }
    }
}

const CASES: &[Case] = &[
    Case::new("block_symbols", 3125, |images| {
        let fatbin = packed_block(images);
        Box::new(move || {
            let described = describe_with_symbols(&fatbin, "block", &mut |_| None, u64::MAX);
            assert_eq!(described.symbols.map(|symbols| symbols.defined.len()), Some(images));
        })
    }),
    Case::new("member_parts", 3125, |parts| {
        let archive = archive([("n".repeat(32 * parts), fatbin(&entry(0x7F, 0x11, &[], &[], 0).repeat(parts)))]);
        Box::new(move || assert!(serde_json::to_vec(&describe(&archive, "parts", &mut |_| None)).unwrap().len() < 5 * archive.len()))
    }),
    Case::new("member_symbols", 3125, |symbols| {
        let archive = archive([("n".repeat(32 * symbols), ptx(0..symbols).into_bytes())]);
        explain(archive)
    }),
    Case::new("packed_parts", 32, |parts| {
        let member = |index: usize| {
            let text = format!("{}{}", "\n".repeat(1 << 18), ptx(index..index + 1));
            (format!("{index}.ptx"), fatbin(&entry(1, 0x8011, &[], &zstd(text.as_bytes()), text.len())))
        };
        let archive = archive((0..parts).map(member));
        explain(archive)
    }),
    Case::new("unresolved_symbols", 500, |symbols| {
        let mut linker = linker();
        Box::new(move || {
            linker.add(None, calls(symbols).as_bytes(), "input").unwrap();
            assert_eq!(linker.complete().unwrap_err().class(), ResultClass::UnresolvedSymbol);
            assert_eq!(linker.diagnostics().len(), symbols);
        })
    })
    .against(|symbols| {
        let raw = Raw::open(&support::nvjitlink(RELEASE));
        Box::new(move || {
            let log = raw.link(&["-arch=sm_80"], 2, &[calls(symbols).into_bytes()]).unwrap_err();
            assert!(log.len() > symbols);
        })
    }),
];

/// Who does the work, by the name that a child process gets.
const BY_US: &str = "cudalink";
const RAW: &str = "raw";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [name, size, by] = &arguments[..]
        && let (Some(case), Ok(size)) = (CASES.iter().find(|case| case.name == name), size.parse())
    {
        let make = case.raw.filter(|_| by == RAW).unwrap_or(case.ours);
        let measured = make(size);
        let start = Instant::now();
        measured();
        println!("\n{} {}", start.elapsed().as_micros(), peak_kilobytes());
        return;
    }
    println!("{:<20} {:>9} {:>12} {:>12} {:>12} {:>12}", "case", "size", "seconds", "peak MB", "raw seconds", "raw peak MB");
    for case in CASES.iter().filter(|case| arguments.is_empty() || arguments.iter().any(|asked| asked == case.name)) {
        let by = [Some(BY_US), case.raw.map(|_| RAW)];
        let rows: Vec<Vec<f64>> = (0..=5)
            .map(|doubling| {
                let size = case.smallest << doubling;
                let row: Vec<f64> = by.iter().flatten().flat_map(|by| measure(case.name, size, by)).collect();
                print_row(case.name, &size.to_string(), &row);
                row
            })
            .collect();
        let slopes: Vec<f64> = rows[0].iter().zip(&rows[5]).map(|(first, last)| (last / first).log2() / 5.0).collect();
        print_row("", "slope", &slopes);
    }
}

fn print_row(name: &str, size: &str, numbers: &[f64]) {
    let numbers: String = numbers.iter().map(|number| format!(" {number:>12.3}")).collect();
    println!("{name:<20} {size:>9}{numbers}");
}

/// Seconds and megabytes.
fn measure(name: &str, size: usize, by: &str) -> [f64; 2] {
    let printed = support::run(Command::new(std::env::current_exe().unwrap()).args([name, &size.to_string(), by]));
    // Some releases write their log to stdout, too.
    let numbers: Vec<f64> = printed.lines().last().unwrap().split(' ').map(|number| number.parse().unwrap()).collect();
    [numbers[0] / 1e6, numbers[1] / 1e3]
}

fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The release that links.
const RELEASE: &str = "13.5.37";

fn linker() -> Linker {
    let mut options = LinkOptions::default();
    options.set_flag("-arch=sm_80").unwrap();
    options.library_path = Some(support::nvjitlink(RELEASE));
    Linker::new(options)
}

/// Everything that a link does before the library does.
fn explain(input: Vec<u8>) -> Box<dyn FnOnce()> {
    let mut linker = linker();
    Box::new(move || {
        linker.add(None, &input, "input").unwrap();
        linker.explain().unwrap();
    })
}

fn ptx(variables: std::ops::Range<usize>) -> String {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    variables.fold(head, |text, index| text + &format!(".visible .global .u32 g{index:07};\n"))
}

/// A kernel that calls so many functions that are defined nowhere.
fn calls(functions: usize) -> String {
    let name = |index: usize| format!("some_library_function_number_{index}");
    let declared: String = (0..functions).map(|index| format!(".extern .func {} ();\n", name(index))).collect();
    let called: String = (0..functions).map(|index| format!("call.uni {};\n", name(index))).collect();
    format!("{}{declared}.visible .entry kernel() {{\n{called}ret; }}\n", ptx(0..0))
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// A fatbin entry, packed if `unpacked` is not 0. A block's table follows its header.
fn entry(kind: u16, flags: u64, table: &[u8], payload: &[u8], unpacked: usize) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(kind.to_le_bytes());
    out.extend(0x0101_u16.to_le_bytes());
    out.extend((64 + table.len() as u32).to_le_bytes());
    out.extend((payload.len().next_multiple_of(8) as u64).to_le_bytes());
    out.extend(if unpacked == 0 { 0 } else { payload.len() as u32 }.to_le_bytes());
    out.extend(if table.is_empty() { 0_u32 } else { 64 }.to_le_bytes());
    out.extend([0, 0, 8, 0]);
    out.extend(80_u32.to_le_bytes());
    out.extend([0; 8]);
    out.extend(flags.to_le_bytes());
    out.extend([0; 8]);
    out.extend((unpacked as u64).to_le_bytes());
    out.extend(table);
    out.extend(payload);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn fatbin(entries: &[u8]) -> Vec<u8> {
    let mut out = vec![0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0];
    out.extend((entries.len() as u64).to_le_bytes());
    out.extend(entries);
    out
}

/// So many PTX images in one packed block.
fn packed_block(images: usize) -> Vec<u8> {
    let (mut table, mut unpacked) = (Vec::new(), Vec::new());
    table.extend((images as u32).to_le_bytes());
    table.extend((8 + 64 * images as u32).to_le_bytes());
    for index in 0..images {
        let mut text = ptx(index..index + 1).into_bytes();
        text.resize(text.len().next_multiple_of(8), 0);
        let mut header = entry(1, 0x11, &[], &text, 0);
        header.truncate(64);
        header[4..8].fill(0);
        table.extend(header);
        unpacked.extend(text);
    }
    fatbin(&entry(0x100, 0x8011, &table, &zstd(&unpacked), unpacked.len()))
}

/// An archive with its names in a table.
fn archive(members: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, "100644").into_bytes();
    let (mut names, mut rest) = (String::new(), Vec::new());
    for (name, bytes) in members {
        rest.extend(header(&format!("/{}", names.len()), bytes.len()));
        rest.extend(&bytes);
        rest.resize(rest.len().next_multiple_of(2), b'\n');
        names += &format!("{name}/\n");
    }
    names.extend((names.len() % 2 == 1).then_some('\n'));
    [b"!<arch>\n".to_vec(), header("//", names.len()), names.into_bytes(), rest].concat()
}
