/* Follows wdrun with ptrace(2), and makes one of its calls fail. */
#include "tracer.h"

#include <elf.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../programs/bounded.h"
#include "../programs/processes.h"
#include "../programs/trial.h"
#include "gated.h"

#define PAUSE (20 * MILLISECOND)
#define OPTIONS                                                                \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |    \
	 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define PF_EXITING   0x4              /* the kernel's include/linux/sched.h */
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

static struct role *
role_of(struct trace *trace, pid_t pid)
{
	for (int i = 0; i < trace->role_count; i++) {
		if (trace->roles[i].pid == pid)
			return &trace->roles[i];
	}
	return NULL;
}

static struct role *
find_role(struct trace *trace, const char *name)
{
	for (int i = 0; i < trace->role_count; i++) {
		if (strcmp(trace->roles[i].name, name) == 0)
			return &trace->roles[i];
	}
	return NULL;
}

static struct role *
add_role(struct trace *trace, pid_t pid)
{
	struct role *role = &trace->roles[trace->role_count++];

	if (trace->role_count > ROLES_MAX)
		give_up("too many processes");
	*role = (struct role){
		.pid = pid,
		.is_traced = true,
		.call = -1,
	};
	return role;
}

/*
 * Of all helpers, only the helper that waits for a lock is forked before the
 * supervisor.
 */
static void
name_child(struct role *child, struct role *parent, bool is_clone)
{
	const bool is_of_front = strcmp(parent->name, ROLE_FRONT) == 0;

	if (is_of_front && is_clone && parent->forks == 0) {
		(void)snprintf(child->name, sizeof(child->name),
		               "%.20s-lock-%d", parent->name,
		               ++parent->lock_forks);
		return;
	}
	parent->forks++;
	if (is_of_front && parent->forks == 1)
		strcpy(child->name, "supervisor");
	else if (strcmp(parent->name, "supervisor") == 0 && parent->forks == 1)
		strcpy(child->name, "target");
	else
		(void)snprintf(child->name, sizeof(child->name),
		               "%.20s-helper-%d", parent->name, parent->forks);
}

/* --- one stop of a process ----------------------------------------------- */

static void
go_on(const struct trace *trace, const struct role *role, int signal)
{
	/* What comes after the fault is not traced. */
	const bool is_watched =
	    !trace->is_met || role->is_failing || trace->is_verbose;

	(void)ptrace(is_watched ? PTRACE_SYSCALL : PTRACE_CONT, role->pid, NULL,
	             (long)signal);
}

static void
kill_role(struct trace *trace, const char *name)
{
	const struct role *role = find_role(trace, name);

	if (role != NULL && role->is_traced)
		(void)kill(role->pid, SIGKILL);
}

/*
 * Where SIGKILL ended the parent on its way back from fork(2), no process tells
 * whose child this is.
 */
static void
let_orphans_go(struct trace *trace)
{
	for (int i = 0; i < trace->role_count; i++) {
		struct role *role = &trace->roles[i];

		if (role->is_stopped)
			go_on(trace, role, 0);
		role->is_stopped = false;
	}
}

/* Makes the fault happen. Returns whether the process can continue. */
static bool
have_fault(struct trace *trace, struct role *role)
{
	trace->is_met = true;
	trace->had_supervisor = find_role(trace, "supervisor") != NULL;
	stage_let_go(trace->stage); /* the calls after this one are not seen */

	switch (trace->fault.kind) {
	case FAULT_NONE:
		return true;
	case FAULT_ERROR:
		role->is_failing = true;
		if (!call_is_made_to_fail(trace->fault.call))
			skip_call(role->pid);
		return true;
	case FAULT_KILL:
	case FAULT_KILL_SOON:
		(void)kill(role->pid, SIGKILL);
		let_orphans_go(trace);
		return false;
	case FAULT_KILL_BOTH:
		/*
		 * The process that is stopped here is killed last, so that
		 * neither watcher sees the other's death.
		 */
		if (role == &trace->roles[0])
			kill_role(trace, "supervisor");
		else
			kill_role(trace, trace->root);
		(void)kill(role->pid, SIGKILL);
		let_orphans_go(trace);
		return false;
	}
	return true;
}

static bool
enter_call(struct trace *trace, struct role *role, long call)
{
	if (call < 0 || call >= CALLS_MAX)
		return true;
	role->counts[call]++;
	role->call = call;
	if (call == SYS_ppoll && role == &trace->roles[0])
		stage_let_go(trace->stage);
	if (call == SYS_rt_sigtimedwait && !trace->is_waiting &&
	    role == &trace->roles[0]) {
		memcpy(trace->early, role->counts, sizeof(trace->early));
		trace->is_waiting = true;
	}
	if (trace->is_verbose)
		dprintf(STDOUT_FILENO, "%d %s %s#%d\n", (int)role->pid,
		        role->name, call_of(call)->name, role->counts[call]);
	if (trace->is_met || call != trace->fault.call ||
	    role->counts[call] != trace->fault.count ||
	    strcmp(role->name, trace->fault.role) != 0)
		return true;
	return have_fault(trace, role);
}

static void
attend_call(struct trace *trace, struct role *role)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, role->pid, sizeof(info), &info) ==
	    -1)
		return; /* the process was killed */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	    !enter_call(trace, role, (long)info.entry.nr))
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT && role->is_failing) {
		set_result(role->pid, -trace->fault.error);
		role->is_failing = false;
	}
	go_on(trace, role, 0);
}

