//! `cudalink`: links, explains, inspects and looks around, as any caller of the library can.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use cudalink::backend::driver::{Device, Driver};
use cudalink::backend::library::{BACKEND_VARIABLE, FoundBy, LIBRARY_VARIABLE, SearchEnvironment};
use cudalink::backend::nvjitlink::{self, NvJitLink};
use cudalink::error::Findings;
use cudalink::linker::asked_backend;
use cudalink::options::{ArchiveMembers, Backend, DEFAULT_MAX_UNPACKED_BYTES};
use cudalink::policy::choose;
use cudalink::policy::table::{self, OptionId};
use cudalink::{Error, InputKind, LinkOptions, Linker, OutputKind, Result, ResultClass, input};
use serde_json::{Value, json};

const KINDS: [(&str, Option<InputKind>); 7] = [
    ("auto", None),
    ("cubin", Some(InputKind::Cubin)),
    ("ptx", Some(InputKind::Ptx)),
    ("ltoir", Some(InputKind::LtoIr)),
    ("fatbin", Some(InputKind::Fatbin)),
    ("object", Some(InputKind::Object)),
    ("library", Some(InputKind::Library)),
];

/// Writes a line to stderr, which may be closed.
macro_rules! complain {
    ($($text:tt)*) => {
        _ = writeln!(io::stderr(), $($text)*)
    };
}

/// What the process answers.
const DONE: u8 = 0;
const FAILED: u8 = 1;
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    ExitCode::from(run().unwrap_or_else(|error| {
        // Whoever reads our output has gone.
        if error.kind() != io::ErrorKind::BrokenPipe {
            complain!("cudalink: {error}");
        }
        FAILED
    }))
}

fn run() -> io::Result<u8> {
    let arguments = match with_files(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(problem) => {
            complain!("cudalink: {problem}");
            return Ok(WRONG_USAGE);
        }
    };
    let (flags, arguments) = split_flags(arguments);
    let matches = command().try_get_matches_from(arguments).unwrap_or_else(|error| with_what_was_meant(error).exit());
    let (name, matches) = matches.subcommand().expect("clap requires a subcommand");
    if !flags.is_empty() && !matches!(name, "link" | "explain") {
        complain!("cudalink {name} takes no linker option such as '{}'", flags[0]);
        return Ok(WRONG_USAGE);
    }
    match name {
        "link" => link(matches, &flags),
        "explain" => explain(matches, &flags),
        "inspect" => inspect(matches),
        _ => doctor(matches),
    }
}

/// The arguments, with those of each `@file` in its place, as gcc reads them: blanks separate, quotes
/// of either kind hold together, a backslash takes the next byte as it is, a file may name others, and
/// one that cannot be read is an argument like any other. After `--` there are no such files.
fn with_files(mut arguments: impl Iterator<Item = OsString>) -> std::result::Result<Vec<OsString>, String> {
    // gcc's limit; it ends files that name each other.
    const MOST_FILES: usize = 2000;
    let mut files = 0;
    let mut expanded: Vec<OsString> = arguments.next().into_iter().collect();
    let mut left: Vec<OsString> = arguments.collect();
    left.reverse();
    while let Some(argument) = left.pop() {
        if argument == "--" {
            expanded.push(argument);
            expanded.extend(left.drain(..).rev());
            break;
        }
        let path = argument.as_bytes().strip_prefix(b"@").map(OsStr::from_bytes);
        let Some(text) = path.and_then(|path| cudalink::linker::read(Path::new(path)).ok()) else {
            expanded.push(argument);
            continue;
        };
        files += 1;
        if files > MOST_FILES {
            return Err(format!("'{}' is one @file too many: more than {MOST_FILES} are read", argument.display()));
        }
        left.extend(words(&text).into_iter().rev());
    }
    Ok(expanded)
}

