"""The examples run, and the commands of the README do."""
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import cudalink
from conftest import LTO_PAIR, PAIR, ROOT, fixture_file

EXAMPLES = ROOT / "examples"


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def test_link(tmp_path):
    output = tmp_path / "out.cubin"
    told = run(sys.executable, EXAMPLES / "python" / "link.py", "sm_80", output, *LTO_PAIR)
    assert told == "linked %d bytes: kernel\n" % output.stat().st_size
    failed = subprocess.run([sys.executable, EXAMPLES / "python" / "link.py", "sm_80", output, PAIR[0]], capture_output=True, text=True)
    assert (failed.returncode, failed.stderr[:18]) == (1, "unresolved_symbol:")


def test_jit():
    told = run(sys.executable, EXAMPLES / "python" / "jit.py", "sm_90")
    assert re.match(r"linked \d+ bytes for sm_90: apply\n  added -lto: ", told), told


def test_a_cmake_project_builds_with_the_wheel(tmp_path):
    shutil.copytree(EXAMPLES / "cpp-cmake", tmp_path / "project")
    run("cmake", "-S", tmp_path / "project", "-B", tmp_path / "build", "-Dcudalink_DIR=%s" % cudalink.get_cmake_dir())
    run("cmake", "--build", tmp_path / "build")
    told = run(tmp_path / "build" / "link_two", "sm_80", *PAIR, env={**os.environ, "CUDALINK_NVJITLINK": cudalink.query_library().path})
    assert json.loads(told)["kind"] == "cubin"


@pytest.fixture(scope="session")
def consumer(tmp_path_factory):
    """The folder of the Cython example as pip installs it, built apart from everything here."""
    folder = tmp_path_factory.mktemp("consumer")
    shutil.copytree(EXAMPLES / "cython", folder / "source", ignore=shutil.ignore_patterns("build", "*.c", "*.egg-info"))
    wheels = ROOT / "target" / "python" / "wheels"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--find-links", wheels, folder / "source")
    yield Path(sysconfig.get_path("platlib"), "consumer")
    run(sys.executable, "-m", "pip", "uninstall", "--quiet", "--yes", "consumer")


def test_cython(consumer):
    script = """
import sys
from consumer.jit import link
kernel, helper = (open(path, "rb").read() for path in sys.argv[1:])
cubin = link("sm_80", kernel, helper)
import cudalink
with cudalink.Linker("sm_80") as linker:
    linker.add(kernel); linker.add(helper)
    assert linker.link().cubin == cubin
for arch in ("sm_80", "80"):
    try:
        link(arch, kernel, b"text")
    except RuntimeError as error:
        print(str(error).split(":")[0])
"""
    told = run(sys.executable, "-c", script, fixture_file("kernel.ptx"), fixture_file("helper.ptx"))
    assert told.split() == ["unrecognized_input", "bad_arch"]


def test_one_library_in_the_process(consumer):
    script = "import consumer.jit, cudalink; print(len({line.split()[-1] for line in open('/proc/self/maps') if 'libcudalink' in line}))"
    assert run(sys.executable, "-c", script) == "1\n"
    (extension,) = consumer.glob("jit*.so")
    assert "[libcudalink.so.0.1]" in run("readelf", "-d", extension)


def test_the_python_of_the_readme(tmp_path):
    section = re.search(r"^## From Python\n(.*?)^## ", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)[1]
    (example,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    for path in PAIR:
        shutil.copy(path, tmp_path)
    assert run(sys.executable, "-c", example, cwd=tmp_path) == "('kernel',)\n"
    (commands,) = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    # The first one runs this.
    build, install = [line.split("#")[0].strip() for line in commands.splitlines()]
    assert build == "bindings/python/run-tests"
    site = tmp_path / "site-packages"
    environment = {**os.environ, "PATH": "%s:%s" % (Path(sys.executable).parent, os.environ["PATH"]), "PIP_TARGET": str(site)}
    run("sh", "-euc", install, cwd=ROOT, env=environment)
    script = "import cudalink; print(cudalink.__file__, cudalink.query_library().path)"
    found = run(sys.executable, "-c", script, env={**os.environ, "PYTHONPATH": str(site)}).split()
    assert all(Path(path).is_relative_to(site) for path in found), found
    for name in re.findall(r"`(examples/[\w./]+|bindings/[\w./]+)`", section):
        assert (ROOT / name).exists(), name
