//! What is asked for, free of contradictions, before any library is looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::arch::{EntryRule, links_for, precedence};
use super::limits::UnpackBudget;
use super::plan::{Action, Decision, LibraryFacts, LinkerLibrary, Plan, PlannedBackend, PlannedImage, PlannedOption, UsedPart};
use super::rules;
use super::symbols::LinkSymbols;
use super::table::OptionId;
use super::used::UsedNames;
use crate::arch::{Arch, ArchSuffix};
use crate::error::{Diagnostic, Error, Result, ResultClass, Severity};
use crate::input::{Binding, Input, InputKind, Part, PartKind, Piece, Symbol, Symbols};
use crate::options::{ArchiveMembers, LinkOptions, OutputKind, Value};

/// Whose libraries a request is for. They take different inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkBy {
    /// nvJitLink, in the releases that take the entries of a fatbin by this rule.
    Nvjitlink(EntryRule),
    /// The CUDA driver, which links cubins and PTX to a cubin and nothing else.
    Driver,
}

/// A link that can be asked of any library of that kind that is new enough for it.
#[derive(Debug)]
pub struct Request<'a> {
    by: LinkBy,
    pub(super) options: &'a LinkOptions,
    pub(super) inputs: &'a [Input],
    pub(super) target: Arch,
    pub(super) lto: bool,
    pub(super) chosen: Vec<Chosen>,
    finished: Option<Part>,
    symbols: LinkSymbols,
    decisions: Vec<Decision>,
    budget: UnpackBudget,
}

/// A piece that is linked, and the part of it that a library will take.
#[derive(Debug)]
pub(super) struct Chosen {
    pub input: usize,
    pub piece: usize,
    /// `None` if only the library can tell.
    pub part: Option<Part>,
}

impl<'a> Request<'a> {
    /// Checks what holds for every library. What is worth telling and no error goes to `warnings`, on failure too.
    ///
    /// Fails with no_inputs, missing_arch, incompatible_options, arch_mismatch, not_ltoir, not_relocatable, no_device_code,
    /// duplicate_symbol or bad_option_value; for the driver also with unsupported_option.
    pub fn new(options: &'a LinkOptions, inputs: &'a [Input], by: LinkBy, warnings: &mut Vec<Diagnostic>) -> Result<Self> {
        if inputs.is_empty() {
            return Err(Error::new(ResultClass::NoInputs, "nothing was added to link"));
        }
        let target = options.arch().ok_or_else(|| {
            Error::new(ResultClass::MissingArch, "no target architecture was given").hint("set arch, or pass -arch=sm_XX")
        })?;
        contradictions(options, target)?;
        if by == LinkBy::Driver {
            rules::driver_gives_cubins(options)?;
        }
        let mut request = Self {
            by,
            options,
            inputs,
            target,
            lto: false,
            chosen: Vec::new(),
            finished: None,
            symbols: LinkSymbols::default(),
            decisions: Vec::new(),
            budget: UnpackBudget::new(options),
        };
        request.decide_lto(warnings);
        request.choose(warnings)?;
        request.look_at_symbols(warnings)?;
        Ok(request)
    }

    /// The symbols of what is linked.
    pub fn into_symbols(self) -> LinkSymbols {
        self.symbols
    }

    fn look_at_symbols(&mut self, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        let symbols_of = |chosen: &Chosen| match &chosen.part {
            Some(part) => self.at(chosen).0.symbols(part),
            None => Ok(Symbols::Unknown),
        };
        let mut found: Vec<Symbols> = self.chosen.iter().map(symbols_of).collect::<Result<_>>()?;
        let mut used = UsedNames::of(self.options)?;
        let mut roots: BTreeSet<String> = self.options.required_kernels.iter().cloned().collect();
        for symbol in found.iter().flat_map(known).filter(|symbol| symbol.defined) {
            if used.keeps(symbol.kind, &symbol.name) {
                roots.insert(symbol.name.clone());
            }
        }
        if self.options.archive_members == ArchiveMembers::Needed {
            self.leave_out_unneeded_members(&mut found, &roots);
        }
        let mut symbols = LinkSymbols::with(used);
        for (chosen, found) in self.chosen.iter().zip(found) {
            let (input, piece) = self.at(chosen);
            symbols.add(input, piece, found)?;
        }
        if !symbols.some_are_unknown() {
            warnings.extend(symbols.used().not_found());
        }
        self.symbols = symbols;
        Ok(())
    }

