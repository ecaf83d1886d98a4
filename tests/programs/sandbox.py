#!/usr/bin/env -S python3 -IS
"""sandbox WDRUN: what a sandbox that refuses pidfds and sendto(2) must not break.
Prints "fine" at the end; "forbid" makes the sandbox."""
import os
import signal
import socket
import subprocess
import sys
import time

wdrun = sys.argv[1]


def run(*words):
    return subprocess.run([wdrun, *words], stdout=subprocess.PIPE, text=True)


def check(what, value):
    if not value:
        sys.exit(f'sandbox: {what}')


def until(condition):
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def is_gone(pid):
    try:
        return open(f'/proc/{pid}/stat').read().rpartition(')')[2].split()[0] in 'XZ'
    except OSError:
        return True


reader, writer = socket.socketpair()
subprocess.run([wdrun, '-i', '60', 'echo', 'carried'], stdout=writer, check=True)
check('the output is lost', reader.recv(99) == b'carried\n')

stop = run('-t', '1', '-k', 'never', 'sh', '-c', 'setsid sigcount & wait')
check('a process in another session got no signal', 'got 15' in stop.stdout)

with open('lock', 'w') as lock:
    dead = subprocess.Popen(['true'])
    dead.wait()
    print(dead.pid, file=lock)
os.utime('lock', (1, 1))
check("a dead script's lock is held", run('-q', '--lock=lock', 'true').returncode == 0)

recorded = ['--registry=runs', '--name=job']
job = subprocess.Popen([wdrun, '-q', *recorded, 'sleep', '1000'])
check('the run is not on record',
      until(lambda: 'job' in run('--registry=runs', '--list', '--json').stdout))
check('--cancel fails', run('-q', '--registry=runs', '--cancel=job').returncode == 0)
job.wait()

job = subprocess.Popen([wdrun, '-q', *recorded, 'sh', '-c', 'echo $PPID; setsid sleep 1000 & echo $!; wait'],
                       stdout=subprocess.PIPE, text=True)
supervisor, left = int(job.stdout.readline()), int(job.stdout.readline())
os.kill(supervisor, signal.SIGSTOP)
job.kill()
os.kill(supervisor, signal.SIGKILL)
job.wait()
check('the supervisor lives', until(lambda: is_gone(supervisor))) # it holds the entry
began = time.monotonic()
check('--reap fails', run('-q', '--registry=runs', '--reap').returncode == 0)
check('--reap leaves a process', until(lambda: is_gone(left)))
check('--reap waits for nothing', time.monotonic() - began < 15)

if run('landlock', 'true').returncode == 0: # from Linux 5.13 on
    os.environ.pop('WDRUN_REGISTRY', None) # which needs a /proc
    stop = subprocess.run(['landlock', wdrun, '-t', '1', '-k', '1ms', 'escape', 'stubborn'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check('a closed /proc changes the status', stop.returncode == 124)
    check('a closed /proc is not told', '/proc' in stop.stderr)
    check("the command's group lives", is_gone(int(stop.stdout.split()[1])))
print('fine')
