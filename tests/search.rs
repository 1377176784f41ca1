//! Where an nvJitLink is looked for, in which order, and what becomes of a file that cannot be used.

mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use cudalink::ResultClass;
use cudalink::backend::library::{FoundBy, LIBRARY_NAMES, Search, SearchEnvironment, search};
use cudalink::backend::nvjitlink;
use serde_json::{Value, json};
use support::{calls, cudalink, fake, fixture, json, link_with_fake, run, steps};
use tempfile::TempDir;

/// The folders that are searched below the root of `environment`, in order.
const FOLDERS: [(FoundBy, &str); 25] = [
    (FoundBy::SitePackages, "own/site-packages/nvidia/cu13/lib"),
    (FoundBy::SitePackages, "own/site-packages/nvidia/nvjitlink/lib"),
    (FoundBy::VirtualEnv, "venv/lib/python3.11/site-packages/nvidia/cu13/lib"),
    (FoundBy::VirtualEnv, "venv/lib/python3.11/site-packages/nvidia/nvjitlink/lib"),
    (FoundBy::VirtualEnv, "venv/lib/python3.12/site-packages/nvidia/cu13/lib"),
    (FoundBy::VirtualEnv, "venv/lib/python3.12/site-packages/nvidia/nvjitlink/lib"),
    (FoundBy::Conda, "conda/lib64"),
    (FoundBy::Conda, "conda/lib"),
    (FoundBy::Conda, "conda/targets/x86_64-linux/lib"),
    (FoundBy::CudaPath, "cuda-path/lib64"),
    (FoundBy::CudaPath, "cuda-path/lib"),
    (FoundBy::CudaPath, "cuda-path/targets/sbsa-linux/lib"),
    (FoundBy::CudaPath, "cuda-path/targets/x86_64-linux/lib"),
    (FoundBy::CudaHome, "cuda-home/lib64"),
    (FoundBy::CudaHome, "cuda-home/lib"),
    (FoundBy::CudaHome, "cuda-home/targets/x86_64-linux/lib"),
    (FoundBy::Loader, "ld/first"),
    (FoundBy::Loader, "ld/second"),
    (FoundBy::Loader, ""), // The loader itself, by name.
    (FoundBy::DefaultRoot, "usr-local-cuda/lib64"),
    (FoundBy::DefaultRoot, "usr-local-cuda/lib"),
    (FoundBy::DefaultRoot, "usr-local-cuda/targets/x86_64-linux/lib"),
    (FoundBy::DefaultRoot, "opt-cuda/lib64"),
    (FoundBy::DefaultRoot, "opt-cuda/lib"),
    (FoundBy::DefaultRoot, "opt-cuda/targets/x86_64-linux/lib"),
];

fn environment(root: &Path) -> SearchEnvironment {
    SearchEnvironment {
        backend: None,
        variable: None,
        own_file: Some(root.join("own/site-packages/cudalink/libcudalink.so")),
        virtual_env: Some(root.join("venv").into()),
        conda_prefix: Some(root.join("conda").into()),
        cuda_path: Some(root.join("cuda-path").into()),
        cuda_home: Some(root.join("cuda-home").into()),
        ld_library_path: Some(std::env::join_paths([root.join("ld/first"), root.join("ld/second")]).unwrap()),
        ask_loader: true,
        default_roots: vec![root.join("usr-local-cuda"), root.join("opt-cuda")],
    }
}

/// Every folder, each with a file of every name.
fn full() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (_, folder) in FOLDERS.iter().filter(|(_, folder)| !folder.is_empty()) {
        fs::create_dir_all(root.path().join(folder)).unwrap();
        LIBRARY_NAMES.iter().for_each(|name| fs::write(root.path().join(folder).join(name), "").unwrap());
    }
    root
}

/// Searches, and accepts nothing; gives the files that it was offered.
fn refuse_all(explicit: Option<&Path>, environment: &SearchEnvironment) -> (Search<()>, Vec<PathBuf>) {
    let mut offered = Vec::new();
    let search = search(explicit, environment, |path| {
        offered.push(path.to_owned());
        Err("refused by the test".into())
    });
    (search, offered)
}

fn class_and_message<T>(search: &Search<T>) -> (ResultClass, String) {
    search.found.as_ref().err().map(|error| (error.class(), error.to_string())).expect("nothing is found")
}

