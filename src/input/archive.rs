//! `ar` archives: GNU, BSD and Windows names, thin or not.

use std::collections::HashSet;

use object::read::archive::ArchiveFile;

use super::bytes::{Budget, View};
use super::{Facts, InputKind, OutsideFile, Place, Problem, recognize};

pub(super) const MAGIC: &[u8] = b"!<arch>\n";
pub(super) const THIN_MAGIC: &[u8] = b"!<thin>\n";

/// What the files of a thin archive with device code may hold together: the archive is small itself, and can name one large file after another.
const MAX_OUTSIDE_SIZE: u64 = 16 << 30;

/// Gives the bytes of a file that a thin archive names, relative to the archive's folder; `None` if it is not there.
pub type MemberReader<'a> = dyn FnMut(&[u8]) -> Option<Vec<u8>> + 'a;

/// Lists the device code of every member. Members that are no device code and no host object contribute nothing, as for every linker.
pub(super) fn read(view: View, read_member: &mut MemberReader, facts: &mut Facts) -> Result<(), Problem> {
    let archive = ArchiveFile::parse(view.bytes).map_err(|error| view.damaged(8, format!("archive: {error}")))?;
    let mut outside = Outside { read_member, seen: HashSet::new(), size: 0 };
    let mut names = Budget::new(view, 1);
    // Where the member stands that the next error is about.
    let mut at = 8;
    for member in archive.members() {
        let member = member.map_err(|error| view.damaged(at, format!("archive: {error}")))?;
        names.spend(member.name().len() as u64, "member names")?;
        let name = String::from_utf8_lossy(member.name());
        let place = Place { member: Some(facts.members.len()), ..Place::default() };
        let before = (facts.containers.len(), facts.parts.len());
        facts.members.push(name.clone().into_owned());
        if member.is_thin() {
            outside.add(member.name(), member.size(), place, facts)?;
        } else {
            let (offset, size) = member.file_range();
            let bytes = view.slice(offset, size, "archive member").map_err(|problem| problem.in_member(&name))?;
            at = offset.saturating_add(size);
            read_one(bytes, &place, facts).map_err(|problem| problem.in_member(&name))?;
        }
        if before == (facts.containers.len(), facts.parts.len()) {
            facts.members.pop();
        }
    }
    Ok(())
}

