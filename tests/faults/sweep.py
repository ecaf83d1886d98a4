#!/usr/bin/env python3
"""sweep.py [-m TEXT] [-v]: has each system call of $WDRUN fail once, and kills
front and supervisor with SIGKILL at each of their calls, one or both, in six
runs. After each case nothing may be left, and the status has to be true.
Prints what it finds, and a table. Exits with 1 if there was a finding.

The calls are those of a few runs without a fault; of a call that a process
makes often, the first three and the last. They return their errors in turn.
SIGKILL comes where it matters: what a process did since its last call of which
others see anything, nobody misses. All cases are tried, none is drawn; but how
often a process makes a call depends a little on the scheduler, so one case in
a hundred comes and goes between runs, and some are not met: UNMET_MAX of a
hundred may be. -m tries the cases with TEXT in their name; -v shows these, one
after the other.
"""
import argparse, collections, concurrent.futures, fcntl, functools, itertools
import multiprocessing, operator, os, re, signal, sys, termios, time

from tracer import (AT_REST, FRONT, SUPERVISOR, TARGET, TOO_LATE, WHO, Trace)
from trial import (BOUND, FAILED, HUNG_UP, KILLED, comes_true,
                   enter_new_directory, have_reaped, lock_is_free, names_in,
                   prepare, read, stat_of)

RECORDINGS = 2     # some runs make more calls than others
FIRST, LAST = 3, 1 # calls of a kind that are tried
UNMET_MAX = 5      # of a hundred cases
FINDINGS_MAX = 20  # no more cases are tried after that many
AT_ONCE = 6        # for each processor
NOT_EXECUTED, LOCKED_OUT = 126, 75
STALE = '4194303\n' # a PID that is longer than that of any process here

# How a case went: the worst of it. Unmet: the run made no such call. True: the
# status that the run has without a fault. Killed: the status says that a
# process was. Told: something is left or lost, and a message says so.
VERDICTS = UNMET, TRUE, STATUS_125, STATUS_KILLED, TOLD, FOUND = range(6)

# The system calls that wdrun makes, whether others see their effect, or they
# wait for others, and the errors that fit: those of their manual pages that a
# correct program can get, from a machine without memory, descriptors,
# processes or disk space, from a broken disk or a network file system, and
# (EPERM of kill(2), prctl(2), setsid(2)) from a security module. A call
# without errors cannot fail, at least not in the way in which wdrun uses it.
# The kernel makes restart_syscall(2) itself.
CALLS = {call: (is_seen, errors.split()) for is_seen, errors, calls in (
    (False, '', 'arch_prctl clock_gettime exit geteuid getpgrp getpid getppid '
                'getpriority getrusage gettid getuid restart_syscall '
                'rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn '
                'sched_getaffinity sched_getscheduler set_tid_address umask uname'),
    (True, '', 'clock_nanosleep exit_group nanosleep sched_yield waitid'),
    (True, 'EAGAIN ENOMEM', 'clone fork rt_sigqueueinfo vfork'),
    (True, 'EINTR', 'poll ppoll rt_sigtimedwait wait4'),
    (True, 'EINTR EIO ENOMEM', 'ftruncate read readv splice'),
    (True, 'EINTR EIO ENOSPC', 'close pwrite64'),
    (True, 'EINTR EIO ENOSPC EAGAIN', 'write writev'),
    (True, 'EINTR ENOLCK', 'flock'),
    (False, 'EINTR EIO', 'fchdir fstatfs lseek pread64'),
    (False, 'EIO ENOMEM', 'access faccessat fstat getcwd getdents64 lstat '
                          'newfstatat readlink readlinkat stat statx'),
    (True, 'EIO ENOSPC', 'mkdir mkdirat rename renameat rmdir unlink'),
    (True, 'EIO ENOMEM', 'chdir unlinkat'),
    (True, 'EIO ENOTTY', 'ioctl'),
    (False, 'EIO ENOSPC', 'fdatasync fsync'),
    (True, 'EIO EPERM', 'fchmod utimensat'),
    (False, 'EMFILE ENFILE', 'dup pipe2'),
    (True, 'EMFILE EINTR', 'dup2 dup3'),
    (False, 'EMFILE EINTR ENOLCK', 'fcntl'),
    (False, 'EMFILE ENOMEM', 'inotify_init1 pidfd_open signalfd4'),
    (False, 'EMFILE ENOMEM EINTR EIO', 'open openat'),
    (False, 'ENOSYS EMFILE EIO', 'openat2'), # as in gVisor
    (False, 'ENOMEM ENOSPC', 'inotify_add_watch'),
    (False, 'ENOSYS', 'set_robust_list'), # as in qemu-user
    (False, 'ENOMEM', 'brk madvise mmap mprotect mremap munmap'),
    (True, 'ENOMEM', 'close_range tee'),
    (True, 'ENOMEM EIO EAGAIN', 'execve'),
    (False, 'EPERM', 'getpgid getsid prlimit64'),
    (True, 'EPERM', 'kill pidfd_send_signal prctl sched_setattr setpgid setsid '
                    'tgkill'),
) for call in calls.split()}