#[test]
fn places_and_names_are_searched_in_order() {
    let root = full();
    let expected: Vec<(FoundBy, PathBuf)> = FOLDERS
        .iter()
        .flat_map(|(found_by, folder)| {
            ["libnvJitLink.so.13", "libnvJitLink.so.12", "libnvJitLink.so"].map(|name| match *folder {
                "" => (*found_by, PathBuf::from(name)),
                folder => (*found_by, root.path().join(folder).join(name)),
            })
        })
        .collect();
    let (search, offered) = refuse_all(None, &environment(root.path()));
    assert_eq!(offered, expected.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>());
    let tried: Vec<_> = search.tried.iter().map(|tried| (tried.found_by, PathBuf::from(&tried.place))).collect();
    assert_eq!(tried, expected);
}

#[test]
fn the_first_that_can_be_used_ends_the_search() {
    let root = full();
    for (index, (found_by, folder)) in FOLDERS.iter().enumerate() {
        let wanted = root.path().join(folder).join("libnvJitLink.so.12");
        let wanted = if folder.is_empty() { Path::new("libnvJitLink.so.12") } else { &wanted };
        let open = |path: &Path| if path == wanted { Ok(path.to_owned()) } else { Err("refused".into()) };
        let search = search(None, &environment(root.path()), open);
        assert_eq!(search.found.unwrap(), (wanted.to_owned(), *found_by));
        assert_eq!(search.tried.len(), index * 3 + 1, "the places before it, and none after it: {folder}");
    }
}

#[test]
fn a_library_that_is_named_is_the_only_one_looked_at() {
    let root = full();
    let mut environment = environment(root.path());
    environment.variable = Some("/named/by/variable.so".into());
    for (explicit, path) in [(None, "/named/by/variable.so"), (Some("/named/by/option.so"), "/named/by/option.so")] {
        let (search, offered) = refuse_all(explicit.map(Path::new), &environment);
        assert_eq!(offered, [Path::new(path)]);
        let (class, message) = class_and_message(&search);
        assert_eq!(class, ResultClass::LibraryUnusable);
        assert!(message.contains(path) && message.contains("refused by the test"), "{message}");
    }
}

#[test]
fn not_found_lists_every_place() {
    let root = full();
    let (search, offered) = refuse_all(None, &environment(root.path()));
    let (class, message) = class_and_message(&search);
    assert_eq!(class, ResultClass::LibraryNotFound);
    for path in offered {
        assert!(message.contains(&format!("\n  {}: refused by the test", path.display())), "{} in {message}", path.display());
    }

    let empty = tempfile::tempdir().unwrap();
    fs::create_dir_all(empty.path().join("venv/lib/python3.12/site-packages")).unwrap();
    let message = class_and_message(&refuse_all(None, &environment(empty.path())).0).1;
    for (_, folder) in FOLDERS.iter().filter(|(_, folder)| !folder.is_empty() && !folder.contains("targets") && !folder.contains("3.11")) {
        assert!(message.contains(&format!("\n  {}: ", empty.path().join(folder).display())), "{folder} in {message}");
    }

    let message = class_and_message(&refuse_all(None, &SearchEnvironment::default()).0).1;
    for place in ["site-packages", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "CUDA_HOME", "loader"] {
        assert!(message.contains(place), "{place} in {message}");
    }
}

