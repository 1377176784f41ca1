//! What a C caller asks for.

use std::ffi::c_char;

use super::boundary::{self, VersionedStruct};
use crate::error::{Error, Result, ResultClass};
use crate::options::{ArchiveMembers, Backend, LinkOptions, OutputKind};
use crate::policy::table::OptionId;

/// A setting that can be left alone. One of `CL_TRISTATE_UNSET`, `CL_TRISTATE_ON`, `CL_TRISTATE_OFF`.
pub type cl_tristate = u32;
/// Not asked for: nvJitLink's default, or what the inputs call for.
pub const CL_TRISTATE_UNSET: cl_tristate = 0;
/// Asked for.
pub const CL_TRISTATE_ON: cl_tristate = 1;
/// Asked not to be.
pub const CL_TRISTATE_OFF: cl_tristate = 2;

/// What a link gives. One of `CL_OUTPUT_CUBIN`, `CL_OUTPUT_PTX`, `CL_OUTPUT_LTOIR`.
pub type cl_output_kind = u32;
/// A CUDA binary (an ELF file) for the driver to load. This is what a link gives unless something else is asked for.
pub const CL_OUTPUT_CUBIN: cl_output_kind = 1;
/// PTX text, ending in one NUL that its size counts. Every input must be LTO-IR.
pub const CL_OUTPUT_PTX: cl_output_kind = 2;
/// LTO-IR that later links take as an input. Needs nvJitLink 13.4.
pub const CL_OUTPUT_LTOIR: cl_output_kind = 3;

/// Who links. The plan says who did, and why. One of `CL_BACKEND_AUTO`, `CL_BACKEND_NVJITLINK`, `CL_BACKEND_DRIVER`.
pub type cl_backend = u32;
/// What the variable `CUDALINK_BACKEND` says (`nvjitlink` or `driver`), else nvJitLink where it can do the job, else the CUDA driver. An nvJitLink
/// that is named is the only one asked: by `library_path`, which counts before that variable, or by the variable `CUDALINK_NVJITLINK`, which counts
/// after it. A plan by the driver that was not asked for tells why, and so does a warning.
pub const CL_BACKEND_AUTO: cl_backend = 0;
/// nvJitLink.
pub const CL_BACKEND_NVJITLINK: cl_backend = 1;
/// The CUDA driver's cuLink functions. They link cubins and PTX to a cubin, with the options that have a `CUjit_option`; all else, LTO-IR among
/// it, is `CL_RESULT_UNSUPPORTED_OPTION`. They need a GPU, and a context: the calling thread's current one is used, or else the primary context
/// of the first device is retained for the link, which takes far longer than the link does.
pub const CL_BACKEND_DRIVER: cl_backend = 2;

/// An optimization level. One of `CL_OPTIMIZATION_UNSET`, `CL_OPTIMIZATION_O0` ... `CL_OPTIMIZATION_O3`.
pub type cl_optimization = u32;
/// nvJitLink's default, which is 3.
pub const CL_OPTIMIZATION_UNSET: cl_optimization = 0;
/// `-O0`
pub const CL_OPTIMIZATION_O0: cl_optimization = 1;
/// `-O1`; nvJitLink before 12.3, and the CUDA driver
pub const CL_OPTIMIZATION_O1: cl_optimization = 2;
/// `-O2`; nvJitLink before 12.3, and the CUDA driver
pub const CL_OPTIMIZATION_O2: cl_optimization = 3;
/// `-O3`
pub const CL_OPTIMIZATION_O3: cl_optimization = 4;

/// How much run time to give away for compile time. One of `CL_FAST_COMPILE_UNSET`, `..._MIN`, `..._MID`, `..._MAX`.
pub type cl_fast_compile = u32;
/// None.
pub const CL_FAST_COMPILE_UNSET: cl_fast_compile = 0;
/// `-Ofc=min`
pub const CL_FAST_COMPILE_MIN: cl_fast_compile = 1;
/// `-Ofc=mid`
pub const CL_FAST_COMPILE_MID: cl_fast_compile = 2;
/// `-Ofc=max`: the fastest compilation.
pub const CL_FAST_COMPILE_MAX: cl_fast_compile = 3;

