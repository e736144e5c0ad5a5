"""Confine a thread with Landlock, which Linux has since 5.13.

The thread, and all threads that it starts later, can no longer create, change or remove a file outside the
given folders and files, start a program or open a TCP connection. Open files stay open, and other threads of
the process are not affected.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Iterable
from pathlib import Path

# Numbers of the kernel's interface (linux/landlock.h). The calls have the same numbers on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1 << 0
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _TRUNCATE = 1 << 0, 1 << 1, 1 << 14
# Remove a folder or a file; create a device, folder, file, socket, FIFO, block device or symbolic link.
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
_MOVE_BETWEEN_FOLDERS = 1 << 13
_TCP_BIND_AND_CONNECT = 0b11


class _Ruleset(ctypes.Structure):
    _fields_ = (("filesystem", ctypes.c_uint64), ("network", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def confine_thread(paths: Iterable[Path]) -> None:
    """Restrict this thread, and threads that it starts, to write only in some folders and to some files.

    This cannot be undone. Does nothing if the kernel lacks Landlock.
    """
    abi = version()
    if abi < 1:
        return
    rights = _EXECUTE | _WRITE_FILE | _CHANGE_FOLDER
    rights |= (_MOVE_BETWEEN_FOLDERS if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    rules = _Ruleset(rights, _TCP_BIND_AND_CONNECT if abi >= 4 else 0)
    # Older kernels have a shorter structure.
    size = ctypes.sizeof(rules) if abi >= 4 else ctypes.sizeof(ctypes.c_uint64)
    ruleset = _check_result(_libc().syscall(_CREATE_RULESET, ctypes.byref(rules), size, 0))
    try:
        for path in paths:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                allowed = rights & ~_EXECUTE if path.is_dir() else rights & (_WRITE_FILE | _TRUNCATE)
                _allow(ruleset, parent, allowed)
            finally:
                os.close(parent)
        _check_result(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _check_result(_libc().syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def version() -> int:
    """The version of Landlock; 0 or less if the kernel lacks it or has it disabled."""
    if sys.platform != "linux":
        return 0
    return int(_libc().syscall(_CREATE_RULESET, None, 0, _VERSION))


def _allow(ruleset: int, file: int, rights: int) -> None:
    rule = _PathBeneath(rights, file)
    _check_result(_libc().syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check_result(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock: {errno.errorcode.get(number, number)}")
    return result
