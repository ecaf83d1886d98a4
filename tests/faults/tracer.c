/* Follows wdrun with ptrace(2), and makes one of its calls fail. */
#include "tracer.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "trial.h"

#define REST (20 * MILLISECOND)
#define OPTIONS                                                                \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |    \
	 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define SYSCALL_STOP (SIGTRAP | 0x80) /* of PTRACE_O_TRACESYSGOOD */
#define CHILDREN_MAX 64

/* --- the machine --------------------------------------------------------- */

/* Has the kernel skip the call that PID is about to make. */
static void
skip_call(pid_t pid)
{
#if defined(__x86_64__)
	(void)ptrace(PTRACE_POKEUSER, pid,
	             offsetof(struct user_regs_struct, orig_rax), -1L);
#elif defined(__aarch64__)
	int none = -1;
	const struct iovec set = { &none, sizeof(none) };

	(void)ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &set);
#else
#error "how does one skip a system call here?"
#endif
}

static void
set_result(pid_t pid, long result)
{
#if defined(__x86_64__)
	(void)ptrace(PTRACE_POKEUSER, pid,
	             offsetof(struct user_regs_struct, rax), result);
#elif defined(__aarch64__)
	struct user_regs_struct registers;
	const struct iovec set = { &registers, sizeof(registers) };

	(void)ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &set);
	registers.regs[0] = (unsigned long)result;
	(void)ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &set);
#endif
}

/* --- who is who ---------------------------------------------------------- */

static struct process *
process_of(struct trace *trace, pid_t pid)
{
	for (int i = 0; i < trace->process_count; i++) {
		if (trace->processes[i].pid == pid)
			return &trace->processes[i];
	}
	return NULL;
}

static const struct process *
find(const struct trace *trace, enum who who)
{
	for (int i = 0; i < trace->process_count; i++) {
		const struct process *one = &trace->processes[i];

		if (*one->path != '\0' &&
		    strcmp(one->path, trace->paths[who]) == 0)
			return one;
	}
	return NULL;
}

static struct process *
add_process(struct trace *trace, pid_t pid)
{
	if (trace->process_count == PROCESSES_MAX)
		give_up("too many processes");

	struct process *const one = &trace->processes[trace->process_count++];

	*one = (struct process){ .pid = pid, .is_traced = true };
	return one;
}

bool
trace_target_is_dead(const struct trace *trace)
{
	const struct process *const target = find(trace, TARGET);
	struct process_stat stat;

	if (target == NULL)
		return true;
	stat = stat_of(target->pid);
	return is_ending(&stat);
}

/* --- one stop of a process ----------------------------------------------- */

static void
go_on(const struct trace *trace, const struct process *one, int signal)
{
	const struct fault *const fault = &trace->fault;
	/* Only who has the fault stops at its calls, and not after it. */
	const bool is_watched =
	    trace->is_verbose || one->is_failing ||
	    (!trace->is_met && one == find(trace, fault->who));

	(void)ptrace(is_watched ? PTRACE_SYSCALL : PTRACE_CONT, one->pid, NULL,
	             (long)signal);
}

/*
 * Kills ONE, which is stopped at a call, as the last one: so neither watcher
 * sees the other's death. Where that was on its way back from fork(2), no
 * process tells any more whose child is whose.
 */
static void
kill_at_call(struct trace *trace, const struct process *one)
{
	const struct process *const twin =
	    find(trace, trace->fault.who == FRONT ? SUPERVISOR : FRONT);

	if (trace->fault.kind == FAULT_BOTH && twin != NULL && twin->is_traced)
		(void)kill(twin->pid, SIGKILL);
	(void)kill(one->pid, SIGKILL);
	for (int i = 0; i < trace->process_count; i++) {
		if (trace->processes[i].is_stopped)
			go_on(trace, &trace->processes[i], 0);
		trace->processes[i].is_stopped = false;
	}
}

