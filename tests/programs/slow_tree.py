#!/usr/bin/env -S python3 -IS
"""slow_tree: runs $WDRUN around a command that SIGKILL does not end for 16 seconds,
because it writes to a file system that is frozen, and that has 100 children in
sessions of their own. Each read(2) of the supervisor takes 0.4 seconds, as beside
2,000 busy processes: it gets no further than to the list of those children. Prints
the status of the run, and how many of the children are alive then.

Needs a mount namespace of its own. Prints `skip` where something is missing."""
import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import time

FIFREEZE, FITHAW = 0xC0045877, 0xC0045878  # ioctl_fs(2)
FROZEN = 16  # seconds, more than a storm of newcomers and LAST_BOUND of tree.c take
CHILDREN = 100


def be_command():
    for _ in range(CHILDREN):
        if os.fork() == 0:
            os.setsid()
            signal.pause()
    os.setxattr('mnt', 'user.a', b'')


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            sys.exit('slow_tree: waited for too long')
        time.sleep(0.01)


def read(pid, file):
    return pathlib.Path(f'/proc/{pid}/{file}').read_text(encoding='ascii')


def child_of(pid):
    children = []
    wait_until(lambda: children.extend(read(pid, f'task/{pid}/children').split()) or children)
    return children[0]


def main():
    os.mkdir('mnt')
    pathlib.Path('image').write_bytes(bytes(16 << 20))
    for words in ['mkfs.ext4', '-q', 'image'], ['mount', '-o', 'loop', 'image', 'mnt'], \
            ['strace', '-qq', '-e', 'trace=none', 'true']:
        try:
            subprocess.run(words, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print('skip', error)
            return
    directory = os.open('mnt', os.O_RDONLY)
    fcntl.ioctl(directory, FIFREEZE, 0)
    try:
        run = subprocess.Popen([os.environ['WDRUN'], '-q', '-k', '100ms', sys.executable,
                                __file__, 'command'])
        supervisor = child_of(run.pid)
        command = child_of(supervisor)
        wait_until(lambda: read(command, 'stat').rpartition(')')[2].split()[0] == 'D')
        children = read(command, f'task/{command}/children').split()
        with subprocess.Popen(['strace', '-qq', '-o', 'trace', '-p', supervisor,
                               '-e', 'inject=read:delay_enter=400000']):
            wait_until(lambda: 'TracerPid:\t0\n' not in read(supervisor, 'status'))
            run.terminate()
            time.sleep(FROZEN)
            fcntl.ioctl(directory, FITHAW, 0)
            status = run.wait()
    finally:
        with contextlib.suppress(OSError):  # it is thawed
            fcntl.ioctl(directory, FITHAW, 0)
    print(status, sum(os.path.exists(f'/proc/{child}') for child in children))
    for child in children:
        if os.path.exists(f'/proc/{child}'):
            os.kill(int(child), signal.SIGKILL)


if sys.argv[1:]:
    be_command()
else:
    main()
