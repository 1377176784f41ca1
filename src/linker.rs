//! The linker: collects inputs, asks the policy once, gives the plan to one backend.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::backend::driver::Driver;
use crate::backend::library::{self, BACKEND_VARIABLE, SearchEnvironment};
use crate::backend::nvjitlink::{self, NvJitLink};
use crate::backend::{Linked, Logs};
use crate::error::{Diagnostic, Error, Result, ResultClass};
use crate::input::{Input, InputKind, members_beside};
use crate::options::{Backend, LinkOptions, OutputKind};
use crate::output::Output;
use crate::policy::table::OptionId;
use crate::policy::{self, Action, Decision, EntryRule, LinkBy, LinkSymbols, Plan, PlannedBackend, Request, Version};

/// One link. `add` until everything is there, `complete` once, then read.
///
/// A failed `add` or `complete` is final: nothing but logs and diagnostics can be had then.
#[derive(Debug)]
pub struct Linker {
    options: LinkOptions,
    inputs: Vec<Input>,
    state: State,
    plan: Option<Plan>,
    logs: Logs,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
enum State {
    Open,
    Linked(Output),
    Failed,
}

impl Linker {
    /// A linker that asks nothing of any library yet.
    pub fn new(options: LinkOptions) -> Self {
        Self { options, inputs: Vec::new(), state: State::Open, plan: None, logs: Logs::default(), diagnostics: Vec::new() }
    }

    /// Adds one input, which is copied and looked at here. `declared` is what the caller says it is; `None` leaves it to the bytes.
    ///
    /// Fails as [`Input::new`] does, and with invalid_state after `complete` or a failure.
    pub fn add(&mut self, declared: Option<InputKind>, bytes: &[u8], name: &str) -> Result<()> {
        self.while_open(|linker| {
            linker.push(Input::new(declared, copy(bytes, name)?, name, &mut |_| None)?);
            Ok(())
        })
    }

    /// Adds a file, read now; its name is the path.
    ///
    /// Fails with file_not_found or io_error, and as [`add`](Self::add) does.
    pub fn add_file(&mut self, declared: Option<InputKind>, path: &Path) -> Result<()> {
        let name = path.to_string_lossy().into_owned();
        self.while_open(|linker| {
            linker.push(Input::new(declared, read(path)?, &name, &mut members_beside(path))?);
            Ok(())
        })
    }

    /// Links. The library is searched for here, and the backend chosen.
    ///
    /// Fails with no_inputs, with a class of the options, the inputs or the environment, or with what went wrong in the link.
    pub fn complete(&mut self) -> Result<()> {
        self.while_open(|linker| {
            let (plan, job, mut symbols) = linker.make_plan()?;
            let linked = match job {
                Job::Give(output) => Ok(Linked { output, logs: Logs::default() }),
                Job::Link(library) => library.link(&plan, &linker.inputs),
                Job::Drive(driver) => driver.link(&plan, &linker.inputs),
            };
            let kind = plan.output;
            // What passes through is for whichever architecture it is for.
            let target = plan.library.is_some().then(|| linker.options.arch()).flatten();
            linker.plan = Some(plan);
            let (result, logs) = match linked {
                Ok(linked) => (Ok(linked.output), linked.logs),
                Err((error, logs)) => (Err(error), logs),
            };
            linker.logs = logs;
            let bytes = result.map_err(|error| {
                let (error, more) = symbols.explain_failure(error);
                linker.diagnostics.extend(more);
                linker.plan.as_ref().map_or(error.clone(), |plan| why_the_driver(plan, error))
            })?;
            let output = Output::checked(kind, target, bytes)?;
            symbols.missing_kernels(&linker.options, &output.symbols().kernels)?;
            if output.kind() != OutputKind::Ltoir {
                linker.diagnostics.extend(symbols.texts_not_in_output(output.symbols()));
            }
            linker.state = State::Linked(output);
            Ok(())
        })
    }

