//! The linker: collects inputs, asks the policy once, gives the plan to one backend.

use std::fs;
use std::path::Path;

use crate::backend::library::SearchEnvironment;
use crate::backend::nvjitlink::{self, Logs};
use crate::error::{Diagnostic, Error, Result, ResultClass};
use crate::input::{Input, InputKind};
use crate::options::{Backend, LinkOptions, OutputKind, name};
use crate::output::Output;
use crate::policy::{Plan, Request};

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
            linker.inputs.push(Input::new(declared, bytes.to_vec(), name)?);
            Ok(())
        })
    }

    /// Adds a file, read now; its name is the path.
    ///
    /// Fails with file_not_found or io_error, and as [`add`](Self::add) does.
    pub fn add_file(&mut self, declared: Option<InputKind>, path: &Path) -> Result<()> {
        let name = path.to_string_lossy().into_owned();
        self.while_open(|linker| {
            linker.inputs.push(Input::new(declared, read(path)?, &name)?);
            Ok(())
        })
    }

    /// Links. The library is searched for here.
    ///
    /// Fails with no_inputs, with a class of the options or the environment, or with what went wrong in the link.
    pub fn complete(&mut self) -> Result<()> {
        self.while_open(|linker| {
            let (plan, library) = linker.make_plan()?;
            let linked = library.link(&plan, &linker.inputs);
            let output = plan.output;
            linker.plan = Some(plan);
            match linked {
                Ok(linked) => {
                    linker.logs = linked.logs;
                    linker.state = State::Linked(Output::new(output, linked.output));
                    Ok(())
                }
                Err((error, logs)) => {
                    linker.logs = logs;
                    Err(error)
                }
            }
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
                let text = format!("the link gave {}, not {}; set output before the link", name(output.kind()), name(kind));
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

    /// What the link is to give.
    pub fn output_kind(&self) -> OutputKind {
        self.options.output()
    }

    /// How many inputs were added.
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    fn make_plan(&self) -> Result<(Plan, &'static nvjitlink::NvJitLink)> {
        let request = Request::new(&self.options, &self.inputs)?;
        if self.options.backend == Backend::Driver {
            return Err(Error::new(ResultClass::DriverNotFound, "this version of cudalink does not link through the CUDA driver"));
        }
        let (library, _) = nvjitlink::find(self.options.library_path.as_deref(), &SearchEnvironment::of_process()).found?;
        Ok((request.plan(library.facts())?, library))
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