    /// Keeps of each archive the members that are needed: those that define what is undefined so far, until nothing changes.
    ///
    /// What LTO-IR needs cannot be looked at, and may be in any member.
    fn leave_out_unneeded_members(&mut self, found: &mut Vec<Symbols>, roots: &BTreeSet<String>) {
        let unknown = self.chosen.iter().zip(&*found).find(|(_, symbols)| matches!(symbols, Symbols::Unknown));
        let unknown = unknown.map(|(chosen, _)| self.at(chosen).1.name.clone());
        let members: Vec<Option<Member>> = self.chosen.iter().map(|chosen| self.member_of(chosen)).collect();
        let needed = if unknown.is_some() { vec![true; members.len()] } else { needed_members(&members, found, roots) };
        let mut by_input: BTreeMap<usize, [BTreeMap<Member, &str>; 2]> = BTreeMap::new();
        for ((chosen, member), is_needed) in self.chosen.iter().zip(&members).zip(&needed) {
            if let Some(member) = *member {
                by_input.entry(chosen.input).or_default()[usize::from(!is_needed)].insert(member, &self.at(chosen).1.name);
            }
        }
        let told = by_input.into_iter().map(|(input, [taken, left])| {
            let list = taken.values().copied().collect::<Vec<_>>().join(", ");
            let reason = match &unknown {
                Some(name) => format!("all members are linked, for '{name}' does not tell what it needs"),
                None => format!("{} of {} members are needed: {list}", taken.len(), taken.len().saturating_add(left.len())),
            };
            let action = if left.is_empty() { Action::Kept } else { Action::Changed };
            Decision { rule: "needed_members", option: self.inputs[input].name().to_owned(), action, reason }
        });
        self.decisions.extend(told);
        let mut keep = needed.iter();
        self.chosen.retain(|_| *keep.next().unwrap_or(&true));
        let mut keep = needed.iter();
        found.retain(|_| *keep.next().unwrap_or(&true));
    }

    fn member_of(&self, chosen: &Chosen) -> Option<Member> {
        self.at(chosen).1.member.map(|member| (chosen.input, member))
    }

    /// The one input's cubin, if it is finished and nothing is to be linked into it. Then it is the output.
    pub fn finished(&self) -> Option<(&Input, &Part)> {
        self.inputs.first().zip(self.finished.as_ref())
    }

    /// The plan where the input is the output.
    pub fn plan_for_finished(&self) -> Plan {
        let decide = |option: String, action, reason: &str| Decision { rule: "pass_through", option, action, reason: reason.to_owned() };
        let input = self.inputs.first().map_or(String::new(), |input| input.name().to_owned());
        let mut decisions = vec![decide(input, Action::Kept, "it is a finished cubin, and there is nothing to link into it")];
        let asked = self.options.iter().filter(|(row, _)| row.id != OptionId::Arch).flat_map(|(row, value)| row.flags(value));
        let flags = asked.chain(self.options.pass_through().iter().cloned());
        decisions.extend(flags.map(|flag| decide(flag, Action::Dropped, "nothing is linked")));
        let images = self.chosen.iter().map(|chosen| self.image(chosen, false)).collect();
        Plan { backend: PlannedBackend::None, library: None, output: OutputKind::Cubin, options: Vec::new(), decisions, images }
    }

