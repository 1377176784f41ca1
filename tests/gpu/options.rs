//! Options have the effect that their name says, with the driver as with nvJitLink.

use cudalink::{Linker, OutputKind};
use object::Object;

use super::device::Gpu;
use super::link::{By, Unit, link, nvjitlinks, ptx};
use super::none;

const VALUES: usize = 64;

/// A kernel that needs a register for each of the values that it turns round.
fn hungry() -> Unit {
    let loads: String = (0..VALUES).map(|at| format!("ld.volatile.global.u32 %v{at}, [%p+{}];\n", 4 * at)).collect();
    let stores: String = (0..VALUES).map(|at| format!("st.volatile.global.u32 [%p+{}], %v{};\n", 4 * at, VALUES - 1 - at)).collect();
    let body = format!(
        ".visible .entry hungry(.param .u64 data) {{\n.reg .u64 %p;\n.reg .u32 %v<{VALUES}>;\nld.param.u64 %p, [data];\n\
         cvta.to.global.u64 %p, %p;\n{loads}{stores}ret;\n}}"
    );
    ptx("hungry.ptx", "8.0", &body)
}

struct Linked {
    linker: Linker,
    registers: i32,
}

impl Linked {
    fn cubin(&self) -> &[u8] {
        self.linker.output(OutputKind::Cubin).unwrap().bytes()
    }

    fn has_section(&self, name: &str) -> bool {
        object::File::parse(self.cubin()).unwrap().section_by_name(name).is_some()
    }
}

/// Linked with these flags; it does what it should.
fn hungry_linked(gpu: &Gpu, by: &By, flags: &[&str]) -> Result<Linked, String> {
    let arch = format!("-arch={}", gpu.arch());
    let (linker, result) = link(by, &[&[arch.as_str()], flags].concat(), OutputKind::Cubin, &[hungry()]);
    result.map_err(|error| format!("{flags:?}: {error}"))?;
    let module = gpu.load(linker.output(OutputKind::Cubin).unwrap().bytes())?;
    let kernel = module.kernel("hungry")?;
    let mut values: Vec<u32> = (100..100 + VALUES as u32).collect();
    let turned: Vec<u32> = values.iter().rev().copied().collect();
    kernel.launch(&mut values, &mut [])?;
    if values != turned {
        return Err(format!("{flags:?}: the kernel gives {values:?}"));
    }
    let registers = kernel.registers();
    drop(module);
    Ok(Linked { linker, registers })
}

/// What is not as it should be.
fn findings(gpu: &Gpu, by: &By) -> Result<Vec<String>, String> {
    let linked = |flags: &[&str]| hungry_linked(gpu, by, flags);
    let mut findings = Vec::new();
    let mut check = |holds: bool, finding: String| findings.extend((!holds).then_some(finding));

    let (plain, few) = (linked(&[])?, linked(&["-maxrregcount=24"])?);
    check(plain.registers > VALUES as i32, format!("{} registers", plain.registers));
    check(few.registers <= 24, format!("{} registers with -maxrregcount=24", few.registers));

    check(linked(&["-O0"])?.cubin() != plain.cubin(), "-O0 gives what is given without it".to_owned());
    linked(&["-O3"])?;

    for (flags, line_table, debug_info) in
        [(&[][..], false, false), (&["-lineinfo"], true, false), (&["-g"], true, true), (&["-lineinfo", "-g"], true, true)]
    {
        let linked = linked(flags)?;
        let found = (linked.has_section(".debug_line"), linked.has_section(".nv_debug_info_reg_type"));
        check(found == (line_table, debug_info), format!("{flags:?}: (.debug_line, .nv_debug_info_reg_type) are there: {found:?}"));
    }

    let info = linked(&["-verbose"])?.linker.logs().info.clone();
    check(info.contains("hungry"), format!("-verbose writes {info:?}"));

    if matches!(by, By::Nvjitlink { .. }) && by.version() >= (12, 5) {
        linked(&["-no-cache"])?;
    }
    Ok(findings)
}

#[test]
#[ignore = "needs a GPU"]
fn options_have_their_effect() {
    let gpu = Gpu::first();
    let mut all = Vec::new();
    for by in nvjitlinks().into_iter().chain([By::Driver]) {
        let found = findings(&gpu, &by).unwrap_or_else(|finding| vec![finding]);
        all.extend(found.into_iter().map(|finding| format!("{by}: {finding}")));
    }
    none(&all);
}
