"""What sweep and soak share: locks, runs of wdrun, and what /proc tells of
processes. A status is the exit code, or -N after a death by signal N."""
import collections, ctypes, fcntl, os, signal, tempfile, time

BOUND = 60 # seconds, for what takes a moment
FAILED, KILLED, HUNG_UP = 125, -signal.SIGKILL, -signal.SIGHUP
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

TOP = os.getcwd() # which tests/faults/run removes
libc = ctypes.CDLL(None, use_errno=True)
native = ctypes.CDLL(os.environ['NATIVE'])


def prepare():
    """Makes this process a subreaper that ends with its parent, and ignores no
    signal, as its caller or Python may have done."""
    for option in PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER:
        libc.prctl(option, signal.SIGKILL)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)


def enter_new_directory():
    os.chdir(tempfile.mkdtemp(dir=TOP))


def comes_true(condition, bound=BOUND):
    deadline = time.monotonic() + bound
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def read(file):
    """The text of FILE, '' where there is none, or no such process."""
    try:
        with open(file, errors='replace') as opened:
            return opened.read()
    except (FileNotFoundError, ProcessLookupError):
        return ''


def names_in(directory):
    return os.listdir(directory) if os.path.exists(directory) else []


def lock_is_free(file):
    """Whether the lock is free or does not exist, without a wait."""
    try:
        fd = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(fd)


class Program(ctypes.Structure):
    """Of native.c."""
    _fields_ = [('argv', ctypes.POINTER(ctypes.c_char_p)),
                ('envp', ctypes.POINTER(ctypes.c_char_p)),
                ('fds', ctypes.c_int * 3), ('gate', ctypes.c_int),
                ('has_session', ctypes.c_int)]


def strings(words):
    words = [os.fsencode(word) for word in words]
    return (ctypes.c_char_p * (len(words) + 1))(*words)


def start(words, terminal=None, gate=-1):
    """Starts wdrun with WORDS, which blanks separate; @NAME is a test program.
    stdin and stdout are the terminal, or without one /dev/null and the file
    "out", in a session of its own. stderr is the file "err". With GATE, a
    pipe, it reads a byte first. Returns its PID."""
    global program
    argv = [os.environ['WDRUN']]
    argv += words.replace('@', os.environ['PROGRAMS'] + '/').split()
    fds = [os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
           for file in (terminal or '/dev/null', terminal or 'out', 'err')]
    program = Program(strings(argv), ENVIRONMENT, tuple(fds), gate,
                      not terminal)
    pid = native.native_start(ctypes.byref(program))
    for fd in fds:
        os.close(fd)
    return pid


def have_reaped(words):
    """Has --reap end what is left on record, twice where needed: nothing can
    be proved of a process that is dying at this moment, so it is kept on
    record and reported. Returns whether it did. Reaps the dead children,
    too."""
    def has_ended():
        ended.update([os.waitpid(-1, os.WNOHANG)])
        return child in ended

    for _ in range(2):
        child, ended = start('--reap ' + words), {}
        if comes_true(has_ended) and ended[child] == 0:
            return True
    return False


ENVIRONMENT = strings(f'{name}={value}' for name, value in os.environ.items())

# The fields of proc(5)'s "stat" that are of use here; state X: no such
# process.
Stat = collections.namedtuple('Stat', 'name state parent session is_ending')


def stat_of(pid):
    """Ending is what has got SIGKILL, or is within exit(2): PF_EXITING of the
    kernel's include/linux/sched.h."""
    start, _, end = read(f'/proc/{pid}/stat').rpartition(')')
    if not end:
        return Stat('', 'X', 0, 0, True)
    state, parent, _, session, _, _, flags, *rest = end.split()
    is_ending = state in 'XZ' or int(flags) & 0x4 or \
        int(rest[21]) & 1 << signal.SIGKILL - 1 # pending
    return Stat(start.partition('(')[2], state, int(parent), int(session),
                bool(is_ending))


def children_of(pid):
    """The children of PID that live."""
    return [int(child) for child in
            read(f'/proc/{pid}/task/{pid}/children').split()
            if not stat_of(child).is_ending]
