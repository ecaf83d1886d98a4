#!/usr/bin/env python3
"""soak.py [-n RUNS] [-p AT_ONCE] [-s SEED]: many runs of $WDRUN at once, and
SIGKILL at random moments.

First the storms, each alone: a crowd of 1,000, chains of processes that run
away, and their like; each is stopped by a timeout or SIGTERM, or its front,
its supervisor or both get SIGKILL. Then 50 runs want one lock. Then RUNS runs,
AT_ONCE side by side: bare, with output carried, with a terminal, or with a
lock, cleanup and an entry in a registry for all. SIGKILL, SIGTERM and the
command's exit come at moments that SEED makes.

After each of these nothing may be left: no process, lock, file or entry; where
both watchers were killed, after --reap. Each status has to be true. All
processes of a run become children of this process sooner or later: others on
this machine are not looked at. Prints what it finds, and exits with 1 if there
was a finding.
"""
import argparse, os, random, re, signal, sys, time

from trial import (BOUND, FAILED, HUNG_UP, KILLED, children_of, comes_true,
                   enter_new_directory, have_reaped, lock_is_free, names_in,
                   prepare, read, start, stat_of)

RIVALS = 50     # for one lock
LONG = 0.12     # seconds: moments of the kill, in most runs,
SHORT = 0.006   # and in those killed at the start
SOON = 0.03     # when a run ends, or gets SIGTERM
NEVER = float('inf')
FINDINGS_TOLD = 50
TERMINATED = -signal.SIGTERM
FRONT, SUPERVISOR, BOTH = 'front', 'supervisor', 'both'

# {0} is the number of the run, {1} when and how it ends.
BOUNDS = '--quiet --kill-after=20ms --idle-after-exit=10ms '
REGISTERED = BOUNDS + '--name=soak --registry=R --lock=L{0} --cleanup=C{0} ' \
    '--cleanup=D{0} @act lock=C{0} dir=D{0} session daemon {1}'
KINDS = (BOUNDS + '@act {1}',
         BOUNDS + '--idle-timeout=60 --tee=T{0} @act say=x {1}',
         BOUNDS + '--pty @act say=x session {1}',
         REGISTERED)

STORMS = [('crowd 1000', '', '', TERMINATED),
          ('crowd 1000', '', BOTH, KILLED),
          ('storm 1000', '', BOTH, KILLED)]
for program in 'crowd 1000', 'storm 1000', 'chain', 'hydra 10 1000':
    STORMS += [(program, '--timeout=1', '', 124),
               (program, '', FRONT, KILLED),
               (program, '', SUPERVISOR, KILLED)]

findings = killed = 0


def find(what):
    global findings
    findings += 1
    if findings <= FINDINGS_TOLD:
        print('found:', what, flush=True)


class Run:
    """A run. VICTIM is killed at MOMENT, SIGTERM comes at the moment TERM, and
    STATUS is what the run has to have."""

    def __init__(self, words, status, victim=None, moment=NEVER, term=NEVER):
        self.words, self.status, self.victim = words, status, victim
        self.moment, self.term = moment, term
        self.ended_by = None # this status
        self.front = start(words)

    def supervisor(self):
        """The child of the front that leads a session of its own."""
        for pid in children_of(self.front):
            if stat_of(pid).session == pid:
                return pid
        raise ProcessLookupError

    def kill(self):
        """The front was not waited for, so that its PID is its own. A
        supervisor that is held by a pidfd, and is the front's child, is the
        right process."""
        if self.victim != FRONT:
            pid = self.supervisor()
            pidfd = os.pidfd_open(pid)
            if self.victim == BOTH:
                os.kill(self.front, signal.SIGSTOP)
            if stat_of(pid).parent == self.front:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)
        if self.victim != SUPERVISOR:
            os.kill(self.front, signal.SIGKILL)
        # As long as it is not quite dead, --reap takes its run for alive.
        if self.victim != FRONT:
            comes_true(lambda: stat_of(pid).state in 'ZX')

    def attend(self):
        """Does what is due; a supervisor that is not there yet is killed
        later."""
        global killed
        if self.term <= time.monotonic():
            self.term = NEVER
            os.kill(self.front, signal.SIGTERM)
        if self.moment <= time.monotonic():
            try:
                self.kill()
                self.moment = NEVER
                killed += 1
            except ProcessLookupError:
                pass

    def check_status(self):
        allowed = [self.status]
        # Not each command gets the processor to die of SIGTERM in time.
        if self.victim or self.status == TERMINATED:
            allowed += [KILLED]
        # Whose supervisor leads the session of its terminal, gets SIGHUP then.
        if self.victim == SUPERVISOR:
            allowed += [FAILED] + [HUNG_UP] * ('--pty' in self.words)
        if self.ended_by not in allowed:
            find(f'status {self.ended_by}, not {self.status}, victim '
                 f'{self.victim}: {self.words}')


