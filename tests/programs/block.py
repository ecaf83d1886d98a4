#!/usr/bin/env -S python3 -IS
"""block KIND: prints `ready PID` and blocks until it is killed, in the way of KIND."""
import ctypes
import fcntl
import multiprocessing
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time

PR_SET_DUMPABLE = 4
libc = ctypes.CDLL(None)
kind = sys.argv[1]
reader, writer = os.pipe()


def idle():
    signal.alarm(900)  # LIFE_SECONDS of bounded.h
    while True:
        signal.pause()


def compute():
    while True:
        pass


def start_thread(function=idle, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    return thread


def fork_idle():
    child = os.fork()
    if child == 0:
        idle()
    return child


def fork_large():
    """Forks a child that has 150 MiB, and waits until it has them."""
    ends = os.pipe()
    if os.fork() == 0:
        block = b'x' * (150 << 20)
        os.close(ends[1])
        idle()
    os.close(ends[1])
    os.read(ends[0], 1)


def poll(fd, timeout=-1, events=select.POLLIN):
    libc.poll(struct.pack('ihhihh', fd, events, 0, fd, events, 0), 2, timeout)


def connection():
    listener = socket.create_server(('127.0.0.1', 0))
    client = socket.create_connection(listener.getsockname())
    return client, listener.accept()[0]


def stop_once(pid):
    """Stops a process that sleeps, and lets it go on when it is stopped."""
    for state, signal_number in ('S', signal.SIGSTOP), ('T', signal.SIGCONT):
        while open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] != state:
            time.sleep(0.01)
        os.kill(pid, signal_number)


def say_ready():
    print('ready', os.getpid(), flush=True)


signal.alarm(900)  # LIFE_SECONDS of bounded.h
if kind == 'large':
    fork_large()
elif kind == 'secret':  # only a tracer with CAP_SYS_PTRACE can look at it
    libc.prctl(PR_SET_DUMPABLE, 0)
elif kind == 'descriptors':  # and a child that reads
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept = [os.open('/dev/null', os.O_RDONLY) for _ in range(min(hard, 20000) - 100)]
    ends = os.pipe()
    if os.fork() == 0:
        os.read(ends[0], 1)
with_threads = kind in (
    'query', 'server', 'watch', 'orders', 'plumbing', 'two', 'unshared', 'main', 'limit')
if not with_threads:  # else when the threads have been started, which takes time
    say_ready()
if kind in ('poll', 'select', 'epoll'):  # another process keeps the other end
    if os.fork() == 0:
        idle()
    os.close(writer)
if kind == 'poll':
    polled = struct.pack('ihhihh', -1, select.POLLIN, 0, reader, select.POLLIN, 0)
    libc.poll(polled, 2, -1)
elif kind == 'select':
    select.select([reader], [], [])
elif kind == 'epoll':
    poll = select.epoll()
    poll.register(reader, select.EPOLLIN)
    poll.poll()
elif kind == 'own':  # both ends of the pipe are its own
    libc.poll(struct.pack('ihh', reader, select.POLLIN, 0), 1, -1)
elif kind == 'go':  # its runtime catches every signal, and waits for no child by SIGCHLD
    for number in signal.SIGCHLD, signal.SIGURG:
        signal.signal(number, lambda *_: None)
    fork_idle()
elif kind == 'timerfd':  # an event loop on a timer
    timer = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
    libc.timerfd_settime(timer, 0, struct.pack('4q', 0, 0, 1000, 0), None)
    poll = select.epoll()
    poll.register(timer, select.EPOLLIN)
    poll.register(reader, select.EPOLLIN)
    poll.poll()
elif kind == 'keys':  # as vim(1), whose timers have a thread: the set is not on the stack
    start_thread()
    libc.select(1, ctypes.create_string_buffer(b'\1', 128), None, None, None)
elif kind == 'record':  # the second process that does so waits
    record = open('record', 'w')
    fcntl.lockf(record, fcntl.LOCK_EX)
elif kind == 'ofd':  # so does the second of these, for F_OFD_SETLKW
    record = open('ofd', 'w')
    fcntl.fcntl(record, 38, struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
elif kind == 'signal':
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.sigwait([signal.SIGUSR1])
elif kind == 'vfork':  # its parent is in state D until the child executes or ends
    if libc.vfork() == 0:
        idle()
elif kind == 'secret':
    os.read(reader, 1)
elif kind == 'futex':
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
elif kind == 'handler':  # as fish(1): the handler of SIGCHLD releases the lock
    signal.signal(signal.SIGCHLD, lambda *_: lock.release())
    lock = threading.Lock()
    lock.acquire()
    fork_idle()
    lock.acquire()
elif kind == 'threads':
    threads = [start_thread() for _ in range(4)]
    threads[0].join()
elif kind == 'query':  # as curl(1), whose resolver has a thread; and as Gradle's daemon
    listener, query = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in '12')
    listener.bind(('127.0.0.1', 0))
    start_thread(listener.recv, 1)
    query.connect(('127.0.0.1', 53))
    start_thread(poll, query.fileno())
    say_ready()
    while True:
        poll(reader, 1000)
elif kind == 'server':  # a thread waits for clients, the main one for an answer
    client, _ = connection()
    server = socket.create_server(('127.0.0.1', 0))
    start_thread(poll, server.fileno())
    loop = select.epoll()
    loop.register(client, select.EPOLLIN)
    say_ready()
    loop.poll()