static void
enter_call(struct trace *trace, struct process *one, long call)
{
	const struct fault *const fault = &trace->fault;
	const struct process *const supervisor = find(trace, SUPERVISOR);

	if (call < 0 || call >= CALLS_MAX) {
		go_on(trace, one, 0);
		return;
	}
	one->counts[call]++;
	one->call = call;
	if (trace->is_verbose)
		dprintf(STDOUT_FILENO, "%d %s %s#%d\n", (int)one->pid,
		        one->path, call_of(call).name, one->counts[call]);
	if (trace->is_met || fault->kind == FAULT_NONE || call != fault->call ||
	    one->counts[call] != fault->count ||
	    one != find(trace, fault->who)) {
		go_on(trace, one, 0);
		return;
	}
	trace->is_met = true;
	trace->had_supervisor = supervisor != NULL && supervisor->is_traced;
	if (fault->kind != FAULT_ERROR) {
		kill_at_call(trace, one);
		return;
	}
	one->is_failing = true;
	/* Linux closes the descriptor also when close(2) fails. */
	if (call != SYS_close)
		skip_call(one->pid);
	go_on(trace, one, 0);
}

static void
attend_call(struct trace *trace, struct process *one)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, one->pid, sizeof(info), &info) ==
	    -1)
		return; /* the process was killed */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		enter_call(trace, one, (long)info.entry.nr);
		return;
	}
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && one->is_failing) {
		set_result(one->pid, -trace->fault.error);
		one->is_failing = false;
	}
	go_on(trace, one, 0);
}

/* A helper is a clone, which does not send SIGCHLD: it does not count. */
static void
attend_fork(struct trace *trace, struct process *parent, bool is_clone)
{
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) == -1)
		return;

	struct process *child = process_of(trace, (pid_t)pid);

	if (child == NULL)
		child = add_process(trace, (pid_t)pid);
	if (is_clone)
		strcpy(child->path, "helper");
	else
		(void)snprintf(child->path, sizeof(child->path), "%.12s.%d",
		               parent->path, ++parent->forks % 100);
	if (child->is_stopped)
		go_on(trace, child, 0);
	child->is_stopped = false;
	go_on(trace, parent, 0);
}

/* ONE begins another program: it is let go, and if it is the first, the target.
 */
static void
attend_exec(struct trace *trace, struct process *one)
{
	char *dot;

	if (one == &trace->processes[0]) {
		go_on(trace, one, 0);
		return;
	}
	one->is_traced = false;
	(void)ptrace(PTRACE_DETACH, one->pid, NULL, NULL);
	trace->has_executed = true;
	if (*one->path == '\0')
		return;
	if (*trace->paths[TARGET] != '\0') {
		trace->is_strange =
		    strcmp(trace->paths[TARGET], one->path) != 0;
		return;
	}
	memcpy(trace->paths[TARGET], one->path, PATH_LENGTH);
	memcpy(trace->paths[SUPERVISOR], one->path, PATH_LENGTH);
	dot = strrchr(trace->paths[SUPERVISOR], '.');
	if (dot != NULL)
		*dot = '\0';
}

static void
attend_stop(struct trace *trace, struct process *one, int status)
{
	const int signal = WSTOPSIG(status);
	const bool is_killed =
	    trace->is_met && trace->fault.kind != FAULT_ERROR;

	switch (status >> 16) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		attend_fork(trace, one, status >> 16 == PTRACE_EVENT_CLONE);
		return;
	case PTRACE_EVENT_EXEC:
		attend_exec(trace, one);
		return;
	case PTRACE_EVENT_STOP:
		if (signal != SIGTRAP)
			(void)ptrace(PTRACE_LISTEN, one->pid, NULL, NULL);
		else if (*one->path == '\0' && !is_killed)
			one->is_stopped = true;
		else
			go_on(trace, one, 0);
		return;
	default:
		if (signal == SYSCALL_STOP)
			attend_call(trace, one);
		else
			go_on(trace, one, signal);
		return;
	}
}

/* --- all of them --------------------------------------------------------- */

/*
 * The processes that the front has left are children of this process by now,
 * which is a subreaper. One that ends at this moment is no leak.
 */
static void
note_outlivers(struct trace *trace)
{
	pid_t pids[CHILDREN_MAX];
	const int count = children_of(getpid(), pids, CHILDREN_MAX);

	trace->outlived = count;
	if (count > 0)
		memcpy(trace->outliver, stat_of(pids[0]).name,
		       sizeof(trace->outliver));
}