/// Which members of an archive are linked. One of `CL_ARCHIVE_MEMBERS_ALL`, `CL_ARCHIVE_MEMBERS_NEEDED`.
pub type cl_archive_members = u32;
/// All, as nvJitLink does.
pub const CL_ARCHIVE_MEMBERS_ALL: cl_archive_members = 0;
/// Those that define a symbol that is undefined so far, until nothing changes. With LTO-IR among
/// the inputs these are all, for LTO-IR does not tell what it needs.
pub const CL_ARCHIVE_MEMBERS_NEEDED: cl_archive_members = 1;

/// For the fields whose 0 means "not asked for": the value that nvJitLink calls 0.
/// In `split_compile` and `split_compile_extended` it means all processors, in `jump_table_density` 0 percent.
pub const CL_ZERO: i32 = -1;

/// What to link and how.
///
/// Initialise it with `CL_LINKER_OPTIONS_INIT`, then set what you need. Zero means "not asked for" in every field.
/// Everything that it points to is copied by the call that takes it, and stays the caller's.
/// Later versions add fields at the end; `struct_size` tells which version the caller was compiled with.
///
/// An option can be set by its field or in nvJitLink's spelling through `flags`. Both are checked by the same table, which
/// knows since when each option exists: an option that the library found does not have is `CL_RESULT_UNSUPPORTED_OPTION`.
/// The same option twice with two values is `CL_RESULT_INCOMPATIBLE_OPTIONS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct cl_linker_options {
    /// `sizeof(cl_linker_options)`, set by `CL_LINKER_OPTIONS_INIT`.
    pub struct_size: usize,
    /// The architecture to link for, such as "sm_90", "sm_90a" or "sm_100f"; for PTX output also "compute_90". Required. (`-arch=`)
    pub arch: *const c_char,
    /// The nvJitLink to use and no other; NULL searches for one, see `cl_library_query`. Not looked at where `backend` is `CL_BACKEND_DRIVER`, which
    /// the plan tells.
    pub library_path: *const c_char,
    /// Who links.
    pub backend: cl_backend,
    /// What the link gives: `CL_OUTPUT_CUBIN` unless set. (`-ptx`)
    pub output: cl_output_kind,
    /// Optimize at link time. Unset: if the inputs hold LTO-IR or the output needs it. (`-lto`)
    pub lto: cl_tristate,
    /// Link incrementally: give another relocatable object, with symbols left undefined. nvJitLink 13.0. (`-r`)
    pub relocatable: cl_tristate,
    /// Generate debug information. (`-g`)
    pub debug: cl_tristate,
    /// Generate line information. (`-lineinfo`)
    pub lineinfo: cl_tristate,
    /// Flush denormal numbers to zero. (`-ftz=`)
    pub ftz: cl_tristate,
    /// Precise division. (`-prec-div=`)
    pub prec_div: cl_tristate,
    /// Precise square root. (`-prec-sqrt=`)
    pub prec_sqrt: cl_tristate,
    /// Contract a multiplication and an addition. (`-fma=`)
    pub fma: cl_tristate,
    /// Remove variables that device code does not use. (`-optimize-unused-variables`)
    pub optimize_unused_variables: cl_tristate,
    /// Use the newest NVVM for every architecture. nvJitLink 13.5. (`-nvvm-latest`)
    pub nvvm_latest: cl_tristate,
    /// Do not use nvJitLink's own cache; before there is none, and nothing to do. nvJitLink 12.5. (`-no-cache`)
    pub no_cache: cl_tristate,
    /// Documented by NVIDIA since 12.6 and accepted by no nvJitLink up to 13.5. (`-device-stack-protector`)
    pub device_stack_protector: cl_tristate,
    /// Put timings into the info log. (`-time`)
    pub time: cl_tristate,
    /// Put more into the info log. (`-verbose`)
    pub verbose: cl_tristate,
    /// Optimization level. (`-O`)
    pub optimization: cl_optimization,
    /// Trade run time for compile time. nvJitLink 12.5. `..._MIN` and `..._MID` only from 12.9 on. (`-Ofc=`)
    pub fast_compile: cl_fast_compile,
    /// Registers that a thread may use. (`-maxrregcount=`)
    pub max_register_count: i32,
    /// Threads of one link; `CL_ZERO` for all processors. nvJitLink 12.3. (`-split-compile=`)
    pub split_compile: i32,
    /// The same, more aggressive, with LTO only. nvJitLink 12.3. (`-split-compile-extended=`)
    pub split_compile_extended: i32,
    /// Percent of cases that make a switch a jump table, 1 to 101 or `CL_ZERO`, with LTO only. nvJitLink 12.3. (`-jump-table-density=`)
    pub jump_table_density: i32,
    /// Kernels to keep: every one whose symbol contains one of the texts. Others may be removed. (`-kernels-used=`)
    pub kernels_used: *const *const c_char,
    /// How many there are.
    pub kernels_used_count: usize,
    /// Variables to keep: every one whose symbol contains one of the texts. Others may be removed. (`-variables-used=`)
    pub variables_used: *const *const c_char,
    /// How many there are.
    pub variables_used_count: usize,
    /// Options for ptxas, one each. (`-Xptxas=`)
    pub ptxas_options: *const *const c_char,
    /// How many there are.
    pub ptxas_options_count: usize,
    /// Options in nvJitLink's spelling, such as "-arch=sm_90" or "-lto".
    pub flags: *const *const c_char,
    /// How many there are.
    pub flag_count: usize,
    /// Flags that nvJitLink gets as they are, for what cudalink does not know. Nothing checks them beyond that they are none of the
    /// options above, and there are strings that make nvJitLink end the process. The CUDA driver takes none: `CL_RESULT_UNSUPPORTED_OPTION`.
    pub pass_through: *const *const c_char,
    /// How many there are.
    pub pass_through_count: usize,
    /// Options for NVVM, one each. (`-Xnvvm=`)
    pub nvvm_options: *const *const c_char,
    /// How many there are.
    pub nvvm_options_count: usize,
    /// Kernels that the output must have, or the link fails with `CL_RESULT_MISSING_KERNEL`.
    pub required_kernels: *const *const c_char,
    /// How many there are.
    pub required_kernels_count: usize,
    /// Which members of an archive are linked: all unless set.
    pub archive_members: cl_archive_members,
    /// Zero.
    pub reserved: u32,
    /// Bytes that the packed code of the inputs may have together once unpacked, of a link and so of one input; 0 is 8 GiB,
    /// which no device library that we know reaches. More is `CL_RESULT_OVER_LIMIT`. Counted is what a link has unpacked:
    /// of each fatbin the image that is linked, and all of those that are unpacked because the library cannot.
    pub max_unpacked_bytes: u64,
}

