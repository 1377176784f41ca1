//! PTX text: just enough of it to know the version, the target and the address size.

use super::bytes::View;
use super::{Arch, ArchSuffix, Part, PartKind, Place, Problem, Producer};
use crate::release::Version;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What the directives at the head of a PTX text say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ptx<'a> {
    /// The text without byte order mark and without the NULs that end it: nvJitLink wants exactly one of those, and no mark.
    pub text: &'a [u8],
    /// Where the text starts in what was given: 3 after a byte order mark, else 0.
    pub offset: u64,
    /// 8.4 of `.version 8.4`.
    pub version: Version,
    /// `sm_90a` of `.target sm_90a`, as the virtual architecture that it is.
    pub target: Arch,
    /// 64 of `.address_size 64`.
    pub address_size: Option<u8>,
}

/// Reads the head of a PTX text. Closing NULs are no part of it; one anywhere else is damage.
pub fn read_ptx(bytes: &[u8]) -> Result<Ptx<'_>, Problem> {
    read(View::new(bytes))
}

/// Whether nothing but blanks, NULs and a byte order mark is in there.
pub(super) fn is_blank(view: View) -> bool {
    text_of(view).bytes.iter().all(u8::is_ascii_whitespace)
}

/// Whether this is PTX at all: `.version` comes before everything but blanks and comments.
pub(super) fn is_ptx(view: View) -> bool {
    Tokens::new(view).next().is_some_and(|token| token.bytes == b".version")
}

/// Whether this is text of some kind, told by its first bytes.
pub(super) fn is_text(view: View) -> bool {
    let head = text_of(view).bytes;
    let head = head.get(..256).unwrap_or(head);
    head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

pub(super) fn read(view: View) -> Result<Ptx, Problem> {
    let text = text_of(view);
    // `contains` is many times faster than `position`, and nearly every text passes.
    if text.bytes.contains(&0) {
        let at = text.bytes.iter().position(|&byte| byte == 0).unwrap_or_default();
        return Err(text.damaged(at as u64, "a NUL inside PTX text"));
    }
    let mut tokens = Tokens { text, at: 0 };
    tokens.expect(b".version")?;
    let version = tokens.value(".version")?;
    let version = parse_version(version.bytes).ok_or_else(|| version.damaged(0, "a PTX .version that is no version"))?;
    tokens.expect(b".target")?;
    let target = tokens.value(".target")?;
    let target = parse_target(target.bytes).ok_or_else(|| target.damaged(0, "a PTX .target that is no architecture"))?;
    while tokens.skip(b",") {
        tokens.value(".target")?;
    }
    let address_size = if tokens.skip(b".address_size") {
        let size = tokens.value(".address_size")?;
        match size.bytes {
            b"32" => Some(32),
            b"64" => Some(64),
            _ => return Err(size.damaged(0, "a PTX .address_size that is neither 32 nor 64")),
        }
    } else {
        None
    };
    Ok(Ptx { text: text.bytes, offset: text.offset.saturating_sub(view.offset), version, target, address_size })
}

pub(super) fn part(view: View, place: &Place) -> Result<Part, Problem> {
    let ptx = read(view)?;
    let text = View { bytes: ptx.text, offset: view.offset.saturating_add(ptx.offset) };
    let stored = Part::stored(PartKind::Ptx, text, place);
    Ok(Part { arch: Some(ptx.target), producer: Producer::Ptx { isa: ptx.version }, ..stored })
}

/// The text between byte order mark and closing NULs.
fn text_of(view: View) -> View {
    let text = if view.starts_with(BYTE_ORDER_MARK) { view.tail(BYTE_ORDER_MARK.len() as u64) } else { view };
    let mut bytes = text.bytes;
    while let [rest @ .., 0] = bytes {
        bytes = rest;
    }
    View { bytes, ..text }
}

fn parse_version(token: &[u8]) -> Option<Version> {
    let (major, minor) = std::str::from_utf8(token).ok()?.split_once('.')?;
    Some((parse_number(major)?.try_into().ok()?, parse_number(minor)?.try_into().ok()?))
}

fn parse_target(token: &[u8]) -> Option<Arch> {
    let mut arch = parse_real_arch(std::str::from_utf8(token).ok()?)?;
    arch.is_virtual = true;
    Some(arch)
}

/// `sm_90a`, the spelling that PTX and the tools' notes share.
pub(super) fn parse_real_arch(name: &str) -> Option<Arch> {
    let name = name.strip_prefix("sm_")?;
    let (number, suffix) = match (name.strip_suffix('a'), name.strip_suffix('f')) {
        (Some(number), _) => (number, ArchSuffix::A),
        (_, Some(number)) => (number, ArchSuffix::F),
        _ => (name, ArchSuffix::None),
    };
    Some(Arch { number: parse_number(number)?, suffix, is_virtual: false })
}

/// Digits and nothing else: `parse` alone would take a sign.
fn parse_number(digits: &str) -> Option<u32> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The tokens of a PTX text, without blanks and comments.
#[derive(Clone, Copy)]
pub(super) struct Tokens<'a> {
    text: View<'a>,
    at: u64,
}

