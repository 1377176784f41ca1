"""Asks a raw nvJitLink many questions, each in a child process of its own.

usage: raw_answers.py LIBRARY < QUESTIONS

A question is a line: options separated by blanks, and perhaps "| PTX-FILE" to link. An answer is a line: ok, or the call that
failed and its code, or "died".
"""
import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])


def call(name, *values):
    plain = getattr(library, "nvJitLink" + name, None)
    suffixed = ("__nvJitLink%s_12_%d" % (name, minor) for minor in (2, 1, 0))
    function = plain or next(getattr(library, s) for s in suffixed if hasattr(library, s))
    code = function(*values)
    return "%s %d" % (name, code) if code else None


def answer(options, file):
    handle = ctypes.c_void_p()
    failed = call("Create", ctypes.byref(handle), len(options), (ctypes.c_char_p * len(options))(*options))
    if failed or not file:
        return failed or "ok"
    data = open(file, "rb").read() + b"\0"
    return call("AddData", handle, 2, data, ctypes.c_size_t(len(data)), b"input") or call("Complete", handle) or "ok"


for line in sys.stdin:
    options, _, file = line.strip().partition("|")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.write(writer, answer([option.encode() for option in options.split()], file.strip()).encode())
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    text = os.read(reader, 100).decode()
    os.close(reader)
    print(text if status == 0 and text else "died", flush=True)
