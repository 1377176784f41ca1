//! Options have the effect that their name says, with the driver as with nvJitLink.

use cudalink::{Linker, OutputKind};
use object::Object;

use super::device::Gpu;
use super::link::{By, Unit, link, nvjitlinks, ptx};

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
fn hungry_linked(gpu: &Gpu, by: &By, flags: &[&str]) -> Linked {
    let arch = format!("-arch={}", gpu.arch());
    let (linker, result) = link(by, &[&[arch.as_str()], flags].concat(), OutputKind::Cubin, &[hungry()]);
    result.unwrap_or_else(|error| panic!("{flags:?} by {by}: {error}"));
    let module = gpu.load(linker.output(OutputKind::Cubin).unwrap().bytes()).unwrap();
    let kernel = module.kernel("hungry").unwrap();
    let mut values: Vec<u32> = (100..100 + VALUES as u32).collect();
    let turned: Vec<u32> = values.iter().rev().copied().collect();
    kernel.launch(&mut values, &mut []).unwrap();
    assert_eq!(values, turned, "{flags:?} by {by}");
    let registers = kernel.registers();
    drop(module);
    Linked { linker, registers }
}

#[test]
#[ignore = "needs a GPU"]
fn options_have_their_effect() {
    let gpu = Gpu::first();
    for by in nvjitlinks().into_iter().chain([By::Driver]) {
        let plain = hungry_linked(&gpu, &by, &[]);
        assert!(plain.registers > VALUES as i32, "{by}: {} registers", plain.registers);

        let few = hungry_linked(&gpu, &by, &["-maxrregcount=24"]);
        assert!(few.registers <= 24, "{by}: {} registers", few.registers);

        let unoptimized = hungry_linked(&gpu, &by, &["-O0"]);
        assert!(unoptimized.cubin() != plain.cubin(), "{by}: -O0 gives what is given without it");
        let optimized = hungry_linked(&gpu, &by, &["-O3"]);
        assert_eq!(optimized.registers, plain.registers, "{by}");

        for (flags, line_table, debug_info) in
            [(&[][..], false, false), (&["-lineinfo"], true, false), (&["-g"], true, true), (&["-lineinfo", "-g"], true, true)]
        {
            let linked = hungry_linked(&gpu, &by, flags);
            let found = (linked.has_section(".debug_line"), linked.has_section(".nv_debug_info_reg_type"));
            assert_eq!(found, (line_table, debug_info), "{flags:?} by {by}");
        }

        let verbose = hungry_linked(&gpu, &by, &["-verbose"]);
        let info = &verbose.linker.logs().info;
        assert!(info.contains("hungry"), "{by}: {info:?}");

        if by.version() >= (12, 5) {
            hungry_linked(&gpu, &by, &["-no-cache"]);
        }
    }
}