impl<'a> Tokens<'a> {
    pub fn new(view: View<'a>) -> Self {
        Tokens { text: text_of(view), at: 0 }
    }

    /// The next word or other single byte. A `"` is a token too: [`skip_string`](Self::skip_string) goes on behind the text it starts.
    pub fn next(&mut self) -> Option<View<'a>> {
        self.skip_blanks();
        let rest = self.text.tail(self.at);
        let word = rest.bytes.iter().take_while(|&&byte| is_word(byte)).count();
        // What is no word is a token of one byte.
        let token = rest.slice(0, word.max(1) as u64, "token").ok()?;
        self.at = self.at.saturating_add(token.len());
        Some(token)
    }

    /// Goes on after the `"` that ends a text, or after all if none does. ptxas knows no escapes, and takes line ends as they are.
    pub fn skip_string(&mut self) {
        let rest = self.text.tail(self.at).bytes;
        let end = rest.iter().position(|&byte| byte == b'"').map_or(rest.len(), |end| end.saturating_add(1));
        self.at = self.at.saturating_add(end as u64);
    }

    /// Takes the next token if it is this one.
    fn skip(&mut self, token: &[u8]) -> bool {
        let mut ahead = *self;
        let found = ahead.next().is_some_and(|next| next.bytes == token);
        if found {
            *self = ahead;
        }
        found
    }

    fn expect(&mut self, directive: &'static [u8]) -> Result<(), Problem> {
        if self.skip(directive) {
            return Ok(());
        }
        self.skip_blanks();
        Err(self.text.damaged(self.at, format!("PTX without {} where it belongs", String::from_utf8_lossy(directive))))
    }

    fn value(&mut self, directive: &str) -> Result<View<'a>, Problem> {
        let at = self.at;
        self.next().ok_or_else(|| self.text.damaged(at, format!("PTX that ends after {directive}")))
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.text.tail(self.at).bytes;
            let skipped = match rest {
                [b'/', b'/', ..] | [b'#', ..] => rest.iter().take_while(|&&byte| byte != b'\n').count(),
                [b'/', b'*', comment @ ..] => match comment.windows(2).position(|end| end == b"*/") {
                    Some(end) => end.saturating_add(4),
                    None => rest.len(),
                },
                _ => rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
            };
            if skipped == 0 {
                return;
            }
            self.at = self.at.saturating_add(skipped as u64);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$' | b'%')
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.4\n.target sm_90a\n.address_size 64\n";

    fn damage(text: &[u8]) -> (String, u64) {
        match read_ptx(text) {
            Err(Problem::Damaged { what, offset }) => (what, offset),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_the_head() {
        let ptx = read_ptx(HEAD.as_bytes()).unwrap();
        let target = Arch { number: 90, suffix: ArchSuffix::A, is_virtual: true };
        assert_eq!((ptx.version, ptx.target, ptx.address_size, ptx.offset), ((8, 4), target, Some(64), 0));
    }

    #[test]
    fn blanks_comments_and_line_ends_do_not_matter() {
        let heads = [
            "//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version 8.4\n.target sm_90a\n.address_size 64",
            "/* .version 1.0 */ .version/**/8.4/**/.target sm_90a/**/.address_size 64\n",
            "\r\n\r\n.version 8.4\r\n.target sm_90a, debug\r\n.address_size 64\r\n",
            "\n\n\n\n\n\n.version\t8.4 .target sm_90a ,texmode_independent , debug .address_size 64",
            "# 1 \"k.ptx\"\n.version 8.4 // comment\n.target /* sm_10 */ sm_90a\n.address_size 64 /* never closed",
        ];
        for head in heads {
            let ptx = read_ptx(head.as_bytes()).unwrap_or_else(|problem| panic!("{head}: {problem}"));
            assert_eq!((ptx.version, ptx.target.number, ptx.address_size), ((8, 4), 90, Some(64)), "{head}");
        }
    }

    #[test]
    fn the_address_size_may_be_missing() {
        let ptx = read_ptx(b".version 7.0 .target sm_52 .entry k() {}").unwrap();
        assert_eq!((ptx.target.suffix, ptx.address_size), (ArchSuffix::None, None));
        assert_eq!(read_ptx(b".version 8.8\n.target sm_100f\n").unwrap().target.suffix, ArchSuffix::F);
    }

    #[test]
    fn closing_nuls_and_a_byte_order_mark_are_no_part_of_the_text() {
        for nuls in 0..4 {
            let text = [HEAD.as_bytes(), &vec![0; nuls]].concat();
            assert_eq!(read_ptx(&text).unwrap().text, HEAD.as_bytes());
            let marked = [BYTE_ORDER_MARK, &text].concat();
            let ptx = read_ptx(&marked).unwrap();
            assert_eq!((ptx.text, ptx.offset), (HEAD.as_bytes(), 3));
        }
    }

    #[test]
    fn an_inner_nul_is_damage_where_it_stands() {
        let text = [HEAD.as_bytes(), b"a\0b\0"].concat();
        assert_eq!(damage(&text), ("a NUL inside PTX text".to_owned(), HEAD.len() as u64 + 1));
        let marked = [BYTE_ORDER_MARK, HEAD.as_bytes(), b"\0\n"].concat();
        assert_eq!(damage(&marked).1, HEAD.len() as u64 + 3);
    }

    #[test]
    fn a_head_that_says_nothing_is_damage() {
        let cases = [
            (".version", "PTX that ends after .version", 8),
            (".version 8", "a PTX .version that is no version", 9),
            (".version +8.4", "a PTX .version that is no version", 9),
            (".version 8.70000", "a PTX .version that is no version", 9),
            (".version 8.4\n.address_size 64", "PTX without .target where it belongs", 13),
            (".version 8.4\n", "PTX without .target where it belongs", 13),
            (".version 8.4\n.target 90", "a PTX .target that is no architecture", 21),
            (".version 8.4\n.target sm_", "a PTX .target that is no architecture", 21),
            (".version 8.4\n.target sm_90af", "a PTX .target that is no architecture", 21),
            (".version 8.4\n.target sm_90,", "PTX that ends after .target", 27),
            (".version 8.4\n.target sm_90\n.address_size 16", "a PTX .address_size that is neither 32 nor 64", 41),
        ];
        for (text, what, offset) in cases {
            assert_eq!(damage(text.as_bytes()), (what.to_owned(), offset), "{text}");
        }
    }

    #[test]
    fn any_bytes_may_follow_the_head() {
        let text = [HEAD.as_bytes(), &(1..=255).collect::<Vec<u8>>()].concat();
        assert!(read_ptx(&text).is_ok());
    }
}