fn read_one(bytes: View, place: &Place, facts: &mut Facts) -> Result<(), Problem> {
    match recognize::kind_of(bytes) {
        Ok(InputKind::Library) => {
            let member = facts.member(place).unwrap_or_default();
            let text = format!("member '{member}' is an archive itself, which linkers do not look into");
            facts.warnings.push(text);
            Ok(())
        }
        Ok(kind) => recognize::read_single(kind, bytes, place, facts),
        Err(Problem::Empty | Problem::Unrecognized { .. }) => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// The files that a thin archive names.
struct Outside<'r, 'f> {
    read_member: &'r mut MemberReader<'f>,
    seen: HashSet<Vec<u8>>,
    /// Of the files that the facts keep.
    size: u64,
}

impl Outside<'_, '_> {
    fn add(&mut self, name: &[u8], size: u64, mut place: Place, facts: &mut Facts) -> Result<(), Problem> {
        let shown = String::from_utf8_lossy(name);
        if !self.seen.insert(name.to_vec()) {
            facts.warnings.push(format!("member '{shown}' is in the thin archive more than once, and is taken once"));
            return Ok(());
        }
        let Some(bytes) = (self.read_member)(name) else {
            facts.warnings.push(format!("member '{shown}' of the thin archive is not on disk"));
            return Ok(());
        };
        if bytes.len() as u64 != size {
            let now = bytes.len();
            facts.warnings.push(format!("member '{shown}' had {size} bytes when the thin archive was made, and has {now} now"));
        }
        let containers = facts.containers.len();
        let parts = facts.parts.len();
        place.outside = Some(facts.outside.len());
        read_one(View::new(&bytes), &place, facts).map_err(|problem| problem.in_member(&shown))?;
        if facts.containers.len() == containers && facts.parts.len() == parts {
            return Ok(());
        }
        self.size = self.size.saturating_add(bytes.len() as u64);
        if self.size > MAX_OUTSIDE_SIZE {
            return Err(Problem::TooLarge { size: self.size, limit: MAX_OUTSIDE_SIZE });
        }
        facts.outside.push(OutsideFile { name: name.to_vec(), bytes });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Facts, examine, samples};
    use super::*;

    fn examine_thin(members: &[(&str, usize)], read_member: &mut MemberReader) -> Result<Facts, Problem> {
        examine(&samples::thin_archive(members), read_member)
    }

    #[test]
    fn members_that_are_no_device_code_contribute_nothing() {
        let cubin = samples::cubin(90, "13.5", "sm_90");
        let inner = samples::archive(&[("k.cubin", &cubin)]);
        let members: &[(&str, &[u8])] = &[
            ("README", b"text"),
            ("empty", b""),
            ("blank", b"\n"),
            ("k.cubin", &cubin),
            ("inner.a", &inner),
            ("import.obj", b"\0\0\xFF\xFF\0\0"),
        ];
        let facts = examine(&samples::archive(members), &mut |_| None).unwrap();
        assert_eq!(facts.parts.len(), 1);
        assert_eq!((facts.member(&facts.parts[0].place), &*facts.members), (Some("k.cubin"), &["k.cubin".to_owned()][..]));
        assert_eq!(facts.warnings, ["member 'inner.a' is an archive itself, which linkers do not look into"]);
        assert!(examine(&samples::archive(&[]), &mut |_| None).unwrap().parts.is_empty());
    }

    #[test]
    fn damage_names_its_member_and_the_offset_in_the_archive() {
        let mut cubin = samples::cubin(90, "13.5", "sm_90");
        cubin[16] = 7;
        let archive = samples::archive(&[("a", b"12"), ("k.cubin", &cubin)]);
        let Err(Problem::Damaged { what, offset }) = examine(&archive, &mut |_| None) else { panic!() };
        assert_eq!((&*what, offset), ("member 'k.cubin': cubin of ELF type 7", 8 + 60 + 2 + 60 + 16));
    }

    #[test]
    fn a_member_larger_than_its_archive_is_damage() {
        for size in ["11", "9999999999", "-1", "x"] {
            let mut archive = samples::archive(&[("k.ptx", b"0123456789")]);
            archive[56..66].copy_from_slice(format!("{size:<10}").as_bytes());
            assert!(matches!(examine(&archive, &mut |_| None), Err(Problem::Damaged { .. })), "{size}");
        }
    }

    #[test]
    fn the_members_of_a_thin_archive_come_from_outside() {
        let cubin = samples::cubin(90, "13.5", "sm_90");
        let mut asked = Vec::new();
        let members = [("gone.o", 1), ("notes", 4), ("dir/k.cubin", 7), ("dir/k.cubin", 7)];
        let facts = examine_thin(&members, &mut |name| {
            asked.push(String::from_utf8_lossy(name).into_owned());
            match name {
                b"notes" => Some(b"text".to_vec()),
                b"dir/k.cubin" => Some(cubin.clone()),
                _ => None,
            }
        });
        let facts = facts.unwrap();
        assert_eq!(asked, ["gone.o", "notes", "dir/k.cubin"]);
        assert_eq!(facts.outside.len(), 1);
        assert_eq!(facts.parts[0].place.outside, Some(0));
        assert_eq!(facts.part_bytes(b"", &facts.parts[0]).unwrap(), cubin);
        let size = cubin.len();
        let warnings = [
            "member 'gone.o' of the thin archive is not on disk",
            &format!("member 'dir/k.cubin' had 7 bytes when the thin archive was made, and has {size} now"),
            "member 'dir/k.cubin' is in the thin archive more than once, and is taken once",
        ];
        assert_eq!(facts.warnings, warnings);
    }

    #[test]
    fn a_hostile_name_table_costs_no_more_than_its_archive() {
        // Every member has the one long name.
        let name = "n".repeat(10_000);
        let mut archive = samples::thin_archive(&[(&name, 1)]);
        let header = archive.len() - 60;
        for _ in 0..1000 {
            archive.extend_from_within(header..header + 60);
        }
        let Err(Problem::Damaged { what, .. }) = examine(&archive, &mut |_| None) else { panic!() };
        assert_eq!(what, "member names that overlap");
    }
}