static void
attend_fork(struct trace *trace, struct role *parent, bool is_clone)
{
	unsigned long pid;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid) == -1)
		return;

	struct role *child = role_of(trace, (pid_t)pid);

	if (child == NULL)
		child = add_role(trace, (pid_t)pid);
	name_child(child, parent, is_clone);
	if (child->is_stopped)
		go_on(trace, child, 0);
	child->is_stopped = false;
	go_on(trace, parent, 0);
}

static bool
is_killed(const struct trace *trace)
{
	return trace->is_met && trace->fault.kind >= FAULT_KILL;
}

static void
attend_stop(struct trace *trace, struct role *role, int status)
{
	const int signal = WSTOPSIG(status);

	switch (status >> 16) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		/* A clone child is a helper: its exit signal is not SIGCHLD. */
		attend_fork(trace, role, status >> 16 == PTRACE_EVENT_CLONE);
		return;
	case PTRACE_EVENT_EXEC:
		if (role == &trace->roles[0]) {
			go_on(trace, role, 0);
			return;
		}
		role->is_traced = false;
		(void)ptrace(PTRACE_DETACH, role->pid, NULL, NULL);
		return;
	case PTRACE_EVENT_STOP:
		if (signal != SIGTRAP)
			(void)ptrace(PTRACE_LISTEN, role->pid, NULL, NULL);
		else if (role->name[0] == '\0' && !is_killed(trace))
			role->is_stopped = true;
		else
			go_on(trace, role, 0);
		return;
	default:
		if (signal == SYSCALL_STOP)
			attend_call(trace, role);
		else
			go_on(trace, role, signal);
		return;
	}
}

/* --- all of them --------------------------------------------------------- */

/* Whether PID is within exit(2): the field "flags" of proc(5). */
static bool
is_exiting(pid_t pid)
{
	char text[512];
	const char *const stat = stat_of(pid, text);
	unsigned flags = PF_EXITING;

	if (stat != NULL)
		(void)sscanf(stat, " %*c %*d %*d %*d %*d %*d %u", &flags);
	return (flags & PF_EXITING) != 0;
}

static void
note_death(struct trace *trace, pid_t pid, int status)
{
	struct role *const role = role_of(trace, pid);
	char name[sizeof(trace->outliver)];
	pid_t pids[CHILDREN_MAX];

	if (pid == trace->other) {
		trace->other_status = status;
		trace->other = 0;
	}
	if (pid == trace->stage->front)
		trace->staged_status = status;
	if (role == NULL)
		return;
	role->is_traced = false;
	if (role != &trace->roles[0])
		return;
	trace->has_ended = true;
	trace->status = status;
	/*
	 * The processes that it left are children of this process by now, which
	 * is a subreaper.
	 */
	const int count = children_of(getpid(), pids);

	trace->outlived = 0;
	for (int i = 0; i < count; i++) {
		if (pids[i] == trace->stage->holder)
			continue;
		/* The front waits until a helper of a killed supervisor has
		 * closed its descriptors, a moment before it is dead. */
		name_of(pids[i], name);
		if (strncmp(name, "wd-", 3) == 0 && is_exiting(pids[i]))
			continue;
		trace->outlived++;
		strcpy(trace->outliver, name);
	}
}

static bool
is_over(const struct trace *trace)
{
	for (int i = 0; i < trace->role_count; i++) {
		if (trace->roles[i].is_traced)
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
		struct role *role = role_of(trace, pid);

		if (!WIFSTOPPED(status)) {
			note_death(trace, pid, status);
			continue;
		}
		if (role == NULL)
			role = add_role(trace, pid);
		attend_stop(trace, role, status);
	}
	return pid == 0;
}

bool
trace_await(struct trace *trace, bool all, int64_t deadline)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	sigset_t sigchld;

	(void)sigemptyset(&sigchld);
	(void)sigaddset(&sigchld, SIGCHLD);
	while (attend_all(trace)) {
		if (!all && is_over(trace))
			return true;
		if (now() > deadline)
			return false;
		(void)sigtimedwait(&sigchld, NULL, &pause);
	}
	return true;
}

void
trace_end(struct trace *trace)
{
	pid_t pids[CHILDREN_MAX];

	for (int i = 0; i < trace->role_count; i++) {
		const struct role *role = &trace->roles[i];

		if (!role->is_traced)
			continue;
		dprintf(STDOUT_FILENO, "  left: %d %s, state %c, in %s#%d\n",
		        (int)role->pid, role->name, state_of(role->pid),
		        role->call < 0 ? "?" : call_of(role->call)->name,
		        role->call < 0 ? 0 : role->counts[role->call]);
		(void)kill(role->pid, SIGKILL);
	}
	do {
		const int count = children_of(getpid(), pids);

		for (int i = 0; i < count; i++) {
			char name[32];

			name_of(pids[i], name);
			dprintf(STDOUT_FILENO, "  left: %d %s, state %c\n",
			        (int)pids[i], name, state_of(pids[i]));
			(void)kill(pids[i], SIGKILL);
		}
	} while (!trace_await(trace, true, now() + 2 * PAUSE));
}

void
trace_start(struct trace *trace, const struct program *program)
{
	int gate;
	const pid_t pid = gated_start(program, &gate);

	if (ptrace(PTRACE_SEIZE, pid, NULL, OPTIONS) == -1)
		give_up("ptrace");
	(void)close(gate);
	strcpy(add_role(trace, pid)->name, trace->root);
	trace->other_status = -1;
	trace->staged_status = -1;
}

void
trace_start_other(struct trace *trace, const struct program *program)
{
	int gate;

	trace->other = gated_start(program, &gate);
	(void)close(gate);
}
