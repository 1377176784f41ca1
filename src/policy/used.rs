//! What the texts of `kernels_used` and `variables_used` name.
//!
//! nvJitLink keeps every kernel and variable whose symbol contains one of the texts: `first` keeps
//! `_Z5firstPi` (measured: PTX, cubins and LTO-IR on 12.0 to 13.5). A text is no pattern, and is
//! looked for in the mangled symbol.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, PatternID};

use super::plan::{Action, Decision};
use super::table::OptionId;
use crate::error::{Diagnostic, Error, Result, ResultClass};
use crate::input::SymbolKind;
use crate::options::{LinkOptions, Value};

/// The texts of both options, and what they were found in.
#[derive(Debug, Default)]
pub struct UsedNames {
    kernels: Option<Texts>,
    variables: Option<Texts>,
}

#[derive(Debug)]
struct Texts {
    texts: Vec<String>,
    automaton: NFA,
    is_found: Vec<bool>,
    /// The states whose texts are marked as found already: marking them again for each name that
    /// leads there would not be linear.
    marked: BTreeSet<StateID>,
    /// What is kept, and the longest text that is in it.
    kept: BTreeMap<String, PatternID>,
}

impl UsedNames {
    /// The texts that were asked for.
    ///
    /// Fails with bad_option_value if there are more than can be looked for at once.
    pub fn of(options: &LinkOptions) -> Result<Self> {
        let texts = |id: OptionId| match options.get(id) {
            Some(Value::List(texts)) => Texts::new(texts)
                .map(Some)
                .map_err(|error| Error::new(ResultClass::BadOptionValue, format!("{} is too long: {error}", id.row().name))),
            _ => Ok(None),
        };
        Ok(Self { kernels: texts(OptionId::KernelsUsed)?, variables: texts(OptionId::VariablesUsed)? })
    }

    /// Whether a text keeps the symbol, which is noted.
    pub fn keeps(&mut self, kind: SymbolKind, name: &str) -> bool {
        let texts = match kind {
            SymbolKind::Kernel => self.kernels.as_mut(),
            SymbolKind::Variable => self.variables.as_mut(),
            SymbolKind::Function => None,
        };
        texts.is_some_and(|texts| texts.find_in(name))
    }

    /// Whether a kernel of that name comes out, as far as the texts decide it.
    pub fn leaves_kernel(&self, name: &str) -> bool {
        self.kernels.as_ref().is_none_or(|texts| texts.kept.contains_key(name))
    }

    /// For the plan: what each text of the option was found in.
    ///
    /// A kernel is told once, with the longest text in it, so that the plan grows with the inputs
    /// and not with the product of texts and kernels.
    pub fn decisions(&self, id: OptionId, some_are_unknown: bool) -> Vec<Decision> {
        let Some(texts) = self.texts(id) else { return Vec::new() };
        let mut keeps = vec![Vec::new(); texts.texts.len()];
        for (name, text) in &texts.kept {
            keeps[text.as_usize()].push(format!("'{name}'"));
        }
        let told = texts.texts.iter().zip(keeps).zip(&texts.is_found);
        let tell = |((text, names), is_found): ((&String, Vec<String>), &bool)| {
            let reason = match (&names[..], is_found, some_are_unknown) {
                ([_, ..], ..) => format!("keeps {}", names.join(", ")),
                ([], true, _) => "keeps nothing that a longer text does not keep".to_owned(),
                ([], false, true) => "is in no symbol that could be looked at; LTO-IR may have it".to_owned(),
                ([], false, false) => "is in no symbol of the inputs".to_owned(),
            };
            let option = format!("{}{text}", id.row().spelling);
            Decision { rule: "used_names", option, action: Action::Kept, reason: format!("'{text}' {reason}") }
        };
        told.map(tell).collect()
    }

