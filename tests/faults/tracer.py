"""Runs wdrun with one fault. ptrace(2) follows the front and what it forks,
until that executes another program.

strace(1) cannot do that: its -f follows the command too, its --inject counts
calls for each process, so that "the third read of the supervisor" is the third
read of every other process as well, and with -p it misses the first calls.
"""
import collections, ctypes, errno, os, platform, re, signal, subprocess, time

from trial import children_of, libc, native, read, start, stat_of

# The processes whose calls fail. The front is the process that was started,
# the supervisor its first child, and the target the supervisor's first.
WHO = FRONT, SUPERVISOR, TARGET = 'front', 'supervisor', 'target'

OVER, AT_REST, TOO_LATE = 'over', 'at rest', 'too late'

# sys/ptrace.h, elf.h
PTRACE_CONT, PTRACE_DETACH, PTRACE_SYSCALL = 7, 17, 24
PTRACE_GETEVENTMSG, PTRACE_GETREGSET, PTRACE_SETREGSET = 0x4201, 0x4204, 0x4205
PTRACE_SEIZE, PTRACE_LISTEN = 0x4206, 0x4208
EVENT_FORK, EVENT_VFORK, EVENT_CLONE, EVENT_EXEC, EVENT_STOP = 1, 2, 3, 4, 128
OPTION_SYSGOOD, OPTION_EXITKILL = 1, 1 << 20
OPTIONS = OPTION_SYSGOOD | OPTION_EXITKILL | 1 << EVENT_FORK | \
    1 << EVENT_VFORK | 1 << EVENT_CLONE | 1 << EVENT_EXEC
SYSCALL_STOP = signal.SIGTRAP | 0x80 # of OPTION_SYSGOOD
NT_PRSTATUS, NT_ARM_SYSTEM_CALL = 1, 0x404

# The register, in its set, that has the number of a call at its entry, where
# -1 has the kernel skip it; and the one that has the result.
NUMBER, RESULT = {
    'x86_64': ((NT_PRSTATUS, 15), (NT_PRSTATUS, 10)),
    'aarch64': ((NT_ARM_SYSTEM_CALL, 0), (NT_PRSTATUS, 0)),
}[platform.machine()]

libc.ptrace.argtypes = [ctypes.c_long] * 4
libc.ptrace.restype = ctypes.c_long


def names_of_calls():
    """The names of the system calls of this machine, by number."""
    text = subprocess.run(['cc', '-E', '-dM', '-include', 'sys/syscall.h', '-'],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=True, text=True).stdout
    # arm64 has the number of some under the name __NR3264_NAME.
    found = dict(re.findall(r'#define (__NR\w+) (\w+)$', text, re.MULTILINE))
    return {int(found.get(number, number)): name[len('__NR_'):]
            for name, number in found.items() if name.startswith('__NR_')}


NAMES = names_of_calls()
NUMBERS = {name: number for number, name in NAMES.items()}


def ptrace(request, pid, address=0, data=0):
    return libc.ptrace(request, pid, address, data)


def set_register(pid, place, value):
    kind, index = place
    registers = (ctypes.c_long * 64)()
    iovec = (ctypes.c_long * 2)(ctypes.addressof(registers),
                                ctypes.sizeof(registers))
    ptrace(PTRACE_GETREGSET, pid, kind, ctypes.addressof(iovec))
    registers[index] = value
    ptrace(PTRACE_SETREGSET, pid, kind, ctypes.addressof(iovec))


class Process:
    def __init__(self, pid):
        self.pid = pid
        self.is_known = False   # its parent's fork was seen; until then
        self.is_stopped = False # it waits
        self.is_failing = False # its call has to return an error
        self.is_traced = True