/// The arguments in the text of an `@file`. POSIX shells quote otherwise: there a backslash is a byte
/// like others between single quotes.
fn words(text: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(byte) => quote = None,
            _ if quote.is_some() => word.get_or_insert_default().push(byte),
            b'"' | b'\'' => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c' => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

/// An argument with two dashes that we do not have may be an option of nvJitLink, which has one.
fn with_what_was_meant(mut error: clap::Error) -> clap::Error {
    let unknown = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) if error.kind() == ErrorKind::UnknownArgument => argument.clone(),
        _ => return error,
    };
    if let Some(meant) = table::nearest_flag(&unknown) {
        let tip = StyledStr::from(format!("nvJitLink's options have one dash: '{meant}'"));
        // The usage is that of the option that clap would suggest.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

/// nvJitLink's own options have one dash and a long name, which clap would take for a cluster of short ones.
fn split_flags(arguments: Vec<OsString>) -> (Vec<String>, Vec<OsString>) {
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let as_flag = |argument: &OsString| {
        let text = argument.to_string_lossy();
        let is_flag = text.starts_with('-') && !text.starts_with("--") && !matches!(&*text, "-" | "-o" | "-h" | "-V");
        is_flag.then(|| text.into_owned())
    };
    let (mut flags, mut others) = (Vec::new(), Vec::new());
    for (index, argument) in arguments.into_iter().enumerate() {
        match as_flag(&argument) {
            Some(flag) if index < end => flags.push(flag),
            _ => others.push(argument),
        }
    }
    (flags, others)
}

fn command() -> Command {
    let json = Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one JSON object on stdout");
    let path = |name: &'static str| Arg::new(name).value_parser(value_parser!(PathBuf));
    let max_unpacked_bytes = Arg::new("max-unpacked-bytes")
        .long("max-unpacked-bytes")
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .help("What the packed code of the inputs may have together once unpacked [default: 8 GiB]");
    let link_arguments = [
        path("library").long("library").value_name("PATH").help("The nvJitLink to use, and no other"),
        Arg::new("backend").long("backend").value_parser(Backend::NAMES.map(|(name, _)| name)).default_value("auto").help("Who links"),
        Arg::new("emit").long("emit").value_parser(["cubin", "ptx", "ltoir"]).help("What the link gives [default: cubin]"),
        Arg::new("lto")
            .long("lto")
            .value_parser(["auto", "on", "off"])
            .default_value("auto")
            .help("Optimize at link time; auto: if the inputs call for it"),
        Arg::new("archive-members")
            .long("archive-members")
            .value_parser(["all", "needed"])
            .default_value("all")
            .help("Which members of an archive are linked"),
        max_unpacked_bytes.clone(),
        Arg::new("require-kernel")
            .long("require-kernel")
            .value_name("NAME")
            .action(ArgAction::Append)
            .help("A kernel that the output must have"),
        Arg::new("pass-through")
            .long("pass-through")
            .value_name("FLAG")
            .allow_hyphen_values(true)
            .action(ArgAction::Append)
            .help("A flag for nvJitLink that cudalink does not know, as --pass-through=-FLAG"),
        Arg::new("kind")
            .long("kind")
            .value_parser(PossibleValuesParser::new(KINDS.map(|(name, _)| name)))
            .action(ArgAction::Append)
            .help("What the inputs after it are [default: auto]"),
        path("INPUT").num_args(0..).action(ArgAction::Append).help("PTX, LTO-IR, cubins, fatbins, host objects, archives"),
        json.clone(),
    ];
    let output = path("output").short('o').value_name("OUT").help("Where the output is written; - is stdout").required(true);
    let flags = format!(
        "Options with one dash are nvJitLink's own, such as -arch=sm_90 (required), -g, -O3, -lto, -r, -maxrregcount=32.\n\
         @FILE stands for the arguments in that file, quoted as for gcc.\n\n{EXIT_STATUS}\n\n{}",
        variables()
    );
    Command::new("cudalink")
        .about("Links CUDA device code through whatever nvJitLink or CUDA driver is there")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(format!("{EXIT_STATUS}\n\n{}", variables()))
        .subcommand(Command::new("link").about("Links").args(&link_arguments).arg(output.clone()).after_help(flags.clone()))
        .subcommand(
            Command::new("explain")
                .about("Shows the plan of a link, without linking")
                .args(&link_arguments)
                .arg(output.required(false))
                .after_help(flags),
        )
        .subcommand(
            Command::new("inspect")
                .about("Shows what is in a file")
                .arg(json.clone())
                .arg(
                    Arg::new("symbols")
                        .long("symbols")
                        .action(ArgAction::SetTrue)
                        .help("Also list what it defines and needs, for which all of its code is read"),
                )
                .arg(max_unpacked_bytes)
                .arg(path("FILE").num_args(1..).required(true).action(ArgAction::Append)),
        )
        .subcommand(
            Command::new("doctor")
                .about("Shows which nvJitLink and CUDA driver are here, where each was looked for, and who would link")
                .arg(json)
                .after_help(variables()),
        )
}

const EXIT_STATUS: &str = "Exit status: 0 done, 1 refused or failed, 2 wrong usage: an unknown option, a value that it does not take,\n\
                           options that exclude each other, no architecture, no input.";

/// The variables that the search for a library looks at, in its order.
fn variables() -> String {
    format!(
        "Environment:\n  \
           {LIBRARY_VARIABLE:<19} the nvJitLink to use, and no other\n  \
           {BACKEND_VARIABLE:<19} who links where --backend does not say: {}\n  \
           VIRTUAL_ENV, CONDA_PREFIX, CUDA_PATH, CUDA_HOME, LD_LIBRARY_PATH\n  \
           {:<19} where an nvJitLink is looked for, in this order",
        Backend::NAMES.map(|(name, _)| name).join(", "),
        ""
    )
}

/// A linker with everything added, or why not; the linker is given in both cases, for its diagnostics.
fn prepare(matches: &ArgMatches, flags: &[String]) -> (Linker, Result<()>) {
    let (options, checked) = match link_options(matches, flags) {
        Ok(options) => (options, Ok(())),
        Err(error) => (LinkOptions::default(), Err(error)),
    };
    let mut linker = Linker::new(options);
    if let Err(error) = &checked {
        linker.fail(error);
    }
    let added = checked.and_then(|()| inputs(matches).into_iter().try_for_each(|(kind, path)| linker.add_file(kind, path)));
    (linker, added)
}

fn link_options(matches: &ArgMatches, flags: &[String]) -> Result<LinkOptions> {
    let text = |name| matches.get_one::<String>(name).map(String::as_str);
    let mut options = LinkOptions::default();
    options.library_path = matches.get_one::<PathBuf>("library").cloned();
    options.required_kernels = matches.get_many("require-kernel").into_iter().flatten().cloned().collect();
    if text("archive-members") == Some("needed") {
        options.archive_members = ArchiveMembers::Needed;
    }
    options.max_unpacked_bytes = unpack_limit(matches);
    options.backend = text("backend").and_then(Backend::named).unwrap_or_default();
    match text("emit") {
        Some("cubin") => options.set_output(OutputKind::Cubin)?,
        Some("ptx") => options.set_output(OutputKind::Ptx)?,
        Some("ltoir") => options.set_output(OutputKind::Ltoir)?,
        _ => {}
    }
    match text("lto") {
        Some("on") => options.set_flag("-lto=true")?,
        Some("off") => options.set_flag("-lto=false")?,
        _ => {}
    }
    flags.iter().try_for_each(|flag| options.set_flag(flag).map_err(|error| with_our_option(flag, error)))?;
    matches.get_many::<String>("pass-through").into_iter().flatten().try_for_each(|flag| options.add_pass_through(flag))?;
    Ok(options)
}

/// An argument with one dash that nvJitLink does not have may be an option of ours, which has two.
fn with_our_option(flag: &str, error: Error) -> Error {
    let name = flag.trim_start_matches('-').split('=').next().unwrap_or_default();
    let is_ours = command().get_subcommands().any(|command| command.get_arguments().any(|argument| argument.get_long() == Some(name)));
    if error.class() == ResultClass::UnknownOption && is_ours { error.hint(format!("did you mean --{name}?")) } else { error }
}

/// Each input with the kind that was said last before it.
fn inputs(matches: &ArgMatches) -> Vec<(Option<InputKind>, &PathBuf)> {
    let kinds: Vec<(usize, &String)> = indexed(matches, "kind");
    let kind_at =
        |index| kinds.iter().rev().find(|(at, _)| *at < index).and_then(|(_, name)| KINDS.iter().find(|(kind, _)| kind == name)?.1);
    indexed(matches, "INPUT").into_iter().map(|(index, path)| (kind_at(index), path)).collect()
}

fn indexed<'a, T: Clone + Send + Sync + 'static>(matches: &'a ArgMatches, name: &str) -> Vec<(usize, &'a T)> {
    matches.indices_of(name).into_iter().flatten().zip(matches.get_many(name).into_iter().flatten()).collect()
}

fn link(matches: &ArgMatches, flags: &[String]) -> io::Result<u8> {
    let (mut linker, added) = prepare(matches, flags);
    let path = matches.get_one::<PathBuf>("output").expect("clap requires it");
    let place = OutputPlace::of(path);
    let output_kind = linker.output_kind();
    let done = added.and_then(|()| linker.complete()).and_then(|()| {
        let output = linker.output(output_kind)?;
        let bytes = match output.kind() {
            // A file of text has no NUL at its end.
            OutputKind::Ptx => output.bytes().strip_suffix(b"\0").unwrap_or(output.bytes()),
            OutputKind::Cubin | OutputKind::Ltoir => output.bytes(),
        };
        place.write(bytes).map_err(|error| Error::new(ResultClass::IoError, format!("'{}' cannot be written: {error}", path.display())))?;
        Ok((bytes.len(), output.clone()))
    });
    // What goes where the output goes would be a part of it.
    let mut told: Box<dyn Write> = if matches!(place, OutputPlace::Stdout) { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    if matches.get_flag("json") {
        let logs = linker.logs();
        let mut report = report(&linker, &done, linker.plan().map(|plan| json!(plan)));
        report["output"] = done.as_ref().map_or(Value::Null, |(size, output)| {
            let mut described = json!(output.describe());
            described["path"] = path.to_string_lossy().into();
            described["size"] = (*size).into();
            described
        });
        report["logs"] = json!({ "error": logs.error, "info": logs.info });
        writeln!(told, "{report:#}")?;
    } else {
        print_diagnostics(&linker, &done);
        if asks_for_a_log(linker.options()) {
            _ = write!(io::stderr(), "{}", linker.logs().info);
        }
        if let (Ok((size, output)), Some(plan)) = (&done, linker.plan()) {
            writeln!(told, "{}: {size} bytes, linked by {}", path.display(), plan.describe_backend())?;
            for kernel in &output.symbols().kernels {
                writeln!(told, "  kernel {kernel}")?;
            }
        }
    }
    Ok(status_of(&done))
}

/// Whether there is an option whose answer is the log; some releases always write something there.
fn asks_for_a_log(options: &LinkOptions) -> bool {
    let on = |id| options.get_bool(id) == Some(true);
    on(OptionId::Verbose) || on(OptionId::Time) || options.get(OptionId::PtxasOptions).or(options.get(OptionId::NvvmOptions)).is_some()
}

/// Where an output goes.
enum OutputPlace<'a> {
    Stdout,
    /// A file, which is there as a whole or as it was before.
    File(&'a Path),
    /// A device, a pipe, or whatever else is no file that another could replace.
    Special(&'a Path),
}

impl<'a> OutputPlace<'a> {
    fn of(path: &'a Path) -> Self {
        let same = |one: &Metadata, other: &Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        let stdout = || File::from(io::stdout().as_fd().try_clone_to_owned().ok()?).metadata().ok();
        match fs::metadata(path) {
            _ if path == "-" => Self::Stdout,
            Ok(metadata) if stdout().is_some_and(|stdout| same(&metadata, &stdout)) => Self::Stdout,
            Ok(metadata) if !metadata.is_file() => Self::Special(path),
            _ => Self::File(path),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes)?;
                stdout.flush()
            }
            Self::Special(path) => OpenOptions::new().write(true).open(path)?.write_all(bytes),
            Self::File(path) => replace(&linked_file(path), bytes),
        }
    }
}

/// The file that a path leads to over links, which need not exist yet.
fn linked_file(path: &Path) -> Cow<'_, Path> {
    // As many as the system follows; it refuses to open what is still a link then.
    const MOST_LINKS: usize = 40;
    let mut file = Cow::Borrowed(path);
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::read_link(&file) else { break };
        file = Cow::Owned(file.parent().unwrap_or(Path::new("")).join(link));
    }
    file
}