    /// A finding for each option of which a text was found in nothing.
    pub fn not_found(&self) -> impl Iterator<Item = Diagnostic> {
        let options = [
            (OptionId::KernelsUsed, ResultClass::MissingKernel, "kernel"),
            (OptionId::VariablesUsed, ResultClass::UnresolvedSymbol, "variable"),
        ];
        options.into_iter().filter_map(|(id, class, what)| {
            let texts = self.texts(id)?;
            let lacking = || texts.texts.iter().zip(&texts.is_found).filter(|(_, is_found)| !**is_found).map(|(text, _)| text);
            let first = lacking().next()?;
            let others = match lacking().count() {
                1 => String::new(),
                count => format!(" (nor any of {} more)", count.saturating_sub(1)),
            };
            let message = format!("{} has '{first}', which is in the name of no {what}{others}", id.row().name);
            let finding = Diagnostic::warning_about_the_link(message);
            Some(Diagnostic { result: class, symbol: Some(first.clone()), ..finding })
        })
    }

    fn texts(&self, id: OptionId) -> Option<&Texts> {
        match id {
            OptionId::KernelsUsed => self.kernels.as_ref(),
            OptionId::VariablesUsed => self.variables.as_ref(),
            _ => None,
        }
    }
}

impl Texts {
    fn new(texts: &[String]) -> std::result::Result<Self, aho_corasick::BuildError> {
        Ok(Self {
            texts: texts.to_vec(),
            automaton: NFA::new(texts)?,
            is_found: vec![false; texts.len()],
            marked: BTreeSet::new(),
            kept: BTreeMap::new(),
        })
    }

    fn find_in(&mut self, name: &str) -> bool {
        let automaton = &self.automaton;
        let Ok(mut state) = automaton.start_state(Anchored::No) else { return false };
        let mut longest = None;
        for byte in name.bytes() {
            state = automaton.next_state(Anchored::No, state, byte);
            if !automaton.is_match(state) {
                continue;
            }
            // Of the texts that end here the first is the longest.
            longest = longest.max(Some(automaton.match_pattern(state, 0)).map(|text| (automaton.pattern_len(text), text)));
            if self.marked.insert(state) {
                for index in 0..automaton.match_len(state) {
                    self.is_found[automaton.match_pattern(state, index).as_usize()] = true;
                }
            }
        }
        if let Some((_, text)) = longest {
            self.kept.entry(name.to_owned()).or_insert(text);
        }
        longest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(texts: &[&str]) -> UsedNames {
        let mut options = LinkOptions::default();
        texts.iter().for_each(|text| options.set(OptionId::KernelsUsed, text).unwrap());
        UsedNames::of(&options).unwrap()
    }

    fn told(used: &UsedNames) -> Vec<String> {
        used.decisions(OptionId::KernelsUsed, false).into_iter().map(|decision| decision.reason).collect()
    }

    #[test]
    fn a_text_keeps_every_kernel_whose_symbol_contains_it() {
        let mut used = used(&["first", "irs", "plain", "plain_more", "absent", "f"]);
        for name in ["_Z5firstPi", "_ZN2ns5firstEPi", "plain", "plain_more"] {
            assert!(used.keeps(SymbolKind::Kernel, name) && used.leaves_kernel(name), "{name}");
        }
        assert!(!used.keeps(SymbolKind::Kernel, "_Z6secondPi") && !used.leaves_kernel("_Z6secondPi"));
        assert!(!used.keeps(SymbolKind::Variable, "first") && !used.keeps(SymbolKind::Function, "first"));
        assert_eq!(
            told(&used),
            [
                "'first' keeps '_Z5firstPi', '_ZN2ns5firstEPi'",
                "'irs' keeps nothing that a longer text does not keep",
                "'plain' keeps 'plain'",
                "'plain_more' keeps 'plain_more'",
                "'absent' is in no symbol of the inputs",
                "'f' keeps nothing that a longer text does not keep",
            ]
        );
        let findings: Vec<Diagnostic> = used.not_found().collect();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].message, "kernels_used has 'absent', which is in the name of no kernel");
    }

    #[test]
    fn the_plan_grows_with_the_names_and_not_with_their_product() {
        let texts: Vec<String> = (0..300).map(|count| "a".repeat(count + 1)).collect();
        let mut used = used(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        for count in 0..300 {
            assert!(used.keeps(SymbolKind::Kernel, &format!("b{}b{count}", "a".repeat(300))));
        }
        let told = told(&used);
        assert_eq!(told.iter().filter(|reason| reason.ends_with("keeps nothing that a longer text does not keep")).count(), 299);
        assert!(told.iter().map(String::len).sum::<usize>() < 300 * 300 * 3);
        assert_eq!(used.not_found().count(), 0);
    }
}
