#!/usr/bin/env -S python3 -IS
"""hung_fs DIRECTORY: mounts a file system there that has one file, `file`, and prints
`ready PID`. After SIGUSR1 it prints `hung` and answers no request, like a network file
system whose server is gone. The file system ends with the process, and each waiting
process then gets an error.

It speaks the protocol of FUSE itself, so that no package is needed: linux/fuse.h.
"""
import contextlib
import ctypes
import errno
import os
import select
import signal
import struct
import sys

HANG_SECONDS = 300  # more than PATIENCE in helper.bash
FILE_NODE = 2
FILE_SIZE = 4096
REQUEST_SIZE = 200000  # the kernel requires a buffer for a whole write
LOOKUP, GETATTR, OPEN, READ, RELEASE, INIT, OPENDIR, RELEASEDIR = 1, 3, 14, 15, 18, 26, 27, 29
FORGETS = 2, 42  # requests without an answer


def attributes(node):
    mode, size = (0o100666, FILE_SIZE) if node == FILE_NODE else (0o40755, 0)
    return struct.pack('6Q10I', node, size, *[0] * 7, mode, 1, 0, 0, 0, FILE_SIZE, 0)


def answer(opcode, node, argument):
    """Returns what is answered, or None: there is no such call."""
    if opcode == INIT:  # 7.31 is the first version with these structs
        return struct.pack('4I2HI40x', 7, 31, 0, 0, 0, 0, FILE_SIZE)
    if opcode == LOOKUP and argument == b'file\0':
        return struct.pack('2Q24x', FILE_NODE, 0) + attributes(FILE_NODE)
    return {GETATTR: bytes(16) + attributes(node), OPEN: bytes(16), OPENDIR: bytes(16),
            READ: bytes(FILE_SIZE), RELEASE: b'', RELEASEDIR: b''}.get(opcode)


def hang(*_):
    print('hung', flush=True)
    while True:
        signal.pause()


# Each process that is stuck in the file system's files lasts as long.
signal.alarm(HANG_SECONDS)
signal.signal(signal.SIGUSR1, hang)
fuse = os.open('/dev/fuse', os.O_RDWR)
options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other'
if ctypes.CDLL(None).mount(b'hung_fs', sys.argv[1].encode(), b'fuse', 0, options.encode()):
    sys.exit('hung_fs: mount')
# A signal just before a read(2) would be handled only after the next request.
woken, wake = os.pipe()
os.set_blocking(wake, False)
signal.set_wakeup_fd(wake)
print('ready', os.getpid(), flush=True)
while True:
    select.select([fuse, woken], [], [])
    with contextlib.suppress(FileNotFoundError):  # the request was interrupted meanwhile
        request = os.read(fuse, REQUEST_SIZE)
        _, opcode, unique, node = struct.unpack_from('2I2Q', request)
        data = answer(opcode, node, request[40:])
        error = 0 if data is not None else -errno.ENOENT if opcode == LOOKUP else -errno.ENOSYS
        if opcode not in FORGETS:
            os.write(fuse, struct.pack('IiQ', 16 + len(data or b''), error, unique) + (data or b''))