def nobody_is_left(runs):
    """Reaps the dead children. Returns whether this process has no child."""
    try:
        while (found := os.waitpid(-1, os.WNOHANG)) != (0, 0):
            for run in runs:
                if run.front == found[0]:
                    run.front = None
                    run.ended_by = os.waitstatus_to_exitcode(found[1])
        return False
    except ChildProcessError:
        return True


def have_ended(runs):
    nobody_is_left(runs)
    left = [run for run in runs if run.front]
    for run in left:
        run.attend()
    return not left


def check_file(runs, name):
    """The lock file of a killed front may be left, and nobody holds it. A copy
    of the output is not wdrun's to remove."""
    number = re.fullmatch(r'L(\d*)', name)
    if number and runs[int(number[1] or 0)].victim in (FRONT, BOTH):
        if not lock_is_free(name):
            find(f"'{name}' is held")
    elif not re.fullmatch(r'out|err|R|T\d+|stop-chain|\..*', name):
        find(f"'{name}' is left")


def check_end(what, runs):
    """Waits for all runs. Each status has to be true, all processes end by
    themselves, and nothing is left."""
    if not comes_true(lambda: have_ended(runs)):
        find(f'{what}: a run does not end')
    if BOTH in (run.victim for run in runs):
        if not have_reaped('--quiet --registry=R'):
            find(f'{what}: --reap does not end well')
    for run in runs:
        run.check_status()
    bound = BOUND
    while not comes_true(lambda: nobody_is_left(runs), bound):
        bound = 0.1
        pids = children_of(os.getpid())
        if pids:
            find(f'{what}: {len(pids)} processes are left, one is {pids[0]} '
                 f'{stat_of(pids[0]).name}')
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        open('stop-chain', 'w').close()
    for directory in '.', 'R':
        for name in names_in(directory):
            check_file(runs, name)


def have_storm(program, options, victim, status):
    run = Run('--quiet --name=storm --registry=R --kill-after=100ms '
              f'{options} @{program}', status, victim)
    comes_true(lambda: nobody_is_left([run]) or 'ready ' in read('out'))
    if victim:
        run.moment = 0
    elif status == TERMINATED:
        run.term = 0
    check_end(program, [run])


def random_run(number):
    now, victim, sleep = time.monotonic(), None, random.uniform(0, SOON)
    code, term, words = random.randrange(100), NEVER, random.choice(KINDS)
    status = code
    if random.randrange(3) == 0:
        victim = random.choice([FRONT, SUPERVISOR, BOTH])
    # Without an entry no process could find what both watchers left.
    if victim == BOTH:
        words = REGISTERED
    ending = random.randrange(4)
    if ending == 0:
        status, term = TERMINATED, now + sleep
    if ending == 0 or ending == 1 and victim:
        sleep = 1000
    moment = now + random.uniform(0, random.choice([SHORT, LONG, LONG]))
    ending = f'sleep={int(sleep * 1000)} exit={code}'
    return Run(words.format(number, ending), status, victim,
               moment if victim else NEVER, term)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-n', type=int, default=1000)
    parser.add_argument('-p', type=int, default=100)
    parser.add_argument('-s', type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.s)
    os.closerange(3, 1000) # what the caller has left open is no leak
    prepare()
    for storm in STORMS:
        enter_new_directory()
        have_storm(*storm)
    enter_new_directory()
    # Whoever has the lock makes a directory, and removes it: two cannot.
    check_end('one lock', [Run('--quiet --lock=L --lock-wait=60 --cleanup=D '
                               '@act dir=D sleep=1 exit=0', 0)
                           for _ in range(RIVALS)])
    for done in range(0, arguments.n, arguments.p):
        enter_new_directory()
        check_end('wave', [random_run(i) for i in range(
            min(arguments.p, arguments.n - done))])
    print(f'soak: seed {arguments.s}: {len(STORMS)} storms, {RIVALS} for one '
          f'lock, {arguments.n} runs, {killed} killed: {findings} findings')
    return findings > 0


sys.exit(main())
