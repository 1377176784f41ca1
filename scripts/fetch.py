#!/usr/bin/env python3
"""Fetches NVIDIA's wheels with pip and unpacks each one once, below target/nvidia/<package>-<version>/.

usage: fetch.py PACKAGE==VERSION...        e.g.  fetch.py nvjitlink==12.0.140 nvrtc==13.5.37

PACKAGE-windows is the same package for Windows. Prints one line per argument: for nvjitlink the path of its libnvJitLink.so.*, for every other package the path of its folder.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / "target" / "nvidia"

# Short name: package name up to CUDA 12 (a "-cu12" follows), and from CUDA 13 on. None: that release has it in another package.
PACKAGES = {
    "nvjitlink": ("nvidia-nvjitlink", "nvidia-nvjitlink"),
    "nvrtc": ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc"),
    "nvcc": ("nvidia-cuda-nvcc", "nvidia-cuda-nvcc"),
    "runtime": ("nvidia-cuda-runtime", "nvidia-cuda-runtime"),
    "nvfatbin": ("nvidia-nvfatbin", "nvidia-nvfatbin"),
    "nvvm": (None, "nvidia-nvvm"),
    "crt": (None, "nvidia-cuda-crt"),
    "cuobjdump": (None, "nvidia-cuda-cuobjdump"),
    "cccl": (None, "nvidia-cuda-cccl"),
}
# Packages that are numbered by themselves.
OTHER_PACKAGES = {"nvshmem": "nvidia-nvshmem-cu13", "cuvs": "libcuvs-cu13", "cudf": "libcudf-cu13"}


class FetchError(Exception):
    """Says in one sentence why a wheel could not be had."""


def package_name(short, version):
    if short in OTHER_PACKAGES:
        return OTHER_PACKAGES[short]
    major = version.split(".")[0]
    if short not in PACKAGES:
        raise FetchError("unknown package '%s'; known: %s" % (short, ", ".join(sorted([*PACKAGES, *OTHER_PACKAGES]))))
    if not major.isdigit() or int(major) < 12:
        raise FetchError("%s==%s: the version has to start with 12 or a later CUDA release" % (short, version))
    before_13, since_13 = PACKAGES[short]
    name = since_13 if int(major) >= 13 else before_13 and before_13 + "-cu" + major
    if not name:
        raise FetchError("%s has no package of its own before CUDA 13; use nvcc" % short)
    return name


def download(requirement, folder, platform):
    """Downloads one wheel into the folder and returns its path. The platform is this machine's unless one is given."""
    pip = [sys.executable, "-m", "pip"]
    if subprocess.run(pip + ["--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise FetchError("%s has no pip: install the system's python3-pip package or run '%s -m ensurepip --user'"
                         % (sys.executable, sys.executable))
    command = pip + ["--disable-pip-version-check", "--no-input", "download", "--quiet", "--progress-bar", "off",
                     "--no-deps", "--only-binary=:all:", "--dest", str(folder), requirement]
    if platform:
        command += ["--platform", platform]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()
        raise FetchError("pip could not download %s: %s" % (requirement, lines[-1] if lines else "it gave no reason"))
    return wheels[0]


def unpack(wheel, folder):
    """Unpacks a wheel with the file modes it records, which zipfile alone would drop."""
    with zipfile.ZipFile(str(wheel)) as archive:
        for entry in archive.infolist():
            path = archive.extract(entry, str(folder))
            mode = entry.external_attr >> 16 & 0o777
            if mode and not entry.is_dir():
                os.chmod(path, mode | 0o600)


def fetch(short, version):
    """Returns the folder of the unpacked wheel, downloading it if it is not there yet."""
    package, windows, _ = short.partition("-windows")
    requirement = "%s==%s" % (package_name(package, version), version)
    folder = CACHE / ("%s-%s" % (short, version))
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    # Everything happens in a sibling folder, so that a stopped or a parallel run leaves no half of one behind.
    work = Path(tempfile.mkdtemp(prefix=".%s-" % folder.name, dir=str(CACHE)))
    try:
        fresh = work / "unpacked"
        unpack(download(requirement, work, windows and "win_amd64"), fresh)
        try:
            fresh.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(str(work), ignore_errors=True)
    return folder


def library(version):
    """Returns the path of the libnvJitLink.so.* of that version."""
    folder = fetch("nvjitlink", version)
    found = sorted(folder.glob("nvidia/*/lib/libnvJitLink.so.*"))
    if not found:
        raise FetchError("%s holds no libnvJitLink.so" % folder)
    return found[0]


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    for argument in arguments:
        short, separator, version = argument.partition("==")
        if not separator or not version:
            print("fetch.py: '%s' is not PACKAGE==VERSION" % argument, file=sys.stderr)
            return 2
        try:
            print(library(version) if short == "nvjitlink" else fetch(short, version), flush=True)
        except (FetchError, OSError, zipfile.BadZipFile) as error:
            print("fetch.py: %s" % error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