    /// The plan for one library.
    ///
    /// Fails with unsupported_arch, unsupported_option or input_too_new if its version lacks what is asked for.
    pub fn plan(&self, library: &LibraryFacts) -> Result<Plan> {
        rules::arch_is_known(self.target, library)?;
        let mut decisions = self.decisions.clone();
        decisions.extend(rules::unknown_version(library));
        decisions.extend(rules::repeated(self.options));
        let options = match library.linker {
            LinkerLibrary::Nvjitlink { .. } => self.flags(library, &mut decisions)?.into_iter().map(PlannedOption::Flag).collect(),
            LinkerLibrary::Driver => self.jit_options(library)?,
        };
        let mut images = Vec::new();
        let mut budget = self.budget;
        for chosen in &self.chosen {
            let (input, piece) = self.at(chosen);
            rules::input_is_not_too_new(input, piece, chosen.part.as_ref(), library)?;
            let unpack = rules::unpack(input, piece, library);
            if unpack.is_some() {
                budget.spend(input.bytes_to_unpack(piece), input.name())?;
            }
            images.push(self.image(chosen, unpack.is_some()));
            decisions.extend(unpack);
        }
        let backend = match library.linker {
            LinkerLibrary::Nvjitlink { .. } => PlannedBackend::Nvjitlink,
            LinkerLibrary::Driver => PlannedBackend::Driver,
        };
        Ok(Plan { backend, library: Some(library.clone()), output: self.options.output(), options, decisions, images })
    }

    fn image(&self, chosen: &Chosen, unpack: bool) -> PlannedImage {
        let part = chosen.part.as_ref();
        PlannedImage {
            input: chosen.input,
            piece: chosen.piece,
            name: self.at(chosen).1.name.clone(),
            used: part.map(|part| UsedPart { kind: part.kind, arch: part.arch }),
            unpack,
        }
    }

    /// The flags of nvJitLink, in its order.
    fn flags(&self, library: &LibraryFacts, decisions: &mut Vec<Decision>) -> Result<Vec<String>> {
        let mut options = Vec::new();
        if self.options.output() == OutputKind::Ptx {
            options.push(OptionId::Ptx.row().spelling.to_owned());
        }
        for (row, value) in self.options.iter().filter(|(row, _)| row.id != OptionId::Lto) {
            let flags = row.flags(value);
            // A switch that is off is no flag at all.
            if flags.is_empty() {
                continue;
            }
            if let Some(decision) = rules::is_so_anyway(row, library).or_else(|| rules::names_to_keep(self, row, library)) {
                decisions.push(decision);
                continue;
            }
            rules::option_is_known(row, value, library)?;
            match rules::optimization_with_lto(row, value, self.lto, library) {
                Some((flags, decision)) => {
                    options.extend(flags);
                    decisions.push(decision);
                }
                None => options.extend(flags),
            }
            decisions.extend(self.symbols.used().decisions(row.id, self.symbols.some_are_unknown()));
            decisions.extend(rules::needs_lto(row, self.lto));
        }
        rules::ltoir_output(self.options.output(), library)?;
        rules::relocatable_lto(self, library)?;
        if let Some(decision) = rules::no_cache(self, library) {
            if decision.action != Action::Kept {
                options.push(OptionId::NoCache.row().spelling.to_owned());
            }
            decisions.push(decision);
        }
        options.extend_from_slice(self.options.pass_through());
        if self.lto {
            options.push(OptionId::Lto.row().spelling.to_owned());
        }
        Ok(options)
    }

    /// The options of cuLinkCreate.
    fn jit_options(&self, library: &LibraryFacts) -> Result<Vec<PlannedOption>> {
        if let Some(flag) = self.options.pass_through().first() {
            return Err(rules::unsupported(library, &format!("{flag}, which is passed through to nvJitLink only")));
        }
        let asked = self.options.iter().filter(|(row, value)| !row.flags(value).is_empty());
        asked.map(|(row, value)| rules::jit_option(row, value, library)).collect()
    }

    fn at(&self, chosen: &Chosen) -> (&'a Input, &'a Piece) {
        let input = &self.inputs[chosen.input];
        (input, &input.pieces()[chosen.piece])
    }

