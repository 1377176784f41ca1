//! The symbols of PTX text, as ptxas would put them into a cubin.
//!
//! Only what stands outside of functions declares a symbol; inside, names are looked at to know which declared functions are mentioned, for ptxas
//! drops the others. Text that is no PTX gives whatever can be made out: to refuse it is for ptxas.

use std::collections::{HashMap, HashSet};

use super::bytes::View;
use super::ptx::Tokens;
use super::symbols::{Binding, Memory, Symbol, SymbolKind, is_internal};

pub(super) fn read(text: View) -> Vec<Symbol> {
    let mut reader = Reader { tokens: Tokens::new(text), declared: Vec::new(), by_name: HashMap::new() };
    reader.module();
    reader.declared.into_iter().filter_map(Declared::symbol).collect()
}

/// The linking directive in front of a declaration.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Linking {
    #[default]
    None,
    Extern,
    Visible,
    Weak,
    Common,
}

struct Declared<'a> {
    name: &'a [u8],
    kind: SymbolKind,
    linking: Linking,
    defined: bool,
    /// Whether anything but its declaration says its name.
    mentioned: bool,
    memory: Option<Memory>,
    size: Option<u64>,
    initialized: bool,
}

impl Declared<'_> {
    /// `None` for what ptxas would not put into a cubin.
    fn symbol(self) -> Option<Symbol> {
        let is_bound_by_the_host = matches!(self.memory, Some(Memory::Texture | Memory::Sampler | Memory::Surface));
        let defined = self.defined || is_bound_by_the_host;
        let binding = match self.linking {
            _ if is_bound_by_the_host => Binding::Common,
            Linking::None if defined => Binding::Local,
            Linking::None | Linking::Extern | Linking::Visible => Binding::Strong,
            Linking::Weak => Binding::Weak,
            // Common is what has no value, for ptxas and nvJitLink of every release (measured).
            Linking::Common if self.initialized => Binding::Strong,
            Linking::Common => Binding::Common,
        };
        let is_left_out = match (self.kind, self.memory) {
            (SymbolKind::Kernel | SymbolKind::Function, _) => !defined && self.linking == Linking::Extern && !self.mentioned,
            (SymbolKind::Variable, Some(Memory::Shared)) => !defined && self.size.is_none(),
            (SymbolKind::Variable, _) => false,
        };
        if is_left_out || binding == Binding::Local && is_internal(self.name) {
            return None;
        }
        Some(Symbol {
            name: String::from_utf8_lossy(self.name).into_owned(),
            kind: self.kind,
            binding,
            defined,
            memory: self.memory,
            // A cubin does not tell the size of these.
            size: self.size.filter(|_| !is_bound_by_the_host),
            initialized: self.initialized && self.memory == Some(Memory::Global),
        })
    }
}

struct Reader<'a> {
    tokens: Tokens<'a>,
    declared: Vec<Declared<'a>>,
    by_name: HashMap<&'a [u8], usize>,
}