static void
note_death(struct trace *trace, pid_t pid, int status)
{
	struct process *const one = process_of(trace, pid);

	if (pid == trace->other) {
		trace->other_status = status;
		trace->other = 0;
	}
	if (one == NULL)
		return;
	one->is_traced = false;
	if (one != &trace->processes[0])
		return;
	trace->has_ended = true;
	trace->status = status;
	note_outlivers(trace);
}

static bool
is_over(const struct trace *trace)
{
	for (int i = 0; i < trace->process_count; i++) {
		if (trace->processes[i].is_traced)
			return false;
	}
	return trace->has_ended && trace->other == 0;
}

/* Handles the events that there are. Returns false where there is no child. */
static bool
attend_all(struct trace *trace)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		struct process *one = process_of(trace, pid);

		if (!WIFSTOPPED(status)) {
			note_death(trace, pid, status);
			continue;
		}
		if (one == NULL)
			one = add_process(trace, pid);
		attend_stop(trace, one, status);
	}
	return pid == 0;
}

/* Whether all that is traced waits for something. */
static bool
is_at_rest(const struct trace *trace)
{
	for (int i = 0; i < trace->process_count; i++) {
		const struct process *one = &trace->processes[i];

		if (one->is_traced && stat_of(one->pid).state != 'S')
			return false;
	}
	return true;
}

bool
trace_await(struct trace *trace, bool all, int64_t deadline)
{
	const struct timespec rest = { .tv_nsec = REST };
	sigset_t sigchld;

	(void)sigemptyset(&sigchld);
	(void)sigaddset(&sigchld, SIGCHLD);
	while (attend_all(trace)) {
		if (!all && is_over(trace))
			return true;
		if (now() > deadline)
			return false;
		if (sigtimedwait(&sigchld, NULL, &rest) == -1 &&
		    errno == EAGAIN && trace->at_rest != NULL &&
		    is_at_rest(trace))
			trace->at_rest(trace);
	}
	return true;
}

void
trace_end(struct trace *trace)
{
	pid_t pids[CHILDREN_MAX];

	trace->at_rest = NULL;
	do {
		const int count = children_of(getpid(), pids, CHILDREN_MAX);

		for (int i = 0; i < count; i++) {
			const struct process_stat stat = stat_of(pids[i]);
			const struct process *one = process_of(trace, pids[i]);

			dprintf(STDOUT_FILENO, "  left: %d %s, state %c%s%s\n",
			        (int)pids[i], stat.name, stat.state,
			        one == NULL ? "" : ", in ",
			        one == NULL ? "" : call_of(one->call).name);
			(void)kill(pids[i], SIGKILL);
		}
		for (int i = 0; i < trace->process_count; i++) {
			if (trace->processes[i].is_traced)
				(void)kill(trace->processes[i].pid, SIGKILL);
		}
	} while (!trace_await(trace, true, now() + 2 * REST));
}

/* --- the start ----------------------------------------------------------- */

/* Executes PROGRAM when GATE has no writer any more. */
static _Noreturn void
execute(const struct program *program, int gate)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND;
	sigset_t none;
	char byte;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	open_as("err", flags, STDERR_FILENO);
	if (program->terminal_fd != -1) {
		(void)dup2(program->terminal_fd, STDIN_FILENO);
		(void)dup2(program->terminal_fd, STDOUT_FILENO);
	} else {
		open_as("/dev/null", O_RDONLY, STDIN_FILENO);
		open_as("out", flags, STDOUT_FILENO);
		(void)setsid();
	}
	(void)read(gate, &byte, 1);
	(void)execv(getenv("WDRUN"), program->argv);
	give_up(getenv("WDRUN"));
}

static pid_t
start(const struct program *program, int *gate)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		give_up("pipe");

	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0) {
		(void)close(fds[1]);
		execute(program, fds[0]);
	}
	(void)close(fds[0]);
	*gate = fds[1];
	return pid;
}

void
trace_start(struct trace *trace, const struct program *program)
{
	int gate;
	const pid_t pid = start(program, &gate);

	if (ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) == -1)
		give_up("ptrace");
	(void)close(gate);
	strcpy(trace->paths[FRONT], "1");
	strcpy(add_process(trace, pid)->path, "1");
}

void
trace_start_other(struct trace *trace, const struct program *program)
{
	int gate;

	trace->other_status = -1;
	trace->other = start(program, &gate);
	(void)close(gate);
}