    fn pieces(&self) -> impl Iterator<Item = (usize, &'a Input, usize, &'a Piece)> + use<'a> {
        let inputs = self.inputs;
        inputs
            .iter()
            .enumerate()
            .flat_map(|(index, input)| input.pieces().iter().enumerate().map(move |(at, piece)| (index, input, at, piece)))
    }

    /// Whether everything that is linked is LTO-IR.
    pub(super) fn is_of_ltoir_alone(&self) -> bool {
        let is_ltoir = |chosen: &Chosen| chosen.part.as_ref().is_some_and(|part| part.kind == PartKind::LtoIr);
        self.lto && self.chosen.iter().all(is_ltoir)
    }

    fn links_for_target(&self, part: &Part) -> bool {
        let rule = match self.by {
            LinkBy::Nvjitlink(rule) => rule,
            LinkBy::Driver => EntryRule::BySuffix,
        };
        part.arch.is_none_or(|arch| links_for(part.kind, arch, self.target, part.container.map(|_| rule)))
    }

    fn has(&self, input: &Input, piece: &Piece, kind: PartKind) -> bool {
        input.parts(piece).iter().any(|part| part.kind == kind && self.links_for_target(part))
    }

    /// `-lto` from the inputs, unless the caller said on or off, or the backend cannot.
    fn decide_lto(&mut self, warnings: &mut Vec<Diagnostic>) {
        let with_ltoir = self.pieces().find(|(_, input, _, piece)| self.has(input, piece, PartKind::LtoIr));
        let why_no_lto = self.why_no_lto();
        let mut decide = |action, reason| {
            self.decisions.push(Decision { rule: "lto_from_inputs", option: OptionId::Lto.row().spelling.to_owned(), action, reason });
        };
        let output = self.options.output();
        self.lto = match (why_no_lto, with_ltoir, self.options.get_bool(OptionId::Lto)) {
            (Some((_, why)), Some((_, input, _, piece)), _) => {
                let text = format!("{why}, so the LTO-IR of '{}' is not used", piece.name);
                decide(Action::Dropped, text.clone());
                warnings.push(Diagnostic::warning(ResultClass::Ok, input.name(), text));
                false
            }
            (Some(_), None, _) => false,
            (None, Some(_), Some(_)) => true,
            (None, Some((.., piece)), None) => {
                decide(Action::Added, format!("'{}' has LTO-IR that links for {}", piece.name, self.target));
                true
            }
            (None, None, _) if output != OutputKind::Cubin => true,
            (None, None, Some(_)) => {
                decide(Action::Dropped, format!("no input has LTO-IR that links for {}, and nvJitLink fails then", self.target));
                false
            }
            (None, None, None) => false,
        };
    }

    /// Why LTO-IR is not linked, if it is not, and of which class it is to need it all the same.
    fn why_no_lto(&self) -> Option<(ResultClass, &'static str)> {
        match self.by {
            LinkBy::Driver => Some((ResultClass::UnsupportedOption, "the CUDA driver does not link LTO-IR")),
            LinkBy::Nvjitlink(_) if self.options.get_bool(OptionId::Lto) == Some(false) => {
                Some((ResultClass::IncompatibleOptions, "link-time optimization is off"))
            }
            LinkBy::Nvjitlink(_) => None,
        }
    }

    /// Which part of each piece will be linked, and whether that can be.
    fn choose(&mut self, warnings: &mut Vec<Diagnostic>) -> Result<()> {
        for input in self.inputs {
            if input.pieces().is_empty() {
                let text = format!("'{}' has no device code and contributes nothing", input.name());
                warnings.push(Diagnostic::warning(ResultClass::NoDeviceCode, input.name(), text));
            }
        }
        let mut refusals = Vec::new();
        for (input_index, input, piece_index, piece) in self.pieces() {
            match self.choose_part(input, piece) {
                Ok(part) => self.chosen.push(Chosen { input: input_index, piece: piece_index, part }),
                // A host file may hold more than what this link is about: what cannot be linked of it is told and left out.
                Err(error) if self.may_be_left_out(input, &error) => {
                    warnings.push(Diagnostic { severity: Severity::Warning, ..error.diagnostic().clone() });
                    refusals.push((input_index, error));
                }
                Err(error) => return Err(error),
            }
        }
        let contributes = |input: usize| self.chosen.iter().any(|chosen| chosen.input == input);
        if let Some((_, error)) = refusals.into_iter().find(|(input, _)| !contributes(*input)) {
            return Err(error);
        }
        if self.chosen.is_empty() {
            return Err(Error::new(ResultClass::NoDeviceCode, "there is no device code in the inputs"));
        }
        self.look_inside()?;
        self.finished = self.only_finished();
        let finished =
            |chosen: &&Chosen| chosen.part.as_ref().is_some_and(|part| part.relocatable == Some(false) && part.kind == PartKind::Cubin);
        match self.chosen.iter().find(finished) {
            Some(chosen) if self.finished.is_none() => {
                let (input, piece) = self.at(chosen);
                Err(not_relocatable(input, piece))
            }
            _ => Ok(()),
        }
    }

    /// What the library will unpack is looked at as what is stored has been. Besides, only the payload of a compressed cubin tells
    /// whether it is finished, and the library would drop it without a word. All of it is counted before any of it is unpacked.
    fn look_inside(&mut self) -> Result<()> {
        let inputs = self.inputs;
        for chosen in &self.chosen {
            let size = chosen.part.as_ref().map_or(0, Part::bytes_to_unpack);
            self.budget.spend(size, inputs[chosen.input].name())?;
        }
        for chosen in &mut self.chosen {
            let Some(part) = &mut chosen.part else { continue };
            if part.bytes_to_unpack() > 0 || part.kind == PartKind::Cubin && part.relocatable.is_none() {
                *part = inputs[chosen.input].look_inside(part)?;
            }
        }
        Ok(())
    }

    fn may_be_left_out(&self, input: &Input, error: &Error) -> bool {
        let is_host_file = matches!(input.facts().kind, InputKind::Object | InputKind::Library);
        is_host_file && matches!(error.class(), ResultClass::ArchMismatch | ResultClass::NotRelocatable)
    }

    /// As nvJitLink takes them: LTO-IR with `-lto`, else a cubin or PTX.
    fn choose_part(&self, input: &Input, piece: &Piece) -> Result<Option<Part>> {
        let parts = || input.parts(piece).iter().filter(|part| self.links_for_target(part));
        let best_of =
            |kinds: &[PartKind]| parts().filter(|part| kinds.contains(&part.kind)).max_by_key(|part| precedence(part.kind, part.arch));
        let ltoir = best_of(&[PartKind::LtoIr]);
        let other = best_of(&[PartKind::Cubin, PartKind::Ptx]);
        let unknown = parts().find(|part| !matches!(part.kind, PartKind::LtoIr | PartKind::Cubin | PartKind::Ptx));
        let output = self.options.output();
        let part = match (self.lto, ltoir, other, unknown) {
            (true, Some(ltoir), ..) => ltoir,
            (true, None, Some(other), _) if output != OutputKind::Cubin => return Err(not_ltoir(piece, input, other, output)),
            (_, _, Some(other), _) => other,
            (_, _, None, Some(_)) => return Ok(None),
            (false, Some(_), None, None) => {
                let (class, why) = self.why_no_lto().unwrap_or((ResultClass::Internal, "link-time optimization is off"));
                let text = format!("'{}' has only LTO-IR for {}, and {why}", piece.name, self.target);
                return Err(Error::new(class, text).on_input(input.name()));
            }
            (_, None, None, None) => return Err(self.arch_mismatch(input, piece)),
        };
        let host_section_is_finished = part.place.section.is_some() && part.relocatable == Some(false);
        if host_section_is_finished {
            return Err(not_relocatable(input, piece));
        }
        Ok(Some(part.clone()))
    }

    fn only_finished(&self) -> Option<Part> {
        let ([_], [chosen]) = (self.inputs, &self.chosen[..]) else { return None };
        let relocatable_asked = self.options.get_bool(OptionId::Relocatable) == Some(true);
        chosen
            .part
            .clone()
            .filter(|part| part.kind == PartKind::Cubin && part.relocatable == Some(false))
            .filter(|_| self.options.output() == OutputKind::Cubin && !relocatable_asked)
    }

    fn arch_mismatch(&self, input: &Input, piece: &Piece) -> Error {
        let mut found: Vec<String> = input.parts(piece).iter().map(describe).collect();
        found.dedup();
        let text = format!("'{}' has nothing that links for {}; it has {}", piece.name, self.target, found.join(", "));
        let by_suffix = |arch: &Arch| arch.suffix != ArchSuffix::None && arch.number <= self.target.number;
        let only_suffix = input.parts(piece).iter().filter_map(|part| part.arch).find(by_suffix);
        let error = Error::new(ResultClass::ArchMismatch, text).on_input(input.name());
        match only_suffix {
            Some(arch) => {
                let target = Arch { is_virtual: self.target.is_virtual, ..arch };
                let to = if arch.suffix == ArchSuffix::F { " and its family" } else { "" };
                error.hint(format!("code for {arch} links for {target}{to} only: that suffix is part of the architecture"))
            }
            _ if input.parts(piece).iter().any(|part| part.kind != PartKind::Cubin) => error.hint(format!(
                "PTX and LTO-IR link for their own architecture and later ones: compile for {} or an earlier one",
                self.target
            )),
            _ => error
                .hint("a cubin links for its own generation only, from its own architecture on; PTX and LTO-IR link for later ones too"),
        }
    }
}

