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

/* Returns the process that has PID, which is new where it was not seen. */
static struct process *
process_of(struct trace *trace, pid_t pid)
{
	struct process *one = trace->processes;

	for (; one < trace->processes + trace->process_count; one++) {
		if (one->pid == pid)
			return one;
	}
	if (trace->process_count++ == PROCESSES_MAX)
		give_up("too many processes");
	*one = (struct process){ .pid = pid, .is_traced = true };
	return one;
}

/* A helper is a clone, which does not send SIGCHLD: it does not count. */
static void
name_child(struct trace *trace, const struct process *parent,
           struct process *child, bool is_clone)
{
	child->is_known = true;
	for (enum who who = FRONT; who < TARGET && !is_clone; who++) {
		if (parent == trace->who[who] && trace->who[who + 1] == NULL)
			trace->who[who + 1] = child;
	}
}

/* --- one stop of a process ----------------------------------------------- */

static void
go_on(const struct trace *trace, struct process *one, int signal)
{
	/* Only who has the fault stops at its calls, and not after it. */
	const bool is_watched =
	    trace->is_verbose || one->is_failing ||
	    (!trace->is_met && one == trace->who[trace->fault.who]);

	one->is_stopped = false;
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
	    trace->who[trace->fault.who == FRONT ? SUPERVISOR : FRONT];

	if (trace->fault.kind == FAULT_BOTH && twin != NULL && twin->is_traced)
		(void)kill(twin->pid, SIGKILL);
	(void)kill(one->pid, SIGKILL);
	for (int i = 0; i < trace->process_count; i++) {
		if (trace->processes[i].is_stopped)
			go_on(trace, &trace->processes[i], 0);
	}
}

static void
enter_call(struct trace *trace, struct process *one, long call)
{
	const struct fault *const fault = &trace->fault;
	const struct process *const supervisor = trace->who[SUPERVISOR];

	if (call < 0 || call >= CALLS_MAX) {
		go_on(trace, one, 0);
		return;
	}
	one->counts[call]++;
	if (trace->is_verbose)
		printf("%d %s#%d\n", (int)one->pid, call_of(call).name,
		       one->counts[call]);
	if (trace->is_met || fault->kind == FAULT_NONE || call != fault->call ||
	    one->counts[call] != fault->count ||
	    one != trace->who[fault->who]) {
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

static void
attend_fork(struct trace *trace, struct process *parent, bool is_clone)
{
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) == -1)
		return;

	struct process *const child = process_of(trace, (pid_t)pid);

	name_child(trace, parent, child, is_clone);
	if (child->is_stopped)
		go_on(trace, child, 0);
	go_on(trace, parent, 0);
}

/* Who begins another program, which should be the target, is let go. */
static void
attend_exec(struct trace *trace, struct process *one)
{
	if (one == trace->who[FRONT]) {
		go_on(trace, one, 0);
		return;
	}
	one->is_traced = false;
	(void)ptrace(PTRACE_DETACH, one->pid, NULL, NULL);
	trace->has_executed = true;
	trace->is_strange |= one != trace->who[TARGET];
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
		else if (!one->is_known && !is_killed)
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
note_death(struct trace *trace, struct process *one, int status)
{
	one->is_traced = false;
	if (one != trace->who[FRONT])
		return;
	trace->has_ended = true;
	trace->status = status;
	if (children_of(getpid(), &trace->outliver, 1) == 0)
		trace->outliver = 0;
}

/* Handles the events that there are. Returns false where there is no child. */
static bool
attend_all(struct trace *trace)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		struct process *const one = process_of(trace, pid);

		if (WIFSTOPPED(status))
			attend_stop(trace, one, status);
		else
			note_death(trace, one, status);
	}
	return pid == 0;
}

/* Whether all that is traced waits for something, or nothing is. */
static bool
is_quiet(const struct trace *trace, bool may_wait)
{
	for (int i = 0; i < trace->process_count; i++) {
		const struct process *one = &trace->processes[i];

		if (one->is_traced &&
		    (!may_wait || stat_of(one->pid).state != 'S'))
			return false;
	}
	return true;
}

enum progress
trace_await(struct trace *trace, bool all, int64_t deadline)
{
	const struct timespec rest = { .tv_nsec = REST };
	sigset_t sigchld;

	(void)sigemptyset(&sigchld);
	(void)sigaddset(&sigchld, SIGCHLD);
	while (attend_all(trace)) {
		if (!all && trace->has_ended && is_quiet(trace, false))
			return OVER;
		if (now() > deadline)
			return TOO_LATE;
		if (sigtimedwait(&sigchld, NULL, &rest) == -1 &&
		    errno == EAGAIN && !all && is_quiet(trace, true))
			return AT_REST;
	}
	return OVER;
}

void
trace_end(struct trace *trace)
{
	pid_t pids[64];

	do {
		const int count = children_of(getpid(), pids, 64);

		for (int i = 0; i < count; i++) {
			const struct process_stat stat = stat_of(pids[i]);

			printf("  left: %d %s, state %c\n", (int)pids[i],
			       stat.name, stat.state);
			(void)kill(pids[i], SIGKILL);
		}
		for (int i = 0; i < trace->process_count; i++) {
			if (trace->processes[i].is_traced)
				(void)kill(trace->processes[i].pid, SIGKILL);
		}
	} while (trace_await(trace, true, now() + 2 * REST) != OVER);
}

/* The new process executes wdrun when this one has seized it. */
void
trace_start(struct trace *trace, const char *words, int terminal_fd)
{
	int gate[2];
	char byte;

	if (pipe2(gate, O_CLOEXEC) == -1)
		give_up("pipe");

	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0) {
		(void)close(gate[1]);
		(void)read(gate[0], &byte, 1);
		execute(words, terminal_fd);
	}
	(void)close(gate[0]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) == -1)
		give_up("ptrace");
	(void)close(gate[1]);
	trace->who[FRONT] = process_of(trace, pid);
	trace->who[FRONT]->is_known = true;
}
