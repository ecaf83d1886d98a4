#!/usr/bin/env python3
"""block KIND: prints `ready PID` and blocks until it is killed, in the way of KIND."""
import ctypes
import fcntl
import os
import select
import signal
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


def start_thread(function=idle):
    thread = threading.Thread(target=function)
    thread.start()
    return thread


signal.alarm(900)  # LIFE_SECONDS of bounded.h
print('ready', os.getpid(), flush=True)
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
elif kind == 'signal':
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.sigwait([signal.SIGUSR1])
elif kind == 'vfork':  # its parent is in state D until the child executes or ends
    if libc.vfork() == 0:
        idle()
elif kind == 'secret':  # only a tracer with CAP_SYS_PTRACE can look at it
    libc.prctl(PR_SET_DUMPABLE, 0)
    os.read(reader, 1)
elif kind == 'futex':
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
elif kind == 'threads':
    threads = [start_thread() for _ in range(4)]
    threads[0].join()
elif kind == 'busy':  # one of two threads computes
    start_thread(compute)
    time.sleep(1000)
elif kind == 'leaderless':  # the main thread has exited, and another one is left
    start_thread()
    libc.pthread_exit(None)
idle()