/// An archive member, by its input and its index there.
type Member = (usize, usize);

/// Which pieces are linked, where a member of an archive is only if it is needed; `None` is no
/// member, and linked. Of the members that define what is undefined the first is taken, again and
/// again. The work is linear in the symbols.
fn needed_members(members: &[Option<Member>], symbols: &[Symbols], roots: &BTreeSet<String>) -> Vec<bool> {
    let mut names: HashMap<&str, Name> = HashMap::new();
    let mut pieces_of: HashMap<Member, Vec<usize>> = HashMap::new();
    for (index, (member, symbols)) in members.iter().zip(symbols).enumerate() {
        let Some(member) = *member else { continue };
        pieces_of.entry(member).or_default().push(index);
        for symbol in known(symbols).filter(|symbol| symbol.defined && symbol.binding != Binding::Local) {
            names.entry(&symbol.name).or_default().definers.push(index);
        }
    }
    let mut choice = Choice { names, undefined_in: vec![0; members.len()], candidates: BTreeSet::new() };
    let mut needed: Vec<bool> = members.iter().map(Option::is_none).collect();
    roots.iter().for_each(|root| choice.wants(root));
    (0..members.len()).filter(|index| needed[*index]).for_each(|index| choice.take(&symbols[index]));
    while let Some(next) = choice.candidates.pop_first() {
        // A member is taken whole, with all its fatbins.
        for index in members[next].and_then(|member| pieces_of.remove(&member)).unwrap_or_default() {
            needed[index] = true;
            choice.take(&symbols[index]);
        }
    }
    needed
}

