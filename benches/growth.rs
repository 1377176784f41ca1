//! How time and peak memory grow with the input: over five doublings, each in a process of its own. A slope of 1 is linear.
//!
//! `cargo bench --bench growth [-- CASE...]`

#[path = "../tests/support/mod.rs"]
#[allow(clippy::duplicate_mod)]
mod support;

use std::fs;
use std::process::Command;
use std::time::Instant;

use cudalink::input::{describe, describe_with_symbols};
use cudalink::{LinkOptions, Linker};

/// A name, the smallest size, and what makes an input of a size and gives what is measured of it.
type Case = (&'static str, usize, fn(usize) -> Box<dyn FnOnce()>);

const CASES: &[Case] = &[
    ("block_symbols", 3125, |images| {
        let fatbin = packed_block(images);
        Box::new(move || {
            let described = describe_with_symbols(&fatbin, "block", &mut |_| None, u64::MAX);
            assert_eq!(described.symbols.map(|symbols| symbols.defined.len()), Some(images));
        })
    }),
    ("member_parts", 3125, |parts| {
        let archive = archive([("n".repeat(32 * parts), fatbin(&entry(0x7F, 0x11, &[], &[], 0).repeat(parts)))]);
        Box::new(move || assert!(serde_json::to_vec(&describe(&archive, "parts", &mut |_| None)).unwrap().len() < 5 * archive.len()))
    }),
    ("member_symbols", 3125, |symbols| {
        let archive = archive([("n".repeat(32 * symbols), ptx(0..symbols).into_bytes())]);
        explain(archive)
    }),
    ("packed_parts", 32, |parts| {
        let member = |index: usize| {
            let text = format!("{}{}", "\n".repeat(1 << 18), ptx(index..index + 1));
            (format!("{index}.ptx"), fatbin(&entry(1, 0x8011, &[], &zstd(text.as_bytes()), text.len())))
        };
        let archive = archive((0..parts).map(member));
        explain(archive)
    }),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [name, size] = &arguments[..]
        && let (Some((_, _, make)), Ok(size)) = (CASES.iter().find(|(known, ..)| known == name), size.parse())
    {
        let measured = make(size);
        let start = Instant::now();
        measured();
        println!("{} {}", start.elapsed().as_micros(), peak_kilobytes());
        return;
    }
    println!("{:<16} {:>9} {:>12} {:>12}", "case", "size", "seconds", "peak MB");
    for (name, smallest, _) in CASES.iter().filter(|(name, ..)| arguments.is_empty() || arguments.iter().any(|asked| asked == name)) {
        let rows: Vec<[f64; 2]> = (0..=5).map(|doubling| measure(name, smallest << doubling)).collect();
        let slope = |at: usize| (rows[5][at] / rows[0][at]).log2() / 5.0;
        println!("{:<16} {:>9} {:>12.2} {:>12.2}", "", "slope", slope(0), slope(1));
    }
}

fn measure(name: &str, size: usize) -> [f64; 2] {
    let printed = support::run(Command::new(std::env::current_exe().unwrap()).args([name, &size.to_string()]));
    let numbers: Vec<f64> = printed.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let row = [numbers[0] / 1e6, numbers[1] / 1e3];
    println!("{name:<16} {size:>9} {:>12.3} {:>12.1}", row[0], row[1]);
    row
}

fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Everything that a link does before the library does.
fn explain(input: Vec<u8>) -> Box<dyn FnOnce()> {
    let mut options = LinkOptions::default();
    options.set_flag("-arch=sm_80").unwrap();
    options.library_path = Some(support::nvjitlink("13.5.37"));
    let mut linker = Linker::new(options);
    Box::new(move || {
        linker.add(None, &input, "input").unwrap();
        linker.explain().unwrap();
    })
}

fn ptx(variables: std::ops::Range<usize>) -> String {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    variables.fold(head, |text, index| text + &format!(".visible .global .u32 g{index:07};\n"))
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