    /// The plan that `complete` would follow. Nothing is linked.
    ///
    /// Fails as `complete` does before it links, and with invalid_state after it.
    pub fn explain(&mut self) -> Result<Plan> {
        self.while_open(|linker| Ok(linker.make_plan()?.0))
    }

    /// Makes the linker fail for good.
    pub fn fail(&mut self, error: &Error) {
        self.state = State::Failed;
        self.diagnostics.push(error.diagnostic().clone());
    }

    /// The output, once `complete` has succeeded.
    ///
    /// Fails with invalid_state before that, and with output_not_available if another kind was asked for.
    pub fn output(&self, kind: OutputKind) -> Result<&Output> {
        match &self.state {
            State::Linked(output) if output.kind() == kind => Ok(output),
            State::Linked(output) => {
                let text = format!("the link gave {}, not {}; set output before the link", output.kind(), kind);
                Err(Error::new(ResultClass::OutputNotAvailable, text))
            }
            State::Open => Err(Error::new(ResultClass::InvalidState, "there is no output before complete")),
            State::Failed => Err(Error::new(ResultClass::InvalidState, "the link failed, so there is no output")),
        }
    }

    /// The plan that `complete` followed, or was about to.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    /// What the backend wrote.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Everything found so far, in order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// What the caller asked for.
    pub fn options(&self) -> &LinkOptions {
        &self.options
    }

    /// What the link is to give.
    pub fn output_kind(&self) -> OutputKind {
        self.options.output()
    }

    /// How many inputs were added.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    fn make_plan(&mut self) -> Result<Attempt> {
        let environment = SearchEnvironment::of_process();
        let (asked, by_variable) = asked_backend(&self.options, &environment)?;
        let (mut of_nvjitlink, mut of_driver) = (Vec::new(), Vec::new());
        let chosen =
            policy::choose(asked, || self.by_nvjitlink(&environment, &mut of_nvjitlink), || self.by_driver(&environment, &mut of_driver));
        let driver_counts = match &chosen {
            Ok(((plan, ..), _)) => plan.backend == PlannedBackend::Driver,
            Err(_) => asked == Backend::Driver,
        };
        self.diagnostics.extend(if driver_counts { of_driver } else { of_nvjitlink });
        let ((mut plan, job, symbols), changed) = chosen?;
        if let Some(decision) = &changed {
            self.diagnostics.push(Diagnostic::warning_about_the_link(decision.reason.clone()));
        }
        plan.decisions.extend(by_variable.into_iter().chain(changed));
        Ok((plan, job, symbols))
    }

    /// What nvJitLink would do.
    fn by_nvjitlink(&self, environment: &SearchEnvironment, warnings: &mut Vec<Diagnostic>) -> Result<Attempt> {
        let library_path = self.options.library_path.as_deref();
        let mut requests = Requests::new(&self.options, &self.inputs);
        // What no release links is refused without a library, and what is finished needs none.
        let needs_library = match requests.of(None) {
            Ok(request) => request.finished().is_none(),
            Err(_) => requests.of(Some(policy::OLDEST)).is_ok(),
        };
        if !needs_library {
            let request = requests.take(None, warnings)?;
            // A library that is named must be one, also where it has nothing to do.
            if library_path.is_some() || environment.variable.is_some() {
                nvjitlink::find(library_path, environment).found?;
            }
            return give(request);
        }
        let chosen = choose_library(&mut requests, library_path, environment);
        let request = requests.take(chosen.as_ref().ok().and_then(|(library, _)| library.facts().version), warnings);
        let (library, mut plan) = chosen?;
        let is_loaded = plan.output == OutputKind::Cubin && self.options.get_bool(OptionId::Relocatable) != Some(true);
        if is_loaded
            && let Some(driver) = Driver::for_remarks()
            && let Some(decision) = policy::newer_than_driver(library.facts(), driver.facts())
        {
            warnings.push(Diagnostic::warning_about_the_link(decision.reason.clone()));
            plan.decisions.push(decision);
        }
        Ok((plan, Job::Link(library), request?.into_symbols()))
    }