impl<'a> Reader<'a> {
    /// The next token; a text in quotes is the token `"`.
    fn next(&mut self) -> Option<&'a [u8]> {
        let token = self.tokens.next()?.bytes;
        if token == b"\"" {
            self.tokens.skip_string();
        }
        Some(token)
    }

    fn module(&mut self) {
        let mut linking = Linking::None;
        while let Some(token) = self.next() {
            if let Some(directive) = linking_of(token) {
                linking = directive;
                continue;
            }
            match token {
                b".entry" => self.function(SymbolKind::Kernel, std::mem::take(&mut linking)),
                b".func" => self.function(SymbolKind::Function, std::mem::take(&mut linking)),
                b".global" => self.variables(Some(Memory::Global), std::mem::take(&mut linking)),
                b".const" => self.variables(Some(Memory::Constant), std::mem::take(&mut linking)),
                b".shared" => self.variables(Some(Memory::Shared), std::mem::take(&mut linking)),
                // As PTX 1.4 wrote `.global .texref`.
                b".tex" => self.variables(Some(Memory::Texture), std::mem::take(&mut linking)),
                b".alias" => self.alias(),
                // What follows `.section`.
                b"{" => self.skip_block(),
                b";" => linking = Linking::None,
                _ => {}
            }
        }
    }

    /// After `.entry` or `.func`: `.attribute(...) (results) name (parameters) .noreturn .pragma "..."; {`, of which only the name must be there.
    fn function(&mut self, kind: SymbolKind, linking: Linking) {
        let mut name = None;
        let mut parameters = Vec::new();
        let mut depth = 0_u64;
        let has_body = loop {
            let before = self.tokens;
            match self.next() {
                None | Some(b";") => break false,
                Some(b"{") => break true,
                Some(b"(") => depth = depth.saturating_add(1),
                Some(b")") => depth = depth.saturating_sub(1),
                // The one directive that has a semicolon of its own.
                Some(b".pragma") => self.skip_statement(),
                Some(token) if depth == 0 && starts_declaration(token) => {
                    self.tokens = before;
                    break false;
                }
                Some(token) if !is_name(token) => {}
                Some(token) if depth == 0 => {
                    name.get_or_insert(token);
                }
                Some(token) => parameters.push(token),
            }
        };
        if let Some(name) = name {
            self.declare(Declared {
                name,
                kind,
                linking,
                defined: has_body,
                mentioned: false,
                memory: None,
                size: None,
                initialized: false,
            });
        }
        if has_body {
            self.body(parameters);
        }
    }

    /// Marks what the statements of a function mention, up to the brace that ends it. Names that are parameters, variables of an enclosing
    /// block or labels mean something else here.
    fn body(&mut self, parameters: Vec<&'a [u8]>) {
        let mut scopes = Scopes::default();
        parameters.into_iter().for_each(|name| scopes.declare(name));
        let (mut labels, mut mentioned) = (HashSet::new(), HashSet::new());
        let mut first = None;
        let mut is_start = true;
        let mut is_predicate = false;
        let mut declares = false;
        scopes.open();
        while let Some(token) = self.next() {
            match token {
                // Braces of blocks stand between statements, those of vectors and initial values inside of one.
                b"{" => scopes.open(),
                b"}" => {
                    scopes.close();
                    if scopes.depth() == 0 {
                        break;
                    }
                }
                b";" => (is_start, declares) = (true, false),
                b":" => {
                    labels.extend(first);
                    is_start = true;
                }
                b"@" => is_predicate = true,
                b"=" => declares = false,
                b".loc" if is_start => self.skip_location(),
                b".reg" | b".param" | b".local" | b".shared" | b".const" | b".global" if is_start => (is_start, declares) = (false, true),
                // As `.calltargets f, g;`.
                [b'.', ..] if is_start => (first, is_start) = (None, false),
                _ if !is_name(token) => {}
                _ if is_predicate => is_predicate = false,
                // A label, or what the statement does.
                _ if is_start => (first, is_start) = (Some(token), false),
                _ if declares => scopes.declare(token),
                _ if self.by_name.contains_key(token) && !scopes.contains(token) => {
                    mentioned.insert(token);
                }
                _ => {}
            }
        }
        mentioned.difference(&labels).for_each(|name| self.mention(name));
    }

    /// After `.loc`, which ends where the next statement starts: `1 5 3, function_name $L__info_string0 + 8, inlined_at 1 4 2`.
    fn skip_location(&mut self) {
        loop {
            let before = self.tokens;
            match self.next() {
                Some(b"," | b"+" | b"inlined_at" | [b'0'..=b'9', ..]) => {}
                Some(b"function_name") => {
                    self.next();
                }
                _ => {
                    self.tokens = before;
                    return;
                }
            }
        }
    }

    /// After the memory: `.attribute(.managed) .align 4 .v2 .b32 first[2][3] = {...}, second;`.
    fn variables(&mut self, mut memory: Option<Memory>, linking: Linking) {
        let mut element = None;
        let mut lanes = 1;
        let mut current: Option<(&[u8], Option<u64>)> = None;
        let mut initialized = false;
        loop {
            let before = self.tokens;
            let token = self.next();
            match token {
                Some(b"(" | b"{") => self.skip_nested(),
                Some(b"=") => {
                    initialized = true;
                    self.initial_value();
                }
                Some(b"[") => {
                    let length = self.array_length();
                    if let Some((_, size)) = &mut current {
                        *size = size.zip(length).and_then(|(size, length)| size.checked_mul(length));
                    }
                }
                Some(b".texref") => memory = Some(Memory::Texture),
                Some(b".surfref") => memory = Some(Memory::Surface),
                Some(b".samplerref") => memory = Some(Memory::Sampler),
                Some([b'.', b'v', digits @ ..]) if number(digits).is_some() => lanes = number(digits).unwrap_or(1),
                Some(token) if scalar_size(token).is_some() => element = scalar_size(token),
                Some(token) if is_name(token) => {
                    current.get_or_insert((token, element.and_then(|bytes| bytes.checked_mul(lanes))));
                }
                Some(b"," | b";") | None => {
                    if let Some((name, size)) = current.take() {
                        let defined = linking != Linking::Extern;
                        let kind = SymbolKind::Variable;
                        self.declare(Declared { name, kind, linking, defined, mentioned: false, memory, size, initialized });
                        initialized = false;
                    }
                    if token != Some(b",") {
                        return;
                    }
                }
                Some(token) if starts_declaration(token) => {
                    self.tokens = before;
                    return;
                }
                Some(_) => {}
            }
        }
    }

    /// After `[`, to its `]`. `None` if there is no plain number.
    fn array_length(&mut self) -> Option<u64> {
        let length = number(self.next().filter(|&token| token != b"]")?);
        match self.next()? {
            b"]" => length,
            _ => {
                while !matches!(self.next(), None | Some(b"]" | b";")) {}
                None
            }
        }
    }

    /// After `=`, to the comma or semicolon that ends the value. The functions it points to are mentioned.
    fn initial_value(&mut self) {
        loop {
            let before = self.tokens;
            match self.next() {
                Some(b"," | b";") => {
                    self.tokens = before;
                    return;
                }
                Some(b"(" | b"{") => self.skip_nested(),
                Some(token) if is_name(token) => self.mention(token),
                Some(_) => {}
                None => return,
            }
        }
    }

    /// After an opening brace or parenthesis, to the one that closes it. Names inside are mentioned.
    fn skip_nested(&mut self) {
        let mut depth = 1_u64;
        while depth > 0 {
            match self.next() {
                Some(b"(" | b"{") => depth = depth.saturating_add(1),
                Some(b")" | b"}") => depth = depth.saturating_sub(1),
                Some(token) if is_name(token) => self.mention(token),
                Some(_) => {}
                None => return,
            }
        }
    }

    /// After the `{` of a section: debug information names functions without needing them.
    fn skip_block(&mut self) {
        let mut depth = 1_u64;
        while depth > 0 {
            match self.next() {
                Some(b"{") => depth = depth.saturating_add(1),
                Some(b"}") => depth = depth.saturating_sub(1),
                Some(_) => {}
                None => return,
            }
        }
    }

    fn skip_statement(&mut self) {
        while !matches!(self.next(), None | Some(b";")) {}
    }

    /// After `.alias`: `new, old;`, of which the new one has been declared without a body.
    fn alias(&mut self) {
        let Some(new) = self.next() else { return };
        if let Some(declared) = self.by_name.get(new).and_then(|&index| self.declared.get_mut(index)) {
            declared.defined = true;
        }
        self.skip_statement();
    }

    fn mention(&mut self, name: &[u8]) {
        if let Some(declared) = self.by_name.get(name).and_then(|&index| self.declared.get_mut(index)) {
            declared.mentioned = true;
        }
    }

    /// A name may be declared several times, before and after it is defined.
    fn declare(&mut self, new: Declared<'a>) {
        let known = self.by_name.get(new.name).and_then(|&index| self.declared.get_mut(index));
        let Some(known) = known else {
            self.by_name.insert(new.name, self.declared.len());
            self.declared.push(new);
            return;
        };
        // The definition after `.visible .func f;` may leave the directive out.
        if known.linking == Linking::Extern || !matches!(new.linking, Linking::None | Linking::Extern) {
            known.linking = new.linking;
        }
        if new.defined {
            known.defined = true;
            known.size = new.size;
            known.initialized = new.initialized;
        }
    }
}

