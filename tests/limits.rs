//! What a link may take: a small input cannot cost a large machine.

mod support;

use std::fs;

use cudalink::input::{MAX_UNPACKED_SIZE, describe, describe_with_symbols};
use support::{cudalink, fixture, json, nvjitlink};

/// Of 4231 and 3936 bytes of PTX once unpacked.
const PACKED: [&str; 2] = ["wide/kernel.old.zstd.fatbin", "wide/helper.old.zstd.fatbin"];

#[test]
fn unpacked_code_over_the_limit_is_told_with_option_limit_and_input() {
    // 12.0 cannot read zstd, so that all images are unpacked for it once more.
    for (release, needed) in [("12.0.140", 2 * (4231 + 3936)), ("12.9.86", 4231 + 3936), ("13.5.37", 4231 + 3936)] {
        let link = |limit: u64| {
            let mut command = cudalink();
            command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink(release));
            json(command.arg(format!("--max-unpacked-bytes={limit}")).args(PACKED.map(fixture)))
        };
        let (report, status) = link(needed);
        assert_eq!((status, &report["result"]), (0, &"ok".into()), "{release}: {report}");
        for limit in [needed - 1, 4231, 4230, 1] {
            let (report, status) = link(limit);
            assert_eq!((status, &report["result"]), (1, &"over_limit".into()), "{limit} on {release}: {report}");
            let over = if limit < 4231 { PACKED[0] } else { PACKED[1] };
            let message = report["message"].as_str().unwrap();
            for word in [&format!("{over}'"), "max_unpacked_bytes", &format!("allows {limit}")] {
                assert!(message.contains(word), "{limit} on {release}: {message}");
            }
            assert!(report["diagnostics"][0]["hint"].as_str().unwrap().contains("max_unpacked_bytes"));
        }
    }
}

#[test]
fn a_link_over_the_limit_is_refused_before_anything_is_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("damaged.fatbin");
    let mut bytes = fs::read(fixture(PACKED[0])).unwrap();
    let frame = bytes.windows(4).position(|window| window == b"\x28\xB5\x2F\xFD").unwrap();
    bytes[frame..frame + 4].fill(0);
    fs::write(&file, bytes).unwrap();
    for (limit, result) in [(4231 + 3936, "bad_input"), (4231 + 3935, "over_limit")] {
        let mut command = cudalink();
        command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink("13.5.37"));
        let (report, _) = json(command.arg(format!("--max-unpacked-bytes={limit}")).arg(&file).arg(fixture(PACKED[1])));
        assert_eq!(report["result"], result, "{report}");
    }
}

#[test]
fn what_is_stored_counts_nothing() {
    let mut command = cudalink();
    command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--max-unpacked-bytes=1", "--library"]);
    command.arg(nvjitlink("13.5.37")).args(["12.4/kernel.fatbin", "12.4/helper.ptx"].map(fixture));
    let (report, _) = json(&mut command);
    assert_eq!(report["result"], "ok", "{report}");
}

#[test]
fn a_part_that_declares_more_than_a_part_may_have_is_over_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("huge.fatbin");
    let mut bytes = fs::read(fixture(PACKED[0])).unwrap();
    let declared = bytes.windows(8).position(|window| window == 4231_u64.to_le_bytes()).unwrap();
    bytes[declared..declared + 8].copy_from_slice(&(MAX_UNPACKED_SIZE + 1).to_le_bytes());
    fs::write(&file, bytes).unwrap();
    let mut command = cudalink();
    command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink("13.5.37"));
    let (report, _) = json(command.arg(&file));
    assert_eq!(report["result"], "over_limit", "{report}");
    let message = report["message"].as_str().unwrap();
    assert!(message.contains("huge.fatbin") && message.contains(&MAX_UNPACKED_SIZE.to_string()), "{message}");
}

#[test]
fn the_symbols_of_an_inspected_file_are_read_within_the_limit() {
    let bytes = fs::read(fixture("13.5/libhelper.a")).unwrap();
    // A cubin of 2304 bytes and PTX of 278.
    let symbols = |limit| describe_with_symbols(&bytes, "unit", &mut |_| None, limit);
    assert!(symbols(2304 + 278).symbols.unwrap().complete);
    let cut = symbols(2304 + 277);
    assert!(!cut.symbols.unwrap().complete);
    let expected = "the symbols of 1 part are not read: max_unpacked_bytes allows 2581 bytes of unpacked code for all parts together";
    assert_eq!(cut.warnings, [expected]);
}

