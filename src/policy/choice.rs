//! Who links: nvJitLink where it can do the job, the CUDA driver where nvJitLink is missing or cannot.

use super::plan::{Action, Decision};
use crate::error::{Error, Result, ResultClass};
use crate::options::Backend;

/// The rule that tells why it is not nvJitLink.
pub const DRIVER_FOR_THE_JOB: &str = "driver_for_the_job";

/// What one backend would do: `T` holds its plan.
///
/// Neither is asked unless its answer counts, so that nothing is opened for nothing.
pub fn choose<T>(
    asked: Backend,
    nvjitlink: impl FnOnce() -> Result<T>,
    driver: impl FnOnce() -> Result<T>,
) -> Result<(T, Option<Decision>)> {
    let refusal = match asked {
        Backend::Driver => return driver().map(|plan| (plan, None)),
        Backend::Nvjitlink => return nvjitlink().map(|plan| (plan, None)),
        Backend::Auto => match nvjitlink() {
            Ok(plan) => return Ok((plan, None)),
            Err(refusal) => refusal,
        },
    };
    // A library that was named is the only one; and what is wrong with the inputs is wrong for every backend.
    let another_could = matches!(
        refusal.class(),
        ResultClass::LibraryNotFound | ResultClass::UnsupportedOption | ResultClass::UnsupportedArch | ResultClass::InputTooNew
    );
    if !another_could {
        return Err(refusal);
    }
    match driver() {
        Ok(plan) => {
            let reason = format!("nvJitLink does not link this: {refusal}");
            Ok((plan, Some(Decision { rule: DRIVER_FOR_THE_JOB, option: "backend".to_owned(), action: Action::Changed, reason })))
        }
        // That there is no driver is worth telling only to who has nothing to link with.
        Err(no_driver) if no_driver.class() == ResultClass::DriverNotFound && refusal.class() != ResultClass::LibraryNotFound => {
            Err(refusal)
        }
        Err(driver_refusal) => Err(both_refused(refusal, &driver_refusal)),
    }
}

/// nvJitLink's reason, with the driver's after it.
fn both_refused(refusal: Error, driver: &Error) -> Error {
    let mut diagnostic = refusal.diagnostic().clone();
    diagnostic.message = format!("{}\nand {driver}", diagnostic.message);
    diagnostic.into()
}