# A command line that is run with a fault, and what has to be true of it: the
# status, and one that it may have with an error; what its output has to
# contain. A run that waits for its lock gets it when it rests; the run
# "cancel" gets SIGTERM when its command is ready.
Scenario = collections.namedtuple(
    'Scenario', 'name words status other output has_terminal',
    defaults=(None, None, False))

# The six runs have between them what wdrun can do. LITTER is a file, a
# directory, a daemon and a process with a session of its own that ignores
# SIGTERM.
RECORDED = '--name=r --registry=R.dir '
OWNED = '--lock=L.lock --cleanup=C.file --cleanup=D.dir '
PATIENCE = '--kill-after=20ms --idle-after-exit=10ms '
LITTER = '@act lock=C.file dir=D.dir session daemon ready '
SCENARIOS = (
    Scenario('timeout', PATIENCE + '--timeout=100ms ' + LITTER + 'live', 124,
             has_terminal=True),
    Scenario('output', PATIENCE + '--until=dy --until-grace=20ms '
             '--idle-timeout=4 --heartbeat=5 --tee=T.file @act say=ready '
             'session live', 0, other=124, output='ready\n'),
    Scenario('pty', PATIENCE + '--pty @act say=shown session sleep=20 exit=7',
             7, output='shown', has_terminal=True),
    Scenario('lock', PATIENCE + OWNED + '--lock-wait=60 ' + LITTER +
             'sleep=20 exit=7', 7, output='ready '),
    Scenario('record', RECORDED + OWNED + '--report=J.file @act lock=C.file '
             'dir=D.dir say=done exit=3', 3, output='done\n'),
    Scenario('cancel', RECORDED + OWNED + PATIENCE + LITTER + 'live',
             -signal.SIGTERM, other=128 + signal.SIGTERM), # kill(2) has failed
)


class Case(collections.namedtuple(
        'Case', 'scenario who call count kind is_early said',
        defaults=(None, 0, None, False, 0))):
    """A fault, as of Trace, in a scenario. Early: before its command rests.
    SAID is how many lines of messages there are without the fault."""
    kills = property(lambda self: self.kind in ('KILL', 'BOTH'))
    fails = property(lambda self: self.kind is not None and not self.kills)
    name = property(lambda self: self.scenario.name if self.kind is None else
                    f'{self.scenario.name}:{self.who}:{self.call}#{self.count}:'
                    f'{self.kind}')