/// An archive of one member, whose name stands in the table of long names.
fn archive_of(name: &str, member: &[u8]) -> Vec<u8> {
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, "100644");
    let mut out = format!("!<arch>\n{}{name}/\n", header("//", name.len() + 2));
    out.extend((name.len() % 2 == 1).then_some('\n'));
    out += &header("/0", member.len());
    [out.as_bytes(), member].concat()
}

/// PTX that defines so many variables and uses as many that nobody defines.
fn ptx_with(defined: usize, undefined: usize) -> String {
    let mut text = ".version 8.0\n.target sm_80\n.address_size 64\n".to_owned();
    (0..defined).for_each(|index| text += &format!(".visible .global .u32 g{index};\n"));
    (0..undefined).for_each(|index| text += &format!(".extern .global .u32 lacking{index};\n"));
    text += ".visible .entry kernel() {\n.reg .b32 %r<2>;\n";
    (0..undefined).for_each(|index| text += &format!("ld.global.u32 %r1, [lacking{index}];\nst.global.u32 [lacking{index}], %r1;\n"));
    text + "ret;\n}\n"
}

#[test]
fn a_member_is_named_once_in_a_description_however_many_parts_it_has() {
    let name = "n".repeat(100_000);
    // Entries of a kind that nobody knows, of a header alone.
    let fatbin = fs::read(fixture(PACKED[0])).unwrap();
    let mut entry = [0; 64];
    entry.copy_from_slice(&fatbin[16..80]);
    entry[..2].copy_from_slice(&0x7F_u16.to_le_bytes());
    entry[4..8].copy_from_slice(&64_u32.to_le_bytes());
    entry[8..24].fill(0);
    entry[32..].fill(0);
    let body = entry.repeat(1000);
    let fatbin = [&fatbin[..8], &(body.len() as u64).to_le_bytes(), &body].concat();
    let archive = archive_of(&name, &fatbin);
    let described = describe(&archive, "unit", &mut |_| None);
    assert_eq!((described.parts.len(), described.members.as_slice()), (1000, std::slice::from_ref(&name)));
    assert!(described.parts.iter().all(|part| part.member == Some(0)));
    let json = serde_json::to_string(&described).unwrap();
    assert!(json.len() < 4 * archive.len(), "{} bytes of JSON for {}", json.len(), archive.len());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.a");
    fs::write(&file, &archive).unwrap();
    let shown = support::run(cudalink().arg("inspect").arg(&file));
    assert!(shown.len() < 4 * archive.len() && shown.contains(&name), "{} bytes for {}", shown.len(), archive.len());
}

#[test]
fn the_name_of_a_member_costs_no_memory_for_each_of_its_symbols() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.a");
    // 4 GB if each symbol had a name of its own.
    fs::write(&file, archive_of(&"n".repeat(400_000), ptx_with(10_000, 0).as_bytes())).unwrap();
    for release in ["12.0.140", "12.9.86", "13.5.37"] {
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -v 3000000; exec \"$@\"", "sh"]).arg(cudalink().get_program());
        limited.args(["explain", "--json", "-arch=sm_80", "--library"]).arg(nvjitlink(release));
        let (report, _) = json(limited.arg(&file));
        assert_eq!(report["result"], "ok", "{release}: {report}");
    }
}

#[test]
fn a_message_tells_the_end_of_a_long_member_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.a");
    fs::write(&file, archive_of(&format!("{}/the_end.ptx", "n".repeat(100_000)), ptx_with(0, 20).as_bytes())).unwrap();
    for release in ["12.0.140", "12.9.86", "13.5.37"] {
        let mut command = cudalink();
        command.args(["link", "--json", "-arch=sm_80", "-o", "/dev/null", "--library"]).arg(nvjitlink(release));
        let (report, _) = json(command.arg(&file));
        assert_eq!(report["result"], "unresolved_symbol", "{release}: {}", report["message"]);
        let found = report["diagnostics"].as_array().unwrap();
        assert_eq!(found.len(), 20);
        for diagnostic in found {
            let message = diagnostic["message"].as_str().unwrap();
            assert!(message.contains("the_end.ptx)'") && message.len() < 1000, "{release}: {} bytes", message.len());
        }
    }
}