/// Writes a file beside the one of that path, then gives it the path: a full disk leaves the old file.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // As when a file is written in place: a new one has what the umask leaves, an old one keeps what
    // it has, and one that must not be written is not.
    let permissions = match OpenOptions::new().write(true).open(path) {
        Ok(old) => Some(old.metadata()?.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::Builder::new().prefix(".cudalink-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    new.write_all(bytes)?;
    if let Some(permissions) = permissions {
        new.as_file().set_permissions(permissions)?;
    }
    // Some file systems say only here that they are full.
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

fn explain(matches: &ArgMatches, flags: &[String]) -> io::Result<u8> {
    let (mut linker, added) = prepare(matches, flags);
    let plan = added.and_then(|()| linker.explain());
    if matches.get_flag("json") {
        print(&report(&linker, &plan, plan.as_ref().ok().map(|plan| json!(plan))))?;
    } else {
        print_diagnostics(&linker, &plan);
        if let Ok(plan) = &plan {
            writeln!(io::stdout(), "{}", plan.describe_backend())?;
            for option in plan.options.iter().map(ToString::to_string) {
                let decided = plan.decisions.iter().find(|decision| decision.option == option);
                writeln!(io::stdout(), "  {option:<24} {}", decided.map_or("asked for", |decision| &decision.reason))?;
            }
            for image in &plan.images {
                let used = image.used.map_or("what the library takes".to_owned(), |used| used.to_string());
                writeln!(io::stdout(), "{}: {used} is used", image.name)?;
            }
            for decision in &plan.decisions {
                let action = json!(decision.action);
                writeln!(
                    io::stdout(),
                    "{} {}: {} ({})",
                    decision.option,
                    action.as_str().unwrap_or_default(),
                    decision.reason,
                    decision.rule
                )?;
            }
        }
    }
    Ok(status_of(&plan))
}

fn unpack_limit(matches: &ArgMatches) -> u64 {
    matches.get_one("max-unpacked-bytes").copied().unwrap_or(DEFAULT_MAX_UNPACKED_BYTES)
}

fn inspect(matches: &ArgMatches) -> io::Result<u8> {
    let symbols_within = matches.get_flag("symbols").then(|| unpack_limit(matches));
    let describe = |path: &PathBuf| {
        let name = path.display().to_string();
        match (cudalink::linker::read(path), symbols_within) {
            (Ok(bytes), Some(limit)) => input::describe_with_symbols(&bytes, &name, &mut input::members_beside(path), limit),
            (Ok(bytes), None) => input::describe(&bytes, &name, &mut input::members_beside(path)),
            (Err(error), _) => input::Description::of_failure(&name, &error),
        }
    };
    let descriptions: Vec<_> = matches.get_many("FILE").into_iter().flatten().map(describe).collect();
    if matches.get_flag("json") {
        print(&json!({ "inputs": descriptions }))?;
    } else {
        descriptions.iter().try_for_each(print_description)?;
    }
    let all_done = descriptions.iter().all(|description| description.result == ResultClass::Ok);
    Ok(if all_done { DONE } else { FAILED })
}

/// A small table, a line for each piece of device code.
fn print_description(description: &input::Description) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match &description.kind {
        Some(kind) => writeln!(out, "{}: {kind}, {} bytes", description.name, description.size)?,
        None => writeln!(out, "{}", description.message)?,
    }
    let mut member = None;
    for part in &description.parts {
        let arch = part.arch.as_deref().unwrap_or("-");
        let cuda = part.cuda.as_ref().map_or("-".to_owned(), |cuda| format!("CUDA {cuda}"));
        let linkable = match part.relocatable {
            Some(true) => "relocatable",
            Some(false) => "finished",
            None => "-",
        };
        let size = if part.compressed == "stored" {
            part.size.to_string()
        } else {
            format!("{} of {} {}", part.size, part.unpacked_size, part.compressed)
        };
        // A member is named once, before its parts.
        if part.member != member {
            member = part.member;
            let name = member.and_then(|index| description.members.get(index));
            writeln!(out, "  in {}:", name.map_or("", String::as_str))?;
        }
        let place = part.section.map_or(String::new(), |section| format!("  {section}"));
        writeln!(out, "  {:<8} {arch:<13} {cuda:<10} {linkable:<12} {size}{place}", part.kind)?;
    }
    if let Some(symbols) = &description.symbols {
        for symbol in &symbols.defined {
            writeln!(out, "  {:<8} {:<6} {}", symbol.kind, symbol.binding, symbol.name)?;
        }
        for name in &symbols.undefined {
            writeln!(out, "  {:<15} {name}", "undefined")?;
        }
        if !symbols.complete {
            writeln!(out, "  the symbols of some parts are not known")?;
        }
    }
    for text in description.warnings.iter().chain(Some(&description.message).filter(|text| description.kind.is_some() && !text.is_empty()))
    {
        writeln!(out, "  {text}")?;
    }
    Ok(())
}

fn doctor(matches: &ArgMatches) -> io::Result<u8> {
    let environment = SearchEnvironment::of_process();
    let search = nvjitlink::find(None::<&Path>, &environment);
    let found = search.found.as_ref().ok();
    let others: Vec<_> = found.map_or(Vec::new(), |(library, _)| nvjitlink::all(&environment, library));
    let driver = Driver::find();
    let devices = driver.as_ref().map_err(Error::clone).and_then(|driver| driver.devices());
    let choice = choice(&search.found, &devices, &environment);
    if matches.get_flag("json") {
        let library = found.map(|(library, found_by)| {
            json!({
                "path": library.facts().path.to_string_lossy(), "version": library.facts().version, "found_by": found_by,
                "has_version": library.has_version_entry(), "has_linked_ltoir": library.exports_linked_ltoir(),
            })
        });
        let driver = json!({
            "path": driver.as_ref().ok().map(|driver| driver.facts().path.to_string_lossy()),
            "version": driver.as_ref().ok().map(|driver| driver.facts().version),
            "devices": devices.as_ref().ok(), "result": result_of(&devices), "message": message_of(&devices),
        });
        let (backend, reason) = choice.as_ref().map_or((None, String::new()), |(backend, reason)| (Some(backend), reason.clone()));
        print(&json!({
            "result": result_of(&choice), "message": message_of(&choice), "version": env!("CARGO_PKG_VERSION"), "library": library,
            "also_here": others, "tried": search.tried, "driver": driver, "choice": { "backend": backend, "reason": reason },
        }))?;
    } else {
        writeln!(io::stdout(), "cudalink {}", env!("CARGO_PKG_VERSION"))?;
        for tried in &search.tried {
            writeln!(io::stdout(), "passed over {}: {}", tried.place, tried.reason)?;
        }
        match &search.found {
            Ok((library, found_by)) => {
                writeln!(io::stdout(), "{}", library.facts().describe())?;
                writeln!(io::stdout(), "  found by {}", found_by.describe().to_string_lossy())?;
                for other in &others {
                    writeln!(io::stdout(), "also here: {}", other.describe())?;
                }
            }
            Err(error) => writeln!(io::stdout(), "{}", beginning(&error.to_string()))?,
        }
        if let Ok(driver) = &driver {
            writeln!(io::stdout(), "{}", driver.facts().describe())?;
        }
        match &devices {
            Ok(devices) => devices.iter().try_for_each(|device| writeln!(io::stdout(), "  {}, {}", device.name, device.arch))?,
            Err(error) => writeln!(io::stdout(), "{error}")?,
        }
        match &choice {
            Ok((backend, reason)) => writeln!(io::stdout(), "links by {backend}: {reason}")?,
            Err(error) => writeln!(io::stdout(), "links by nothing: {}", beginning(&error.to_string()))?,
        }
    }
    Ok(status_of(&choice))
}

/// Who would link what either backend can, and why.
fn choice(
    nvjitlink: &Result<(&NvJitLink, FoundBy)>,
    devices: &Result<Vec<Device>>,
    environment: &SearchEnvironment,
) -> Result<(&'static str, String)> {
    let (asked, by_variable) = asked_backend(&LinkOptions::default(), environment)?;
    let nvjitlink = || match nvjitlink {
        Ok((_, FoundBy::Variable)) => Ok(("nvjitlink", "it is named, so the driver is not asked".to_owned())),
        Ok(_) => Ok(("nvjitlink", "it is here; the driver is asked for what it cannot do".to_owned())),
        Err(error) => Err(error.clone()),
    };
    let driver = || match devices {
        Ok(devices) if devices.is_empty() => Err(Error::new(ResultClass::DriverError, "the CUDA driver has no device to link with")),
        Ok(_) => Ok(("driver", "it is asked for".to_owned())),
        Err(error) => Err(error.clone()),
    };
    let ((backend, reason), changed) = choose(asked, nvjitlink, driver)?;
    let reason = by_variable.or(changed).map_or(reason, |decision| decision.reason);
    Ok((backend, beginning(&reason).to_owned()))
}

/// The beginning of a message, without the list of places that follows it.
fn beginning(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.split_once("; tried").map_or(line, |(beginning, _)| beginning)
}

/// What is wrong whatever the inputs and the libraries are is wrong usage.
fn status_of<T>(done: &Result<T>) -> u8 {
    match result_of(done) {
        ResultClass::Ok => DONE,
        ResultClass::UnknownOption
        | ResultClass::BadOptionValue
        | ResultClass::IncompatibleOptions
        | ResultClass::MissingArch
        | ResultClass::BadArch
        | ResultClass::NoInputs => WRONG_USAGE,
        _ => FAILED,
    }
}

fn result_of<T>(done: &Result<T>) -> ResultClass {
    done.as_ref().err().map_or(ResultClass::Ok, Error::class)
}

fn message_of<T>(done: &Result<T>) -> String {
    done.as_ref().err().map_or(String::new(), Error::to_string)
}

fn report<T>(linker: &Linker, done: &Result<T>, plan: Option<Value>) -> Value {
    json!({
        "result": result_of(done),
        "message": message_of(done),
        "diagnostics": Findings(&diagnostics(linker, done)),
        "plan": plan,
    })
}

/// The linker's findings, and an error that it does not know of, such as one of writing the output.
fn diagnostics<T>(linker: &Linker, done: &Result<T>) -> Vec<cudalink::Diagnostic> {
    let mut all = linker.diagnostics().to_vec();
    if let Err(error) = done
        && all.last() != Some(error.diagnostic())
    {
        all.push(error.diagnostic().clone());
    }
    all
}

fn print_diagnostics<T>(linker: &Linker, done: &Result<T>) {
    for diagnostic in diagnostics(linker, done) {
        let severity = json!(diagnostic.severity);
        complain!("{}: {} ({})", severity.as_str().unwrap_or_default(), diagnostic.message, diagnostic.result.name());
        if let Some(hint) = diagnostic.hint {
            complain!("hint: {hint}");
        }
    }
}

fn print(value: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{value:#}")
}