class Attempt(Trace):
    """A case, from the start until nothing of it is left, in a directory of
    its own. Prints the findings."""

    def __init__(self, case):
        self.case, self.words = case, case.scenario.words
        enter_new_directory()
        self.verdict = UNMET
        self.early = collections.Counter() # calls until its command rests
        self.has_rested = self.was_signalled = False
        self.lock = None # that is held before the run
        if '--lock-wait' in self.words:
            self.lock = open('L.lock', 'w')
            fcntl.flock(self.lock, fcntl.LOCK_EX)
        elif '--report' in self.words: # of a script that is dead
            with open('L.lock', 'w') as file:
                file.write(STALE)
            os.utime('L.lock', (1, 1))
        # Before the stop, a watcher that does not notice the other's death
        # would end the run all the same, a moment later: not with 1000 s.
        words = self.words
        if case.kills and case.is_early:
            words = words.replace('20ms', '1000', 1)
        super().__init__(case, words, case.scenario.has_terminal and
                         os.ttyname(SLAVE))
        self.run()
        output = read('out') + drain_terminal()
        self.check_lock()
        self.check_files()
        self.check_report()
        self.check_output(output)
        if '--tee' in self.words:
            self.check_output(read('T.file'))
        self.check_terminal()
        self.said = self.lines_said()
        if self.verdict < TOLD and case.kind is not None and not self.is_met:
            self.verdict = UNMET

    def conclude(self, verdict):
        self.verdict = max(self.verdict, verdict)

    def find(self, what):
        self.conclude(FOUND)
        print(f"found: '{self.case.name}': {what}; said:\n{read('err')}",
              end='', flush=True)

    def lines_said(self):
        """Without the rows of processes, "wdrun:   4711 sleep 1000 ...", of
        which there may be one more or less, and without the line about a grace
        that was over, as it may be on a slow machine."""
        return sum(not line.startswith(('wdrun:  ', 'wdrun: processes are still alive'))
                   for line in read('err').splitlines())

    def miss(self, what):
        """Something is not as it should be. That is a finding, unless an error
        did the harm and is told: there is a message more than without it."""
        if self.case.fails and self.lines_said() > self.case.said:
            self.conclude(TOLD)
        else:
            self.find(what)

    def run(self):
        deadline = time.monotonic() + BOUND
        while (progress := self.wait(False, deadline)) == AT_REST:
            self.attend_rest()
        self.release_lock()
        if progress == TOO_LATE:
            self.find('it does not end')
            self.end()
            return
        self.check_status()
        if self.outlivers and not (self.is_met and (
                self.case.kind == 'BOTH' or
                (self.case.kind, self.case.who) == ('KILL', FRONT))):
            self.find(f'{stat_of(self.outlivers[0]).name} outlived it')
        if self.no_watcher_was_left():
            self.check_without_watchers()
        if self.wait(True, time.monotonic() + BOUND) == TOO_LATE:
            self.find('processes are left')
            self.end()

    def attend_rest(self):
        """All of wdrun has waited for a moment."""
        self.release_lock()
        if not self.has_executed or self.status is not None:
            return
        if self.case.scenario.name == 'cancel' and not self.was_signalled and \
                'ready ' in read('out'):
            self.was_signalled = True
            os.kill(self.who[FRONT].pid, signal.SIGTERM)
        if not self.has_rested:
            self.early = self.counts()
        self.has_rested = True

    def release_lock(self):
        if self.lock is not None:
            self.lock.close()

    def can_fail(self):
        """Once its command runs, the supervisor, which blocks all signals, is
        to go on after an interrupted call."""
        return self.case.kind is not None and \
            (self.case.kind, self.case.who) != ('EINTR', SUPERVISOR)

    def is_hung_up(self):
        """A terminal is hung up: by the death of the leader of its session; or
        because the front, which reads it, was told that it is gone."""
        case = self.case
        if '--pty' not in self.words or not self.is_met:
            return False
        if case.fails:
            return (case.who, case.call) == (FRONT, 'read')
        return case.who == SUPERVISOR

    def check_status(self):
        case, status = self.case, self.status
        if status == case.scenario.status or \
                (case.fails and status == case.scenario.other):
            self.conclude(TRUE)
        elif status == FAILED and self.can_fail():
            self.conclude(STATUS_125)
        elif (status == KILLED and self.is_met and case.kills) or \
                (status == HUNG_UP and self.is_hung_up()):
            self.conclude(STATUS_KILLED)
        elif case.fails and (status, case.call) in (
                (NOT_EXECUTED, 'execve'), (LOCKED_OUT, 'kill')):
            self.conclude(STATUS_125)
        else:
            self.find(f'the status is {status}')

    def no_watcher_was_left(self):
        """Whether every watcher that there was got SIGKILL."""
        case = self.case
        return self.is_met and (case.kind == 'BOTH' or (
            (case.kind, case.who) == ('KILL', FRONT) and
            not self.had_supervisor))

    def check_without_watchers(self):
        """The target is killed by the kernel, its processes by --reap, which
        leaves a run alone as long as a dying process holds its entry."""
        if not comes_true(lambda: all(stat_of(one.pid).state in 'XZ'
                                      for one in self.who.values())):
            self.find('the target lives')
        if '--registry' in self.words:
            if not have_reaped('--registry=R.dir'):
                self.find('--reap does not end well')

    def may_be_left(self, name):
        """The command's files are cleaned up where that was asked for, unless
        a call failed: then a file that could not be judged stays (LIMITS), and
        nobody holds it. A lock may be left where nobody was left to remove it,
        and so may the file in which the report was written: a later run takes
        the one. In that of a run on record there is a PID: an empty one would
        stay for ever."""
        has_failed = self.is_met and self.case.fails
        if name in ('C.file', 'D.dir'):
            return has_failed or '--cleanup' not in self.words
        if name == 'L.lock':
            # An empty file that was there before the run stays.
            return has_failed or (self.no_watcher_was_left() and (
                '--report' not in self.words or read(name) != '')) or (
                self.lock is not None and os.path.getsize(name) == 0)
        return name in ('out', 'err', 'T.file', 'J.file', 'R.dir') or (
            self.no_watcher_was_left() and name.startswith('.') and
            name.endswith('.new'))

    def check_files(self):
        for directory in '.', 'R.dir':
            for name in names_in(directory):
                if not self.may_be_left(name):
                    self.miss(f"left: '{name}'")

    def check_lock(self):
        """A process that got SIGKILL lives, and holds its locks, for another
        moment."""
        if not comes_true(lambda: lock_is_free('L.lock')):
            self.find('the lock is still held')

    def check_report(self):
        """The report's first status is the status that was returned."""
        if '--report' not in self.words or self.status is None or \
                self.status < 0:
            return
        text = read('J.file')
        status = re.search(r'"status":\s*(-?\d+)', text)
        if status and int(status[1]) != self.status:
            self.find(f'the status is {self.status}, reported {status[1]}')
        elif not status and os.path.exists('J.file'):
            self.find('the report is not whole')
        elif not status and self.status == self.case.scenario.status:
            self.miss("no report: 'J.file'")

    def check_output(self, text):
        """A target that was killed may not have printed anything yet. An error
        may say that no process has the pseudo-terminal open."""
        case, scenario = self.case, self.case.scenario
        is_end = '--pty' in self.words and case.fails and \
            (case.who, case.call) == (FRONT, 'read') and case.kind != 'EINTR'
        if scenario.output and scenario.output not in text and not is_end and \
                self.status == scenario.status and case.kind != 'KILL':
            self.miss('output is missing')

    def check_terminal(self):
        found = termios.tcgetattr(SLAVE)
        if [found[i] for i in (0, 1, 3)] != [MODES[i] for i in (0, 1, 3)]:
            self.miss('modes of the terminal')
        termios.tcsetattr(SLAVE, termios.TCSANOW, MODES)