/// The names that blocks declare.
#[derive(Default)]
struct Scopes<'a> {
    /// Every name that is declared now, and how many blocks do so.
    counts: HashMap<&'a [u8], u64>,
    names: Vec<&'a [u8]>,
    /// For each open block, how many names were there before it.
    starts: Vec<usize>,
}

impl<'a> Scopes<'a> {
    fn depth(&self) -> usize {
        self.starts.len()
    }

    fn open(&mut self) {
        self.starts.push(self.names.len());
    }

    fn close(&mut self) {
        let start = self.starts.pop().unwrap_or_default();
        for name in self.names.drain(start.min(self.names.len())..) {
            if let Some(count) = self.counts.get_mut(name) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn declare(&mut self, name: &'a [u8]) {
        self.names.push(name);
        let count = self.counts.entry(name).or_default();
        *count = count.saturating_add(1);
    }

    fn contains(&self, name: &[u8]) -> bool {
        self.counts.get(name).is_some_and(|&count| count > 0)
    }
}

fn linking_of(token: &[u8]) -> Option<Linking> {
    match token {
        b".extern" => Some(Linking::Extern),
        b".visible" => Some(Linking::Visible),
        b".weak" => Some(Linking::Weak),
        b".common" => Some(Linking::Common),
        _ => None,
    }
}

/// Whether this can only be the start of another declaration, so that the one before has lost its end.
fn starts_declaration(token: &[u8]) -> bool {
    linking_of(token).is_some() || matches!(token, b".entry" | b".func" | b".global" | b".const" | b".shared" | b".alias" | b".section")
}

fn is_name(token: &[u8]) -> bool {
    matches!(token, [first, ..] if first.is_ascii_alphabetic() || matches!(first, b'_' | b'$' | b'%'))
}

/// 4 of `.b32`.
fn scalar_size(token: &[u8]) -> Option<u64> {
    match token {
        b".f16x2" | b".bf16x2" => Some(4),
        b".bf16" => Some(2),
        [b'.', b'b' | b'u' | b's' | b'f', bits @ ..] => number(bits)?.checked_div(8),
        _ => None,
    }
}

/// A number as C writes it: 16, 16U, 020, 0x10.
fn number(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits.strip_suffix(b"U").unwrap_or(digits)).ok()?;
    let (digits, radix) = match (digits.strip_prefix("0x"), digits.strip_prefix('0')) {
        (Some(hexadecimal), _) => (hexadecimal, 16),
        (None, Some(octal)) if !octal.is_empty() => (octal, 8),
        _ => (digits, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Vec<Symbol> {
        read(View::new(text.as_bytes()))
    }

    /// What is found, one word each: `kernel k`, `weak function f`, `undefined variable v`.
    fn told(text: &str) -> Vec<String> {
        let tell = |symbol: Symbol| {
            let state = match (symbol.defined, symbol.binding) {
                (false, _) => "undefined ".to_owned(),
                (true, Binding::Strong) => String::new(),
                (true, binding) => format!("{} ", binding.name()),
            };
            format!("{state}{} {}", symbol.kind.name(), symbol.name)
        };
        read_text(text).into_iter().map(tell).collect()
    }

    #[test]
    fn every_directive_has_its_meaning() {
        let cases: &[(&str, &[&str])] = &[
            (".visible .entry k () { ret; }", &["kernel k"]),
            (".weak .entry k () { ret; }", &["weak kernel k"]),
            (".entry k { ret; }", &["local kernel k"]),
            (".visible .entry k () .maxntid 32, 1, 1 .minnctapersm 2 .pragma \"a;{\"; { ret; }", &["kernel k"]),
            (".visible .func f () { ret; }", &["function f"]),
            (".weak .func (.param .b32 result) f (.param .b32 a, .param .b64 b) { ret; }", &["weak function f"]),
            (".func f () .noreturn { exit; }", &["local function f"]),
            (".visible .func .attribute(.unified(0xAB, 0xCD)) f () { ret; }", &["function f"]),
            (".visible .func (.param .align 8 .b8 r[16]) f (.param .align 8 .b8 a[16]) { ret; }", &["function f"]),
            (".visible .global .b32 v;", &["variable v"]),
            (".weak .const .align 4 .b32 v = 1;", &["weak variable v"]),
            (".common .global .b32 v;", &["common variable v"]),
            (".shared .b32 v;", &["local variable v"]),
            (".visible .global .attribute(.managed) .u32 v = 3;", &["variable v"]),
            (".extern .global .b32 v;", &["undefined variable v"]),
            (".extern .const .b8 v[];", &["undefined variable v"]),
            (".extern .shared .b8 v[16];", &["undefined variable v"]),
            (".extern .shared .b8 v[];", &[]),
            (
                ".visible .global .b32 a, b[2][3], c = 4, d[2] = {1, 2}, e;",
                &["variable a", "variable b", "variable c", "variable d", "variable e"],
            ),
            (
                ".global .texref t; .visible .global .surfref s; .extern .global .samplerref u;",
                &["common variable t", "common variable s", "common variable u"],
            ),
            (".tex .u32 t;", &["common variable t"]),
            (".global .b8 $str[4] = {37, 100, 10};", &[]),
            (".visible .global .b8 $v;", &["variable $v"]),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), *expected, "{text}");
        }
    }

    #[test]
    fn a_declared_function_is_needed_where_something_mentions_it() {
        let mentions = [
            ".entry k () { call f, (); }",
            ".entry k () { .param .b32 r; { call.uni (r), f, (r, r); } }",
            ".entry k () { @%p1 call f; }",
            ".entry k () { label: call f; }",
            ".entry k () { mov.u64 %rd1, f; }",
            ".entry k () { { .reg .b32 f; } call f; }",
            ".entry k () { .loc 1 2 3 call f; }",
            ".entry k () { .loc 1 5 3, function_name $L__info + 8, inlined_at 1 4 2 call f; }",
            ".entry k () { calls: .calltargets f; }",
            ".entry k () { .pragma \"x\"; call f; }",
            ".entry k () { .global .u64 t = f; }",
            ".global .u64 t = f;",
            ".global .u64 t[2] = {0, f};",
            ".global .u64 t[2] = {{generic(f)}}, u;",
        ];
        for text in mentions {
            assert!(told(&format!(".extern .func f (); {text}")).contains(&"undefined function f".to_owned()), "{text}");
        }
        let silent = [
            "",
            ".entry k () { f.s32 %r1, %r2; f; }",
            ".entry k () { @f ret; }",
            ".entry k () { @!f ret; }",
            ".entry k () { f: bra f; }",
            ".entry k () { bra f; f: ret; }",
            ".entry k () { .reg .b32 f; mov.b32 f, 1; { mov.b32 f, 1; } }",
            ".entry k () { .reg .b32 %r<5>, f; mov.b32 f, {f, f}; }",
            ".func k (.param .b32 f) { ld.param.b32 %r1, [f]; }",
            ".func (.param .b32 f) k () { st.param.b32 [f], 1; }",
            ".entry k () { // call f\n /* call f */ ret; }",
            ".entry k () { .loc 1 2 3 f; }",
            ".section .debug_info { .b64 f }",
            ".extern .func f ();",
            ".global .b32 t = 3;",
        ];
        for text in silent {
            assert!(!told(&format!(".extern .func f (); {text}")).contains(&"undefined function f".to_owned()), "{text}");
        }
    }

    #[test]
    fn several_declarations_are_one_symbol() {
        let cases: &[(&str, &[&str])] = &[
            (".visible .func f (); .func f () { ret; }", &["function f"]),
            (".weak .func f (); .func f () { ret; }", &["weak function f"]),
            (".func f (); .func f () { ret; }", &["local function f"]),
            (".extern .global .b32 v; .visible .global .b32 v = 3;", &["variable v"]),
            (".visible .global .b32 v; .extern .global .b32 v;", &["variable v"]),
            (".visible .func f ();", &["undefined function f"]),
            (".visible .func a (); .func f () { ret; } .alias a, f;", &["function a", "local function f"]),
            (".func a (); .func f () { ret; } .alias a, f;", &["local function a", "local function f"]),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), *expected, "{text}");
        }
    }

    #[test]
    fn sizes_are_those_of_the_declaration() {
        let cases = [
            (".b32 v", Some(4)),
            (".align 16 .v4 .f32 v[2]", Some(32)),
            (".u64 v[2][3]", Some(48)),
            (".b8 v[0x10U][010]", Some(128)),
            (".f16x2 v", Some(4)),
            (".b8 v[]", None),
            (".b8 v[2*4]", None),
            (".b8 v[0x8000000000000000][4]", None),
            (".b8 v[4][]", None),
            ("v", None),
        ];
        for (text, size) in cases {
            let [symbol] = &read_text(&format!(".visible .global {text};"))[..] else { panic!("{text}") };
            assert_eq!((symbol.size, symbol.memory), (size, Some(Memory::Global)), "{text}");
        }
        let [first, second] = &read_text(".visible .const .b16 a[3], b;")[..] else { panic!() };
        assert_eq!((first.size, second.size, second.memory), (Some(6), Some(2), Some(Memory::Constant)));
    }

    #[test]
    fn comments_texts_and_braces_hide_what_is_in_them() {
        let hidden = ".visible .global .b32 hidden;";
        for text in [
            format!("// {hidden}\n"),
            format!("/* {hidden} */"),
            format!("/* never closed {hidden}"),
            format!(".file 1 \"{hidden}\""),
            // ptxas knows no escapes.
            format!(".file 1 \"\\\" .file 2 \"{hidden}\""),
            format!(".pragma \"{hidden}\n{hidden}\";"),
            format!(".file 1 \"never closed {hidden}"),
            format!(".section .debug_str {{ {{ }} {hidden} }}"),
            format!(".entry k () {{ {{ {hidden} }} {hidden} }}"),
            format!(".entry k () {{ mov.b64 %r1, {{%r1, %r2}}; {hidden} }}"),
            format!(".entry k () {{ .file 1 \"}}\" {hidden} }}"),
        ] {
            assert!(!told(&text).iter().any(|line| line.contains("hidden")), "{text}");
            assert!(
                text.contains("never") || told(&format!("{text} .visible .func seen () {{ }}")).contains(&"function seen".to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_has_lost_its_end_does_not_swallow_the_next() {
        for text in [".visible .func lost ()", ".visible .global .b32 lost", ".visible .global .b32 lost[4], ", ".visible"] {
            assert!(told(&format!("{text}\n.visible .func seen () {{ }}")).contains(&"function seen".to_owned()), "{text}");
        }
    }

    #[test]
    fn work_is_linear() {
        // Each of these is seconds if anything looks twice at what follows.
        let many = 200_000;
        for text in [
            ".func ".repeat(many),
            ".visible .func f () {".to_owned() + &"{".repeat(many),
            ".visible .func f () {".to_owned() + &"{ .reg .b32 a; ".repeat(many) + &"}".repeat(many),
            ".visible .func f () {".to_owned() + &"/**/@".repeat(many),
            ".global .b8 v[2] = ".to_owned() + &"{(".repeat(many),
            "\"".repeat(many),
            ".extern .func f (".to_owned() + &"a,".repeat(many),
            ".global .b8 a, ".repeat(many),
        ] {
            read_text(&text);
        }
    }
}
