//! Links through the crate, by a backend that is named.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use cudalink::backend::driver::Driver;
use cudalink::options::Backend;
use cudalink::{LinkOptions, Linker, OutputKind, Result};

use super::support::{fixture, root};

/// The nvJitLinks that are taken where they are there.
const NVJITLINKS: [&str; 6] = ["12.0.140", "12.4.127", "12.9.86", "13.0.88", "13.4.92", "13.5.37"];

/// Who links.
#[derive(Clone, Debug)]
pub enum By {
    Driver,
    Nvjitlink { release: &'static str, file: PathBuf },
}

impl By {
    /// The CUDA release that it is of.
    pub fn version(&self) -> (u32, u32) {
        match self {
            Self::Driver => {
                let version = Driver::find().unwrap().facts().version.unwrap();
                (version.major, version.minor)
            }
            Self::Nvjitlink { release, .. } => release_of(release),
        }
    }
}

/// The first two numbers of a version.
pub fn release_of(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver => f.write_str("the driver"),
            Self::Nvjitlink { release, .. } => write!(f, "nvJitLink {release}"),
        }
    }
}

/// Every nvJitLink of the list that is in `target/nvidia`. Nothing is fetched: there need be no network.
pub fn nvjitlinks() -> Vec<By> {
    let found: Vec<By> = NVJITLINKS.iter().filter_map(|release| nvjitlink(release)).collect();
    assert!(!found.is_empty(), "there is no nvJitLink in target/nvidia");
    found
}

/// The one of that release, if it is there.
pub fn nvjitlink(release: &'static str) -> Option<By> {
    let folder = root().join(format!("target/nvidia/nvjitlink-{release}/nvidia"));
    let files = [folder.join("cu13/lib/libnvJitLink.so.13"), folder.join("nvjitlink/lib/libnvJitLink.so.12")];
    files.into_iter().find(|file| file.exists()).map(|file| By::Nvjitlink { release, file })
}

/// An input.
#[derive(Clone, Debug)]
pub struct Unit {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A fixture.
pub fn unit(path: &str) -> Unit {
    Unit { name: path.to_owned(), bytes: fs::read(fixture(path)).unwrap() }
}

/// PTX that says what no ptxas takes.
pub fn broken_ptx() -> Unit {
    ptx("broken.ptx", "8.0", ".visible .entry kernel() { nonsense; }")
}

/// PTX for every architecture since 8.0.
pub fn ptx(name: &str, version: &str, body: &str) -> Unit {
    Unit { name: name.to_owned(), bytes: format!(".version {version}\n.target sm_80\n.address_size 64\n{body}\n").into_bytes() }
}

/// A link, and what became of it.
pub fn link(by: &By, flags: &[&str], output: OutputKind, units: &[Unit]) -> (Linker, Result<()>) {
    let mut options = LinkOptions::default();
    match by {
        By::Driver => options.backend = Backend::Driver,
        By::Nvjitlink { file, .. } => options.library_path = Some(file.clone()),
    }
    options.set_output(output).unwrap();
    for flag in flags {
        options.set_flag(flag).unwrap();
    }
    let mut linker = Linker::new(options);
    let added = units.iter().try_for_each(|unit| linker.add(None, &unit.bytes, &unit.name));
    let result = added.and_then(|()| linker.complete());
    (linker, result)
}

/// The cubin of a link that succeeds.
pub fn cubin(by: &By, flags: &[&str], units: &[Unit]) -> Vec<u8> {
    let (linker, result) = link(by, flags, OutputKind::Cubin, units);
    result.unwrap_or_else(|error| panic!("{flags:?} by {by}: {error}"));
    linker.output(OutputKind::Cubin).unwrap().bytes().to_vec()
}