def drain_terminal():
    text = b''
    try:
        while True:
            text += os.read(MASTER, 4096)
    except BlockingIOError:
        return text.decode(errors='replace')


def begin():
    """Makes this worker the leader of a session with a terminal, which must
    not lead a process group before."""
    global MASTER, SLAVE, MODES
    prepare()
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    os.setsid()
    MASTER, SLAVE = os.openpty()
    os.set_blocking(MASTER, False)
    fcntl.ioctl(SLAVE, termios.TIOCSCTTY, 0)
    MODES = termios.tcgetattr(SLAVE)


def verdict_of(case, is_verbose):
    if is_verbose:
        print(f"case: '{case.name}'")
    return Attempt(case).verdict


def cases_of(scenario, who):
    """The cases of a process, from a few runs without a fault, which is slower
    where it stops at each call. None where one of these did not go well."""
    runs = [Attempt(Case(scenario, who)) for _ in range(RECORDINGS)]
    for run in runs:
        if run.is_strange:
            run.find('who is the target?')
        for call in run.counts().keys() - CALLS.keys():
            run.find(f'CALLS does not know {call}')
        if run.verdict != TRUE:
            return None
    few = functools.reduce(operator.and_, (run.counts() for run in runs))
    many = functools.reduce(operator.or_, (run.counts() for run in runs))
    cases = []
    for call, most in many.items():
        is_seen, errors = CALLS[call]
        for count in range(1, most + 1):
            if not (count <= FIRST or few[call] - LAST < count <= few[call]):
                continue
            kinds = [errors[(count - 1) % len(errors)]] if errors else []
            if is_seen and who != TARGET:
                kinds += ['KILL']
                kinds += ['BOTH'] * ('--registry' in scenario.words)
            cases += [Case(scenario, who, call, count, kind,
                           count <= min(run.early[call] for run in runs),
                           max(run.said for run in runs)) for kind in kinds]
    return cases


def conclude(verdicts):
    """Prints how the cases went. Returns whether all went well."""
    table = {scenario.name: [0] * len(VERDICTS) for scenario in SCENARIOS}
    for case, verdict in verdicts:
        table[case.scenario.name][verdict] += 1
        if verdict == UNMET:
            print(f"unmet: '{case.name}'")
    table['all'] = [sum(column) for column in zip(*table.values())]
    print('          unmet   true    125 killed   told  FOUND')
    for name, row in table.items():
        print(f'{name:8}', *(f'{count:6}' for count in row))
    findings = table['all'][FOUND]
    if table['all'][UNMET] * 100 > UNMET_MAX * len(verdicts):
        print(f'found: more than {UNMET_MAX} % were not met')
        findings += 1
    print(f'sweep: {len(verdicts)} cases, {table["all"][UNMET]} unmet, '
          f'{findings} findings')
    return findings == 0 and len(verdicts) > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-m', default='')
    parser.add_argument('-v', action='store_true')
    arguments = parser.parse_args()
    os.closerange(3, 1000) # what the caller has left open is no leak
    workers = 1 if arguments.v else AT_ONCE * os.cpu_count()
    with concurrent.futures.ProcessPoolExecutor(
            workers, multiprocessing.get_context('fork'), begin) as pool:
        recorded = list(pool.map(
            cases_of, *zip(*itertools.product(SCENARIOS, WHO))))
        if None in recorded:
            return 1
        cases = [case for cases in recorded for case in cases
                 if arguments.m in case.name]
        verdicts, findings = [], 0
        for case, verdict in zip(cases, pool.map(
                functools.partial(verdict_of, is_verbose=arguments.v), cases)):
            verdicts.append((case, verdict))
            findings += verdict == FOUND
            if findings == FINDINGS_MAX:
                pool.shutdown(cancel_futures=True)
                break
    return 0 if conclude(verdicts) else 1


sys.exit(main())