/// What [`needed_members`] knows while it chooses.
struct Choice<'a> {
    names: HashMap<&'a str, Name>,
    /// How many undefined names each piece of a member defines.
    undefined_in: Vec<usize>,
    /// The pieces where that is not 0.
    candidates: BTreeSet<usize>,
}

#[derive(Default)]
struct Name {
    is_wanted: bool,
    is_defined: bool,
    definers: Vec<usize>,
}

impl<'a> Choice<'a> {
    fn wants(&mut self, name: &'a str) {
        let name = self.names.entry(name).or_default();
        if std::mem::replace(&mut name.is_wanted, true) || name.is_defined {
            return;
        }
        for definer in &name.definers {
            self.undefined_in[*definer] += 1;
            self.candidates.insert(*definer);
        }
    }

    fn defines(&mut self, name: &'a str) {
        let name = self.names.entry(name).or_default();
        if std::mem::replace(&mut name.is_defined, true) || !name.is_wanted {
            return;
        }
        for definer in &name.definers {
            self.undefined_in[*definer] -= 1;
            if self.undefined_in[*definer] == 0 {
                self.candidates.remove(definer);
            }
        }
    }

    /// A piece that is linked defines and wants what it does.
    fn take(&mut self, symbols: &'a Symbols) {
        let visible = || known(symbols).filter(|symbol| symbol.binding != Binding::Local);
        visible().filter(|symbol| symbol.defined).for_each(|symbol| self.defines(&symbol.name));
        visible().filter(|symbol| !symbol.defined).for_each(|symbol| self.wants(&symbol.name));
    }
}

/// The symbols of a part that tells them.
fn known(symbols: &Symbols) -> impl Iterator<Item = &Symbol> {
    match symbols {
        Symbols::Known(symbols) => &symbols[..],
        Symbols::Unknown => &[],
    }
    .iter()
}