class Trace:
    """A run of wdrun with WORDS, TERMINAL as of start() in trial.py. When the
    process FAULT.who makes FAULT.call for the time FAULT.count, from 1, it
    gets the error FAULT.kind; or KILL: SIGKILL instead of the call; or BOTH:
    SIGKILL ends front and supervisor. The calling process is a subreaper and
    has SIGCHLD blocked."""

    def __init__(self, fault, words, terminal):
        self.fault = fault
        self.numbered = (ctypes.c_int * 512)() # calls of who has the fault
        self.processes, self.who = {}, {}
        self.is_met = False         # the fault happened,
        self.had_supervisor = False # and then a supervisor was alive
        self.has_executed = False   # the target's program has begun
        self.is_strange = False     # another process than the target's has
        self.status = None          # of the front, once it has ended;
        self.outlivers = []         # what lived then

        # The new process executes wdrun when this one has seized it.
        gate, opener = os.pipe()
        pid = start(words, terminal, gate)
        if ptrace(PTRACE_SEIZE, pid, 0, OPTIONS) == -1:
            raise OSError(ctypes.get_errno(), 'ptrace')
        os.write(opener, b'.')
        os.close(opener)
        os.close(gate)
        self.who[FRONT] = self.process_of(pid)
        self.who[FRONT].is_known = True

    def process_of(self, pid):
        if pid not in self.processes:
            self.processes[pid] = Process(pid)
        return self.processes[pid]

    def lives(self, who):
        return who in self.who and self.who[who].is_traced

    def counts(self):
        """The calls of who has the fault, until then, by name."""
        return collections.Counter({NAMES.get(number, str(number)): count for
                                    number, count in enumerate(self.numbered)
                                    if count > 0})

    def is_watched(self, one):
        """Only who has the fault stops at its calls, and not after it."""
        return not self.is_met and one is self.who.get(self.fault.who)

    def go_on(self, one, number=0):
        one.is_stopped = False
        ptrace(PTRACE_SYSCALL if one.is_failing or self.is_watched(one)
               else PTRACE_CONT, one.pid, 0, number)

    def kill_at_call(self, one):
        """Kills ONE, which is stopped at a call, as the last one: so neither
        watcher sees the other's death. Where that was on its way back from
        fork(2), no process tells any more whose child is whose."""
        twin = SUPERVISOR if self.fault.who == FRONT else FRONT
        if self.fault.kind == 'BOTH' and self.lives(twin):
            os.kill(self.who[twin].pid, signal.SIGKILL)
        os.kill(one.pid, signal.SIGKILL)
        for other in self.processes.values():
            if other.is_stopped:
                self.go_on(other)

    def attend_call(self, one):
        """ONE is about to make the call of the fault, or that has returned."""
        if self.is_watched(one):
            self.is_met = True
            self.had_supervisor = self.lives(SUPERVISOR)
            if self.fault.kills:
                self.kill_at_call(one)
                return
            one.is_failing = True
            # Linux closes the descriptor also when close(2) fails.
            if self.fault.call != 'close':
                set_register(one.pid, NUMBER, -1)
        elif one.is_failing:
            set_register(one.pid, RESULT, -getattr(errno, self.fault.kind))
            one.is_failing = False
        self.go_on(one)

    def attend_fork(self, parent, is_clone):
        pid = ctypes.c_ulong()
        if ptrace(PTRACE_GETEVENTMSG, parent.pid, 0,
                  ctypes.addressof(pid)) == -1:
            return
        child = self.process_of(pid.value)
        child.is_known = True
        # A helper is a clone, which does not send SIGCHLD: it does not count.
        for who, below in zip(WHO, WHO[1:]):
            if parent is self.who.get(who) and not is_clone:
                self.who.setdefault(below, child)
        if child.is_stopped:
            self.go_on(child)
        self.go_on(parent)

    def attend_exec(self, one):
        """Who begins another program, which should be the target, is let
        go."""
        if one is self.who[FRONT]:
            self.go_on(one)
            return
        one.is_traced = False
        ptrace(PTRACE_DETACH, one.pid)
        self.has_executed = True
        self.is_strange |= one is not self.who.get(TARGET)

    def attend_stop(self, one, status):
        number, event = os.WSTOPSIG(status), status >> 16
        if event in (EVENT_FORK, EVENT_VFORK, EVENT_CLONE):
            self.attend_fork(one, event == EVENT_CLONE)
        elif event == EVENT_EXEC:
            self.attend_exec(one)
        elif event == EVENT_STOP and number != signal.SIGTRAP:
            ptrace(PTRACE_LISTEN, one.pid)
        elif event == EVENT_STOP and not one.is_known and \
                not (self.is_met and self.fault.kills):
            one.is_stopped = True
        elif number == SYSCALL_STOP:
            self.attend_call(one)
        else:
            self.go_on(one, 0 if event == EVENT_STOP else number)

    def note_death(self, one, status):
        """The processes that the front has left are children of this process
        by now, which is a subreaper. One that ends at this moment is no
        leak."""
        one.is_traced = False
        if one is self.who[FRONT]:
            self.status = os.waitstatus_to_exitcode(status)
            self.outlivers = children_of(os.getpid())

    def is_quiet(self, may_wait):
        """Whether all that is traced waits for something, or nothing is. The
        target of a supervisor that was killed in its fork may be news yet."""
        ours = f'TracerPid:\t{os.getpid()}\n'
        if any(ours in read(f'/proc/{pid}/status')
               for pid in children_of(os.getpid())
               if pid not in self.processes):
            return False
        return not any(one.is_traced and
                       not (may_wait and stat_of(one.pid).state == 'S')
                       for one in self.processes.values())

    def wait(self, for_all, deadline):
        """Continues until nothing is traced; FOR_ALL until this process has no
        child. Or until DEADLINE; or, not FOR_ALL, until all of wdrun has
        waited for a moment."""
        status = ctypes.c_int()
        while True:
            watched = None if self.is_met else self.who.get(self.fault.who)
            pid = native.native_wait(watched.pid if watched else 0,
                                     NUMBERS.get(self.fault.call, -1),
                                     self.fault.count, self.numbered,
                                     ctypes.byref(status))
            if pid == -1:
                return OVER
            if pid > 0 and os.WIFSTOPPED(status.value):
                self.attend_stop(self.process_of(pid), status.value)
            elif pid > 0:
                self.note_death(self.process_of(pid), status.value)
            if not for_all and self.status is not None and self.is_quiet(False):
                return OVER
            if time.monotonic() > deadline:
                return TOO_LATE
            if pid == 0 and not for_all and self.is_quiet(True):
                return AT_REST

    def end(self):
        """Prints which processes are left, and kills them."""
        while True:
            for pid in children_of(os.getpid()):
                stat = stat_of(pid)
                print(f'  left: {pid} {stat.name}, state {stat.state}')
                os.kill(pid, signal.SIGKILL)
            for one in self.processes.values():
                if one.is_traced:
                    os.kill(one.pid, signal.SIGKILL)
            if self.wait(True, time.monotonic() + 0.05) == OVER:
                return