// SAFETY: repr(C), integers and pointers only, `struct_size` first.
unsafe impl VersionedStruct for cl_linker_options {}

/// The options of a C caller, checked and copied. NULL asks for nothing.
///
/// # Safety
/// `options` is NULL or as the header says.
pub unsafe fn read(options: *const cl_linker_options) -> Result<LinkOptions> {
    let mut checked = LinkOptions::default();
    if options.is_null() {
        return Ok(checked);
    }
    // SAFETY: as the caller promises.
    let options = unsafe { boundary::read_struct(options, "options") }?;
    // SAFETY: `library_path` and `arch` are NULL or C strings, by the header's contract.
    let (library_path, arch) = unsafe { (boundary::text(options.library_path, "library_path")?, boundary::text(options.arch, "arch")?) };
    checked.library_path = library_path.map(Into::into);
    checked.backend = match options.backend {
        CL_BACKEND_AUTO => Backend::Auto,
        CL_BACKEND_NVJITLINK => Backend::Nvjitlink,
        CL_BACKEND_DRIVER => Backend::Driver,
        other => return Err(no_such("backend", other)),
    };
    checked.archive_members = match options.archive_members {
        CL_ARCHIVE_MEMBERS_ALL => ArchiveMembers::All,
        CL_ARCHIVE_MEMBERS_NEEDED => ArchiveMembers::Needed,
        other => return Err(no_such("archive_members", other)),
    };
    checked.max_unpacked_bytes = options.max_unpacked_bytes;
    if options.reserved != 0 {
        return Err(no_such("reserved", options.reserved));
    }
    if options.output != 0 {
        checked.set_output(output_kind(options.output)?)?;
    }
    if let Some(arch) = arch {
        checked.set(OptionId::Arch, arch)?;
    }
    for (id, value) in [
        (OptionId::Lto, options.lto),
        (OptionId::Relocatable, options.relocatable),
        (OptionId::Debug, options.debug),
        (OptionId::Lineinfo, options.lineinfo),
        (OptionId::Ftz, options.ftz),
        (OptionId::PrecDiv, options.prec_div),
        (OptionId::PrecSqrt, options.prec_sqrt),
        (OptionId::Fma, options.fma),
        (OptionId::OptimizeUnusedVariables, options.optimize_unused_variables),
        (OptionId::NvvmLatest, options.nvvm_latest),
        (OptionId::NoCache, options.no_cache),
        (OptionId::DeviceStackProtector, options.device_stack_protector),
        (OptionId::Time, options.time),
        (OptionId::Verbose, options.verbose),
    ] {
        match value {
            CL_TRISTATE_UNSET => {}
            CL_TRISTATE_ON => checked.set(id, "true")?,
            CL_TRISTATE_OFF => checked.set(id, "false")?,
            other => return Err(no_such(id.row().name, other)),
        }
    }
    match options.optimization {
        CL_OPTIMIZATION_UNSET => {}
        level @ CL_OPTIMIZATION_O0..=CL_OPTIMIZATION_O3 => {
            checked.set(OptionId::Optimization, &(level - CL_OPTIMIZATION_O0).to_string())?
        }
        other => return Err(no_such("optimization", other)),
    }
    match options.fast_compile {
        CL_FAST_COMPILE_UNSET => {}
        CL_FAST_COMPILE_MIN => checked.set(OptionId::FastCompile, "min")?,
        CL_FAST_COMPILE_MID => checked.set(OptionId::FastCompile, "mid")?,
        CL_FAST_COMPILE_MAX => checked.set(OptionId::FastCompile, "max")?,
        other => return Err(no_such("fast_compile", other)),
    }
    for (id, value) in [
        (OptionId::MaxRegisterCount, options.max_register_count),
        (OptionId::SplitCompile, options.split_compile),
        (OptionId::SplitCompileExtended, options.split_compile_extended),
        (OptionId::JumpTableDensity, options.jump_table_density),
    ] {
        match value {
            0 => {}
            CL_ZERO => checked.set(id, "0")?,
            value => checked.set(id, &value.to_string())?,
        }
    }
    for (id, list, count) in [
        (OptionId::KernelsUsed, options.kernels_used, options.kernels_used_count),
        (OptionId::VariablesUsed, options.variables_used, options.variables_used_count),
        (OptionId::PtxasOptions, options.ptxas_options, options.ptxas_options_count),
        (OptionId::NvvmOptions, options.nvvm_options, options.nvvm_options_count),
    ] {
        // SAFETY: `list` has `count` C strings, by the header's contract.
        unsafe { for_each_text(list, count, id.row().name, |text| checked.set(id, text)) }?;
    }
    // SAFETY: as above.
    unsafe { for_each_text(options.flags, options.flag_count, "flags", |flag| checked.set_flag(flag)) }?;
    // SAFETY: as above.
    unsafe { for_each_text(options.pass_through, options.pass_through_count, "pass_through", |flag| checked.add_pass_through(flag)) }?;
    let require = |name: &str| {
        checked.required_kernels.push(name.to_owned());
        Ok(())
    };
    // SAFETY: as above.
    unsafe { for_each_text(options.required_kernels, options.required_kernels_count, "required_kernels", require) }?;
    Ok(checked)
}

/// A `cl_output_kind` that must name a kind.
pub fn output_kind(kind: cl_output_kind) -> Result<OutputKind> {
    match kind {
        CL_OUTPUT_CUBIN => Ok(OutputKind::Cubin),
        CL_OUTPUT_PTX => Ok(OutputKind::Ptx),
        CL_OUTPUT_LTOIR => Ok(OutputKind::Ltoir),
        other => Err(no_such("output kind", other)),
    }
}

pub(super) fn no_such(what: &str, value: u32) -> Error {
    Error::new(ResultClass::InvalidArgument, format!("{value} is no value of {what}"))
}

/// # Safety
/// `list` is NULL or points to `count` pointers, each NULL or a C string.
unsafe fn for_each_text(list: *const *const c_char, count: usize, what: &str, mut each: impl FnMut(&str) -> Result<()>) -> Result<()> {
    if count > 0 && list.is_null() {
        return Err(boundary::null(what));
    }
    for index in 0..count {
        // SAFETY: as the caller promises.
        let text = unsafe { boundary::text(list.add(index).read(), what) }?;
        each(text.ok_or_else(|| boundary::null(&format!("{what}[{index}]")))?)?;
    }
    Ok(())
}