/// A part for a message, such as "sm_90a cubin".
fn describe(part: &Part) -> String {
    UsedPart { kind: part.kind, arch: part.arch }.to_string()
}

/// What no library can do.
fn contradictions(options: &LinkOptions, target: Arch) -> Result<()> {
    let output = options.output();
    let on = |id| options.get_bool(id) == Some(true);
    let text = if target.is_virtual && output != OutputKind::Ptx {
        format!("{target} is a virtual architecture, which only PTX output can have, and the output is {}", output)
    } else if on(OptionId::Relocatable) && output == OutputKind::Ptx {
        "a relocatable link (-r) cannot give PTX".to_owned()
    } else if options.get_bool(OptionId::Lto) == Some(false) && output != OutputKind::Cubin {
        format!("{} output needs link-time optimization (-lto), which is off", output)
    } else if let (true, Some(Value::Choice(level @ ("1" | "2" | "3")))) = (on(OptionId::Debug), options.get(OptionId::Optimization)) {
        format!("debug information (-g) turns optimization off, and -O{level} asks for it")
    } else {
        return Ok(());
    };
    Err(Error::new(ResultClass::IncompatibleOptions, text))
}

fn not_ltoir(piece: &Piece, input: &Input, part: &Part, output: OutputKind) -> Error {
    let text = format!("'{}' has no LTO-IR, which {} output needs of every input; it has {}", piece.name, output, describe(part));
    Error::new(ResultClass::NotLtoir, text).on_input(input.name()).hint("compile it to LTO-IR (nvcc -dc -dlto, NVRTC -dlto)")
}

fn not_relocatable(input: &Input, piece: &Piece) -> Error {
    let text = format!("'{}' is finished whole-program code, which a link would drop", piece.name);
    Error::new(ResultClass::NotRelocatable, text).on_input(input.name()).hint("compile it with -rdc=true (nvcc -dc)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::input::SymbolKind;

    fn symbols(names: &[(u8, bool)]) -> Symbols {
        let symbol = |(name, defined): &(u8, bool)| Symbol {
            name: name.to_string(),
            kind: SymbolKind::Function,
            binding: Binding::Strong,
            defined: *defined,
            memory: None,
            size: None,
            initialized: false,
        };
        Symbols::Known(names.iter().map(symbol).collect())
    }

    /// The rule as it reads: the first member that defines what is undefined, until there is none.
    fn by_the_rule(members: &[Option<Member>], symbols: &[Symbols], roots: &BTreeSet<String>) -> Vec<bool> {
        let mut needed: Vec<bool> = members.iter().map(Option::is_none).collect();
        loop {
            let mut defined = BTreeSet::new();
            let mut undefined = roots.clone();
            for (symbols, _) in symbols.iter().zip(&needed).filter(|(_, needed)| **needed) {
                for symbol in known(symbols) {
                    if symbol.defined { &mut defined } else { &mut undefined }.insert(symbol.name.clone());
                }
            }
            let is_undefined = |name: &String| undefined.contains(name) && !defined.contains(name);
            let defines_one = |index: &usize| known(&symbols[*index]).any(|symbol| symbol.defined && is_undefined(&symbol.name));
            let Some(next) = (0..members.len()).filter(|index| !needed[*index]).find(defines_one) else { return needed };
            (0..members.len()).filter(|index| members[*index] == members[next]).for_each(|index| needed[index] = true);
        }
    }

    proptest! {
        #[test]
        fn the_needed_members_are_those_of_the_rule(
            pieces in prop::collection::vec((0u8..6, prop::collection::vec((0u8..12, any::<bool>()), 0..5)), 1..12),
            roots in prop::collection::btree_set((0u8..12).prop_map(|name| name.to_string()), 0..3),
        ) {
            let members: Vec<Option<Member>> = pieces.iter().map(|(member, _)| (*member > 0).then_some((0, (*member).into()))).collect();
            let found: Vec<Symbols> = pieces.iter().map(|(_, names)| symbols(names)).collect();
            prop_assert_eq!(needed_members(&members, &found, &roots), by_the_rule(&members, &found, &roots));
        }
    }
}