    /// What the CUDA driver would do.
    fn by_driver(&self, environment: &SearchEnvironment, warnings: &mut Vec<Diagnostic>) -> Result<Attempt> {
        let request = Request::new(&self.options, &self.inputs, LinkBy::Driver, warnings)?;
        let (mut plan, job, symbols) = if request.finished().is_some() {
            give(request)?
        } else {
            let driver = Driver::find()?;
            (request.plan(driver.facts())?, Job::Drive(driver), request.into_symbols())
        };
        let named_library = self.options.library_path.as_deref().or(environment.variable.as_deref().map(Path::new));
        plan.decisions.extend(named_library.map(|path| Decision {
            rule: "no_library",
            option: "library".to_owned(),
            action: Action::Dropped,
            reason: format!("the CUDA driver is asked for, so {} is not looked at", path.display()),
        }));
        Ok((plan, job, symbols))
    }

    fn push(&mut self, input: Input) {
        let warnings = input.facts().warnings.iter().map(|text| Diagnostic::warning(ResultClass::Ok, input.name(), text.clone()));
        self.diagnostics.extend(warnings);
        self.inputs.push(input);
    }

    /// Every step goes through here: out of order it changes nothing, and a failure is final.
    fn while_open<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        match self.state {
            State::Open => {}
            State::Linked(_) => {
                return Err(Error::new(ResultClass::InvalidState, "the link is complete; make a new linker for another one"));
            }
            State::Failed => return Err(Error::new(ResultClass::InvalidState, "the linker has failed and can only be read and destroyed")),
        }
        step(self).inspect_err(|error| self.fail(error))
    }
}

/// What one backend would do: its plan, what is left to do, and the symbols of what is linked.
type Attempt = (Plan, Job, LinkSymbols);

/// What is left to do once there is a plan.
enum Job {
    Link(&'static NvJitLink),
    Drive(&'static Driver),
    Give(Vec<u8>),
}

/// What is asked of nvJitLink: one request for all releases, but for inputs of which they take
/// different entries.
struct Requests<'a> {
    options: &'a LinkOptions,
    inputs: &'a [Input],
    rules_differ: bool,
    made: Vec<(EntryRule, Result<Request<'a>>, Vec<Diagnostic>)>,
}

impl<'a> Requests<'a> {
    fn new(options: &'a LinkOptions, inputs: &'a [Input]) -> Self {
        let rules_differ = inputs.iter().flat_map(|input| &input.facts().parts).any(EntryRule::matters_for);
        Self { options, inputs, rules_differ, made: Vec::new() }
    }

    /// The request of a release, made once; of one that is not told, that of the newest.
    fn of(&mut self, version: Option<Version>) -> &Result<Request<'a>> {
        let index = self.index(version);
        &self.made[index].1
    }

    /// The same to keep, with its warnings.
    fn take(mut self, version: Option<Version>, warnings: &mut Vec<Diagnostic>) -> Result<Request<'a>> {
        let index = self.index(version);
        let (_, request, mut of_request) = self.made.swap_remove(index);
        warnings.append(&mut of_request);
        request
    }

    fn index(&mut self, version: Option<Version>) -> usize {
        let rule = EntryRule::of(version.filter(|_| self.rules_differ));
        self.made.iter().position(|(made, ..)| *made == rule).unwrap_or_else(|| {
            let mut warnings = Vec::new();
            let request = Request::new(self.options, self.inputs, LinkBy::Nvjitlink(rule), &mut warnings);
            self.made.push((rule, request, warnings));
            self.made.len() - 1
        })
    }
}

/// The one input is finished, and the output.
fn give(request: Request<'_>) -> Result<Attempt> {
    let (input, part) = request.finished().ok_or_else(|| Error::new(ResultClass::Internal, "the input is not finished"))?;
    let job = Job::Give(input.part_bytes(part)?.into_owned());
    Ok((request.plan_for_finished(), job, request.into_symbols()))
}

