//! The promises of `cudalink.h`, kept to programs in C that use the built library.

mod support;

use support::{CProgram, run};

/// The oldest nvJitLink, the last of CUDA 12 and the newest.
const RELEASES: [&str; 3] = ["12.0.140", "12.9.86", "13.5.37"];

fn with_real_libraries(name: &'static str) {
    for release in RELEASES {
        run(&mut CProgram::new(name, Some(release), &[]).command(&[]));
    }
}

fn with_stubs(name: &'static str) {
    run(&mut CProgram::new(name, None, &[]).command(&[]));
}

#[test]
fn a_link_is_the_same_from_memory_and_from_files() {
    with_real_libraries("memory_and_files");
}

#[test]
fn a_getter_gives_the_size_and_never_writes_beyond_the_buffer() {
    with_real_libraries("getters");
}

#[test]
fn a_finding_tells_all_and_its_strings_stay() {
    with_real_libraries("diagnostics");
}

#[test]
fn an_unresolved_symbol_is_named_by_every_release() {
    with_real_libraries("unresolved");
}

#[test]
fn a_query_tells_of_the_library_or_why_there_is_none() {
    with_real_libraries("query");
}

#[test]
fn threads_with_their_own_linkers_do_not_disturb_each_other() {
    with_real_libraries("threads");
}

#[test]
fn a_call_out_of_order_changes_nothing_and_reaches_no_library() {
    with_stubs("states");
}

#[test]
fn an_argument_that_is_none_is_refused() {
    with_stubs("arguments");
}

#[test]
fn structures_of_older_and_newer_callers_are_taken() {
    with_stubs("structs");
}

#[test]
fn an_input_is_described_as_json() {
    with_stubs("describe");
}

#[test]
fn an_input_that_no_memory_is_left_for_is_refused() {
    with_stubs("no_memory");
}