elif kind == 'watch':  # as an agent, which also watches files, a helper and its keys
    helper = fork_idle()
    client, _ = connection()
    start_thread(os.read, libc.inotify_init(), 4096)
    start_thread(os.waitid, os.P_PID, helper, os.WEXITED)
    start_thread(poll, client.fileno())
    say_ready()
    os.read(os.openpty()[1], 1)
elif kind == 'orders':  # a worker of pytest-xdist, whose parent has the pipe's other end
    orders = os.fork()
    if orders != 0:
        os.close(reader)
        os.wait()
    os.close(writer)
    start_thread(os.read, reader, 1)
    say_ready()
    time.sleep(1000)
elif kind == 'plumbing':  # as codex: each loop wakes up for a timer of its own
    def run_loop(fd, tick):
        timer = libc.timerfd_create(time.CLOCK_MONOTONIC, 0)
        libc.timerfd_settime(timer, 0, struct.pack('4q', 0, tick, 0, tick), None)
        loop = select.epoll()
        loop.register(timer, select.EPOLLIN)
        loop.register(fd, select.EPOLLIN)
        end = time.monotonic() + 1000
        while loop.poll(end - time.monotonic()):
            os.read(timer, 8)
    ends = connection()
    for tick in 3000000, 100000000, 130000000, 170000000:  # the first is seen first
        start_thread(run_loop, ends[0].fileno(), tick)
elif kind == 'two':  # two threads wait for two children
    for child in fork_idle(), fork_idle():
        start_thread(os.waitid, os.P_PID, child, os.WEXITED)
elif kind == 'shared':  # processes may share it
    lock = multiprocessing.Lock()
    lock.acquire()
    lock.acquire()
elif kind == 'splice':
    libc.splice(reader, None, os.pipe()[1], None, 1, 0)
elif kind == 'queue':
    # PID namespaces have /dev/mqueue in common.
    name = f'/wdrun-{os.getpid()}-{time.monotonic_ns()}'.encode()
    queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, None)
    libc.mq_unlink(name)
    libc.mq_receive(queue, ctypes.create_string_buffer(65536), 65536, None)
elif kind == 'pidfd':
    poll(os.pidfd_open(fork_idle()))
elif kind == 'full':  # the peer takes nothing
    client, peer = connection()
    client.setblocking(False)
    try:
        while client.send(bytes(65536)):
            pass
    except BlockingIOError:
        poll(client.fileno(), events=select.POLLOUT)
elif kind == 'disarmed':  # of two connections, one is spent
    (one, peer), (two, _) = connections = connection(), connection()
    os.dup2(one.fileno(), 50)
    os.dup2(two.fileno(), 60)
    peer.send(b'x')
    loop = select.epoll()
    loop.register(50, select.EPOLLIN | select.EPOLLONESHOT)
    loop.poll()
    loop.register(60, select.EPOLLIN)
    loop.poll()
elif kind == 'crowd':  # as a headless browser: of many ends, the sixth leads out of the tree
    pairs = [socket.socketpair() for _ in range(12)]
    server = socket.create_server(('127.0.0.1', 0))
    client = socket.create_connection(server.getsockname())  # not accepted
    fork_idle()
    for _, theirs in pairs:
        theirs.close()
    fds = [ours.fileno() for ours, _ in pairs]
    fds.insert(5, client.fileno())
    polled = b''.join(struct.pack('ihh', fd, select.POLLIN, 0) for fd in fds)
    libc.poll(polled, len(fds), -1)
elif kind == 'peer':  # who has the other end of a connection
    client, peer = connection()
    fork_idle()
    peer.close()
    client.recv(1)
elif kind == 'fifo':
    os.mkfifo('answers')
    if os.fork() == 0:
        os.open('answers', os.O_WRONLY)
        idle()
    os.read(os.open('answers', os.O_RDONLY), 1)
elif kind == 'unshared':  # a thread with a table of descriptors of its own
    def read_own():
        libc.unshare(0x400)  # CLONE_FILES
        os.dup2(os.pipe()[0], 50)
        os.read(50, 1)
    os.dup2(os.open('/dev/null', os.O_RDONLY), 50)
    start_thread(read_own)
elif kind == 'stopped':  # it was stopped in poll(2), and goes on
    client, _ = connection()
    child = os.fork()
    if child == 0:
        poll(client.fileno(), 900000)
    stop_once(child)
    os.wait()
elif kind == 'bytes':  # the first byte is its own, the second another process's
    record, other = open('bytes', 'w'), open('bytes', 'w')
    fcntl.lockf(record, fcntl.LOCK_EX, 1, 0)
    if os.fork() == 0:  # an open file description lock: both have its file open
        lock = struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 1, 1, 0)
        fcntl.fcntl(other, 37, lock)  # F_OFD_SETLK
        open('locked', 'w').close()
        idle()
    while not os.path.exists('locked'):
        time.sleep(0.01)
    fcntl.lockf(record, fcntl.LOCK_EX, 1, 1)
elif kind == 'limit':  # of two threads that wait for a lock, one has a limit; a third ticks
    lock = threading.Lock()
    lock.acquire()
    start_thread(lock.acquire)
    start_thread(time.sleep, 1000)
    say_ready()
    lock.acquire(timeout=1000)
elif kind == 'busy':  # one of two threads computes
    start_thread(compute)
    time.sleep(1000)
elif kind == 'main':  # the main thread computes
    start_thread(time.sleep, 1000)
    say_ready()
    compute()
elif kind == 'leaderless':  # the main thread has exited, and another one is left
    start_thread()
    libc.pthread_exit(None)
if with_threads:
    say_ready()
idle()