/// A good stub, and files that are none, each with a word of the reason that has to be given.
fn good_and_bad(folder: &Path) -> (PathBuf, Vec<(PathBuf, &'static str)>) {
    let good = fake(folder.join("good.so"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let bytes = fs::read(&good).unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let mut other_machine = bytes.clone();
    let e_machine: u16 = if cfg!(target_arch = "aarch64") { 62 } else { 183 };
    other_machine[18..20].copy_from_slice(&e_machine.to_le_bytes());
    let bad = vec![
        (file("text.so", b"Not an ELF file, whatever its name says. It is long enough to hold a header."), "ELF"),
        (file("empty.so", b""), "short"),
        (file("cut_in_its_header.so", &bytes[..40]), "short"),
        (file("cut_in_half.so", &bytes[..bytes.len() / 2]), "cut"),
        (file("other_machine.so", &other_machine), "machine"),
        (folder.to_owned(), "directory"),
        (fake(folder.join("lacks_complete.so"), &["PLAIN", "NO_COMPLETE"]), "nvJitLinkComplete"),
        // As the toolkit's stub does, which is there to link programs against.
        (fake(folder.join("tells_no_version.so"), &["PLAIN", "MAJOR=13", "MINOR=5", "VERSION=6"]), "nvJitLinkVersion"),
    ];
    (good, bad)
}

/// By the tool, since a library that is cut short can end the process that opens it.
#[test]
fn a_file_that_cannot_be_used_is_kept_as_a_reason_and_the_search_goes_on() {
    let files = tempfile::tempdir().unwrap();
    let (good, bad) = good_and_bad(files.path());
    let good = fs::canonicalize(good).unwrap();
    for (file, reason) in &bad {
        let root = tempfile::tempdir().unwrap();
        let lib = root.path().join("lib64");
        fs::create_dir(&lib).unwrap();
        symlink(file, lib.join("libnvJitLink.so.13")).unwrap();
        symlink(&good, lib.join("libnvJitLink.so.12")).unwrap();
        let (doctor, status) = json(cudalink().args(["doctor", "--json"]).env("CUDA_PATH", root.path()));
        assert_eq!((&doctor["library"]["path"], status), (&json!(good), 0), "{doctor:#}");
        let tried = doctor["tried"].as_array().unwrap().last().unwrap();
        assert_eq!(tried["place"], json!(lib.join("libnvJitLink.so.13")));
        let given = tried["reason"].as_str().unwrap();
        assert!(given.to_lowercase().contains(&reason.to_lowercase()), "{}: {given}", file.display());
        assert!(!given.contains("No such file"), "the file is there: {given}");
    }
}

#[test]
fn a_named_file_that_cannot_be_used_is_an_error_and_never_skipped() {
    let files = tempfile::tempdir().unwrap();
    let (good, mut bad) = good_and_bad(files.path());
    bad.push((files.path().join("missing.so"), "No such file"));
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("lib64")).unwrap();
    symlink(good, root.path().join("lib64/libnvJitLink.so.13")).unwrap();
    let ptx = fixture("12.0/kernel.ptx");
    for (file, reason) in &bad {
        for by_variable in [false, true] {
            let mut tool = cudalink();
            tool.args(["link", "--json", "-arch=sm_80", "-o"]).arg(root.path().join("out")).arg(&ptx).env("CUDA_PATH", root.path());
            match by_variable {
                true => tool.env("CUDALINK_NVJITLINK", file),
                false => tool.arg("--library").arg(file),
            };
            let (link, status) = json(&mut tool);
            assert_eq!((&link["result"], status), (&json!("library_unusable"), 1), "{link:#}");
            let message = link["message"].as_str().unwrap();
            assert!(message.contains(file.to_str().unwrap()), "{message}");
            assert!(message.to_lowercase().contains(&reason.to_lowercase()), "{}: {message}", file.display());
        }
    }
}

/// One root for each variable of the process, with a stub in it. The place that won is taken away until none is left.
#[test]
fn the_process_environment_is_searched_in_order() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    let places = [
        ("variable", "named.so"),
        ("virtual_env", "venv/lib/python3.12/site-packages/nvidia/nvjitlink/lib/libnvJitLink.so.12"),
        ("conda", "conda/lib/libnvJitLink.so"),
        ("cuda_path", "cuda-path/targets/x86_64-linux/lib/libnvJitLink.so.12"),
        ("cuda_home", "cuda-home/lib64/libnvJitLink.so.13"),
        ("loader", "ld/libnvJitLink.so.12"),
    ];
    for (_, file) in places {
        fake(at(file), &["PLAIN", "MAJOR=12", "MINOR=4"]);
    }
    for (index, (found_by, file)) in places.iter().enumerate() {
        let mut tool = cudalink();
        tool.args(["doctor", "--json"]).env("VIRTUAL_ENV", at("venv")).env("CONDA_PREFIX", at("conda"));
        tool.env("CUDA_PATH", at("cuda-path")).env("CUDA_HOME", at("cuda-home")).env("LD_LIBRARY_PATH", at("ld"));
        if index == 0 {
            tool.env("CUDALINK_NVJITLINK", at(file));
        }
        let (doctor, _) = json(&mut tool);
        let library = &doctor["library"];
        let file = at(file);
        assert_eq!((&library["found_by"], &library["path"]), (&json!(found_by), &json!(fs::canonicalize(&file).unwrap())), "{doctor:#}");
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_wheel_beside_libcudalink_comes_before_a_virtual_environment() {
    let root = tempfile::tempdir().unwrap();
    let own = root.path().join("site-packages/cudalink/lib");
    fs::create_dir_all(&own).unwrap();
    fs::copy(support::shared_library(), own.join("libcudalink.so")).unwrap();
    let beside = fake(root.path().join("site-packages/nvidia/cu13/lib/libnvJitLink.so.13"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let venv = root.path().join("venv");
    let other = fake(venv.join("lib/python3.12/site-packages/nvidia/cu13/lib/libnvJitLink.so.13"), &["PLAIN", "MAJOR=13", "MINOR=4"]);
    let query = |steps: &mut Command| run(steps.env("VIRTUAL_ENV", &venv).arg("query"));
    let expected = |version, path: &Path, by| format!("query ok: {version} {}, by {by}\n", fs::canonicalize(path).unwrap().display());
    // The program calls the libcudalink.so of this folder.
    let found = query(steps(root.path()).env("LD_PRELOAD", own.join("libcudalink.so")));
    assert_eq!(found, expected("13.5", &beside, "the site-packages of libcudalink"));
    let found = query(&mut steps(root.path()));
    assert_eq!(found, expected("13.4", &other, "$VIRTUAL_ENV"), "libcudalink is in no site-packages here");
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let root = tempfile::tempdir().unwrap();
    fake(root.path().join("lib64/libnvJitLink.so.13"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let mut tool = cudalink();
    // A search below an empty root would find this one, which lies where the tool is started.
    fake(root.path().join("elsewhere/lib64/libnvJitLink.so.13"), &["PLAIN", "MAJOR=12", "MINOR=9"]);
    tool.current_dir(root.path().join("elsewhere"));
    for variable in ["CUDALINK_NVJITLINK", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_PATH", "LD_LIBRARY_PATH"] {
        tool.env(variable, "");
    }
    let (doctor, _) = json(tool.args(["doctor", "--json"]).env("CUDA_HOME", root.path()));
    assert_eq!((&doctor["library"]["found_by"], &doctor["library"]["version"]), (&json!("cuda_home"), &json!("13.5")), "{doctor:#}");
    for place in ["$VIRTUAL_ENV", "$CONDA_PREFIX", "$CUDA_PATH"] {
        let reason = doctor["tried"].as_array().unwrap().iter().find(|tried| tried["place"] == place).map(|tried| &tried["reason"]);
        assert!(reason.and_then(Value::as_str).is_some_and(|reason| reason.starts_with("not set")), "{place}: {doctor:#}");
    }
}

#[test]
fn a_relative_path_is_one_of_the_working_folder() {
    let root = tempfile::tempdir().unwrap();
    let library = fake(root.path().join("cuda/lib64/libnvJitLink.so.13"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let real = json!(fs::canonicalize(&library).unwrap());
    fs::create_dir(root.path().join("below")).unwrap();
    for (folder, path) in
        [("", "cuda/lib64/libnvJitLink.so.13"), ("cuda/lib64", "libnvJitLink.so.13"), ("below", "../cuda/./lib64/libnvJitLink.so.13")]
    {
        for by_variable in [false, true] {
            let mut tool = cudalink();
            tool.args(["explain", "--json", "-arch=sm_80"]).arg(fixture("12.0/kernel.ptx")).current_dir(root.path().join(folder));
            match by_variable {
                true => tool.env("CUDALINK_NVJITLINK", path),
                false => tool.arg("--library").arg(path),
            };
            let (explained, _) = json(&mut tool);
            assert_eq!(explained["plan"]["library"]["path"], real, "{explained:#}");
        }
    }

    // A root too: what was tried is told as an absolute path, and opened by one.
    fake(root.path().join("refused/lib64/libnvJitLink.so.13"), &["PLAIN", "NO_COMPLETE"]);
    let mut tool = cudalink();
    tool.args(["doctor", "--json"])
        .current_dir(fs::canonicalize(root.path()).unwrap())
        .env("CUDA_PATH", "refused")
        .env("CUDA_HOME", "cuda");
    let (doctor, _) = json(&mut tool);
    assert_eq!((&doctor["library"]["path"], &doctor["library"]["found_by"]), (&real, &json!("cuda_home")), "{doctor:#}");
    let refused = fs::canonicalize(root.path()).unwrap().join("refused/lib64/libnvJitLink.so.13");
    assert!(doctor["tried"].as_array().unwrap().iter().any(|tried| tried["place"] == json!(refused)), "{doctor:#}");
}

#[test]
fn links_to_one_file_lead_to_one_table_of_the_real_file() {
    let root = tempfile::tempdir().unwrap();
    let real = fake(root.path().join("real/libnvJitLink.so.13.5.37"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    symlink(&real, root.path().join("link.so")).unwrap();
    symlink("link.so", root.path().join("link_to_link.so")).unwrap();
    symlink("real", root.path().join("folder")).unwrap();
    let find = |path: &str| nvjitlink::find(Some(&root.path().join(path)), &SearchEnvironment::default()).found.unwrap().0;
    let table = find("real/libnvJitLink.so.13.5.37");
    for path in ["link.so", "link_to_link.so", "folder/libnvJitLink.so.13.5.37", "folder/../link.so"] {
        assert!(std::ptr::eq(find(path), table), "{path}");
    }
    assert_eq!(table.facts().path, fs::canonicalize(&real).unwrap());

    let copy = root.path().join("copy.so");
    fs::copy(&real, &copy).unwrap();
    assert!(!std::ptr::eq(find("copy.so"), table), "another file has a table of its own");
}

/// The loader answers a name with a library that the process has open. Folders that it would search are looked at before.
#[test]
fn the_loader_is_asked_by_name_after_its_own_folders() {
    let root = tempfile::tempdir().unwrap();
    let defines = |minor| ["PLAIN", "MAJOR=13", minor];
    let opened = fake(root.path().join("of_the_host.so"), &defines("MINOR=1"));
    let named = support::fake_with_flags(root.path().join("named.so"), &defines("MINOR=1"), &["-Wl,-soname,libnvJitLink.so.13"]);
    let in_folder = fake(root.path().join("ld/libnvJitLink.so.12"), &defines("MINOR=2"));
    let found =
        |path: &Path, version: &str| format!("query ok: {version} {}, by the system's loader\n", fs::canonicalize(path).unwrap().display());
    let by_name = run(steps(root.path()).arg("open").arg(&named).arg("query"));
    assert_eq!(by_name, found(&named, "13.1"));
    let mut with_folder = steps(root.path());
    with_folder.env("LD_LIBRARY_PATH", root.path().join("ld")).arg("open").arg(&named).arg("query");
    assert_eq!(run(&mut with_folder), found(&in_folder, "13.2"));
    // Without that name the loader knows nothing of a library that the host has opened by its path.
    let other = steps(root.path()).arg("open").arg(&opened).arg("query").output().unwrap();
    assert!(!String::from_utf8_lossy(&other.stdout).contains("of_the_host.so, by"), "{other:?}");
}

/// The stub writes a line when it is loaded, so that not even a library that was closed again goes unseen.
#[test]
fn nothing_is_opened_before_a_call_needs_it() {
    let root = tempfile::tempdir().unwrap();
    let library = fake(root.path().join("libnvJitLink.so.13"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let (log, ptx) = (root.path().join("calls"), fixture("12.0/kernel.ptx"));
    let program = |arguments: &[&str]| {
        let mut steps = steps(root.path());
        steps.env("CUDALINK_NVJITLINK", &library).env("FAKE_LOG", &log);
        for argument in arguments {
            match *argument {
                "PTX" => steps.arg(&ptx),
                argument => steps.arg(argument),
            };
        }
        run(&mut steps)
    };
    let out = program(&["flag", "-arch=sm_80", "create", "add", "PTX", "kernel", "mapped", "destroy", "mapped"]);
    assert_eq!(out, "create ok\nadd ok\nmapped 0\ndestroy \nmapped 0\n");
    assert_eq!(calls(&log), [""; 0]);
    // What no library can do is refused without one.
    assert_eq!(program(&["create", "add", "PTX", "kernel", "complete", "mapped"]), "create ok\nadd ok\ncomplete missing_arch\nmapped 0\n");
    assert_eq!(program(&["flag", "-arch=sm_80", "create", "complete", "mapped"]), "create ok\ncomplete no_inputs\nmapped 0\n");
    run(cudalink().args(["inspect", "--json"]).arg(&ptx).env("CUDALINK_NVJITLINK", &library).env("FAKE_LOG", &log));
    assert_eq!(calls(&log), [""; 0]);
    // And the watch is awake.
    let out = program(&["flag", "-arch=sm_80", "create", "add", "PTX", "kernel", "complete", "mapped"]);
    assert!(out.starts_with("create ok\nadd ok\ncomplete ok\nmapped ") && !out.ends_with(" 0\n"), "{out}");
    assert_eq!(calls(&log)[0], "loaded");
}

#[test]
fn a_library_in_a_folder_with_a_strange_name_is_used() {
    let root = tempfile::tempdir().unwrap();
    let library = fake(root.path().join("blank and : ü/libnvJitLink.so.13"), &["PLAIN", "MAJOR=13", "MINOR=5"]);
    let link = link_with_fake(root.path(), &library, &["-arch=sm_80", fixture("12.0/kernel.ptx").to_str().unwrap()]);
    assert_eq!(link.result(), "ok", "{}", link.json);
    assert_eq!(link.json["plan"]["library"]["path"], json!(fs::canonicalize(library).unwrap()));
}