/// Where the driver was only the second choice and does not work at all, what kept the first from it is what the caller has to know.
fn why_the_driver(plan: &Plan, error: Error) -> Error {
    let decision = plan.decisions.iter().find(|decision| decision.rule == policy::DRIVER_FOR_THE_JOB);
    match decision {
        Some(decision) if error.class() == ResultClass::DriverError => {
            let mut diagnostic = error.diagnostic().clone();
            diagnostic.message = format!("{}\nand {}", diagnostic.message, decision.reason);
            diagnostic.into()
        }
        _ => error,
    }
}

/// The first library found that can do the job. One that was named is the only one.
///
/// Fails as the search does, or with what the newest of the libraries found lacks.
fn choose_library(
    requests: &mut Requests<'_>,
    explicit: Option<&Path>,
    environment: &SearchEnvironment,
) -> Result<(&'static NvJitLink, Plan)> {
    let mut refusals: Vec<(&'static NvJitLink, Error)> = Vec::new();
    let search = library::search(explicit, environment, |path| {
        let library = NvJitLink::open(path)?;
        let plan = match requests.of(library.facts().version) {
            Ok(request) => request.plan(library.facts()),
            Err(error) => Err(error.clone()),
        };
        plan.map(|plan| (library, plan)).map_err(|error| {
            let reason = error.to_string();
            refusals.push((library, error));
            reason
        })
    });
    match search.found {
        Ok(((library, mut plan), _)) => {
            plan.decisions.extend(refusals.iter().map(|(_, error)| Decision {
                rule: "library_for_the_job",
                option: "library".to_owned(),
                action: Action::Changed,
                reason: error.to_string(),
            }));
            Ok((library, plan))
        }
        Err(nothing_found) => {
            Err(refusals.into_iter().max_by_key(|(library, _)| library.facts().version).map_or(nothing_found, |(_, error)| error))
        }
    }
}

/// Which backend is asked for: by the options, or else by the variable, which is told either way. An nvJitLink that is named is asked for.
///
/// Fails with bad_option_value if the variable counts and names no backend.
pub fn asked_backend(options: &LinkOptions, environment: &SearchEnvironment) -> Result<(Backend, Option<Decision>)> {
    let by_options = match options.backend {
        Backend::Auto if options.library_path.is_some() => Some(Backend::Nvjitlink),
        Backend::Auto => None,
        backend => Some(backend),
    };
    let without = by_options.unwrap_or(if environment.variable.is_some() { Backend::Nvjitlink } else { Backend::Auto });
    let Some(name) = environment.backend.as_deref().map(OsStr::to_string_lossy) else { return Ok((without, None)) };
    let named = Backend::named(&name);
    let decide = |action, and: &str| {
        let reason = format!("{BACKEND_VARIABLE} is {name}{and}");
        Some(Decision { rule: "backend_by_variable", option: "backend".to_owned(), action, reason })
    };
    match (by_options, named) {
        (Some(asked), named) if named == Some(asked) || named == Some(Backend::Auto) => Ok((asked, None)),
        (Some(asked), _) => Ok((asked, decide(Action::Dropped, ", and the options ask for another"))),
        (None, Some(Backend::Auto)) => Ok((without, None)),
        (None, Some(named)) => Ok((named, decide(Action::Changed, ""))),
        (None, None) => {
            let known = Backend::NAMES.map(|(name, _)| name).join(", ");
            Err(Error::new(ResultClass::BadOptionValue, format!("{BACKEND_VARIABLE} is '{name}', which is none of {known}")))
        }
    }
}

/// Copies an input, with room for what PTX gets at its end. Fails with out_of_memory.
fn copy(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len() + 2).map_err(|_| {
        Error::new(ResultClass::OutOfMemory, format!("there is no memory for the {} bytes of '{name}'", bytes.len())).on_input(name)
    })?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Reads an input file. Fails with file_not_found or io_error.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| {
        let class = match error.kind() {
            std::io::ErrorKind::NotFound => ResultClass::FileNotFound,
            std::io::ErrorKind::OutOfMemory => ResultClass::OutOfMemory,
            _ => ResultClass::IoError,
        };
        let name = path.to_string_lossy();
        Error::new(class, format!("'{name}' cannot be read: {error}")).on_input(&name)
    })
}
