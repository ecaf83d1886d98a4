/*
 * The protocol of a run: who watches whom, who ends whom, and in which order,
 * while a signal, a stop or SIGKILL may come between any two system calls.
 *
 * Each proctype is a process, and each of its steps a system call; the comment
 * names the function in src/ that makes the call. The environment can stop a
 * process anywhere (the "provided" clause), and kill it anywhere (the "unless"
 * clause). A timer may be due at any moment at which it is set.
 *
 * Left out: output, registry and messages; how the tree is found in /proc; and
 * more than one survivor.
 *
 * The promises are the assertions in Judge, which runs when no other process
 * can take a step, and in signal_number(). Each WITHOUT_... takes a safeguard
 * out; tests/model/run shows that an assertion fails then.
 */

/* The processes. Whoever adopts the children of two dead watchers is INIT. */
#define F    0 /* the front */
#define S    1 /* the supervisor */
#define T    2 /* the target */
#define D    3 /* a daemon of the target's: a survivor */
#define H    4 /* the supervisor's helper for the teardown */
#define G    5 /* the front's */
#define N    6
#define INIT 7

/* Values of life[]. What a process that is DYING still does, it does in the
 * kernel. The number of a process that is GONE may be another process's. */
#define NONE    0
#define RUNNING 1
#define STOPPED 2
#define DYING   3
#define ZOMBIE  4
#define GONE    5

/* How the target ended; the last two only: how wdrun ended. */
#define BY_ITSELF 1
#define BY_TERM   2
#define BY_KILL   3
#define TIMED_OUT 4 /* status 124 */
#define FAILED    5 /* status 125 */

/* enum state of watchdog.h, whose RUNNING is named ALIVE here. */
#define ALIVE     0
#define LINGERING 1
#define STOPPING  2
#define KILLING   3
#define DONE      4

#ifndef KILLS
#define KILLS 2 /* how many processes are sent SIGKILL from outside */
#endif

byte life[N];
byte parent[N];
bool was_killed[N]; /* from outside */
bool pdeathsig[N];  /* PR_SET_PDEATHSIG is armed */
bool holds_lifeline[N];
bool holds_lock[N];

/* Pending signals, by the process that they are for. */
bool child_f, cont_f, order_f, term_f; /* order_f: SIGNAL_TO_STOP */
bool child_s, cont_s, term_s;
bool term_t, term_d;
bool stop_of_s_is_news, stop_of_t_is_news; /* for waitid(2), WSTOPPED */

/* The entries of the status pipe, and what lies in shared memory. */
bool sent_target, sent_timeout;
byte sent_outcome;
bool teardown_is_done;

bool was_executed;
byte target_end;   /* how the target ended in truth */
bool lock_file = true;
bool was_reported;
byte wdrun_end;    /* what the process that started wdrun reads */
byte state = ALIVE;

#define LIVES(p) (life[p] == RUNNING || life[p] == STOPPED)
#define IS_DEAD(p) (life[p] == NONE || life[p] == ZOMBIE || life[p] == GONE)

/* ---- the kernel ---- */

/* By exit(2), or by SIGKILL: then it takes a moment until P has noticed. */
inline begin_to_die(p)
{
	life[p] = DYING
}

/* exit_files() */
inline close_all(p)
{
	holds_lifeline[p] = false;
	holds_lock[p] = false
}

inline deliver_kill(p)
{
	if
	:: LIVES(p) ->
		if
		:: p == T && target_end == 0 -> target_end = BY_KILL
		:: else
		fi;
		begin_to_die(p)
	:: else
	fi
}

inline deliver_cont(p)
{
	if
	:: life[p] == STOPPED -> life[p] = RUNNING
	:: else
	fi
}

/* kill(2) finds whoever has the number now. */
#define signal_number(p) assert(life[p] != GONE)

/* SIGCHLD. INIT reaps the dead at once. */
inline tell_parent(p)
{
	if
	:: parent[p] == INIT && life[p] == ZOMBIE -> life[p] = GONE
	:: parent[p] == INIT && life[p] != ZOMBIE
	:: parent[p] == F -> child_f = true
	:: parent[p] == S -> child_s = true
	:: else
	fi
}

/* forget_original_parent(): the new parent is the nearest subreaper above that
 * lives. Whoever asked for a signal at this moment gets it. */
hidden byte c;
inline give_children_away(p)
{
	for (c : 0 .. N - 1) {
		if
		:: parent[c] == p && life[c] != NONE && life[c] != GONE ->
			if
			:: p == T && parent[T] == S && LIVES(S) -> parent[c] = S
#ifdef WITHOUT_SUBREAPER
			:: else -> parent[c] = INIT
#else
			:: else ->
				if
				:: p != F && parent[p] != INIT && LIVES(F) ->
					parent[c] = F
				:: else -> parent[c] = INIT
				fi
#endif
			fi;
			if
			:: pdeathsig[c] && c == S -> deliver_cont(S)
			:: pdeathsig[c] && c != S -> deliver_kill(c)
			:: else
			fi;
			if
			:: life[c] == ZOMBIE -> tell_parent(c)
			:: else
			fi
		:: else
		fi
	}
}

/* exit_notify() */
inline become_zombie(p)
{
	life[p] = ZOMBIE;
	tell_parent(p)
}

/* do_exit(). After it, a process sets its variables to 0: states that differ
 * only in what no process reads any more would be searched time and again. */
inline exit_from(p)
{
	close_all(p);
	give_children_away(p);
	become_zombie(p)
}

/* ---- the command ---- */

/* Ends by itself; by SIGTERM; or by neither. */
proctype Daemon() provided (life[D] != STOPPED)
{
	{
	if
	:: true
	:: atomic { term_d -> term_d = false }
	:: true -> false
	fi;
	atomic { begin_to_die(D) };
	false
	} unless {
		d_step { life[D] == DYING -> exit_from(D); term_d = false }
	}
}

proctype Target() provided (life[T] != STOPPED)
{
	{
	/* target.c, become_target */
#ifndef WITHOUT_PDEATHSIG
	pdeathsig[T] = true;
#endif
#ifndef WITHOUT_GETPPID
	if
	:: parent[T] == S
	:: else -> goto end
	fi;
#endif
	atomic { /* execve(2) closes what is O_CLOEXEC */
		was_executed = true;
#ifndef WITHOUT_CLOEXEC
		holds_lifeline[T] = false
#endif
	};
	if
	:: atomic {
		life[D] = RUNNING;
		parent[D] = T;
		holds_lifeline[D] = holds_lifeline[T];
		run Daemon()
	   }
	:: true
	fi;
	if
	:: true
	:: atomic { term_t -> target_end = BY_TERM; begin_to_die(T) }
	:: true -> false
	fi;
end:
	atomic { target_end = BY_ITSELF; begin_to_die(T) };
	false
	} unless {
		d_step { life[T] == DYING ->
			exit_from(T);
			term_t = false;
			stop_of_t_is_news = false }
	}
}

/* ---- what the watchers have in common ---- */

/* One look at the tree, and a signal to what was found. The target is signalled
 * by its number, which is its own while a watcher keeps the zombie. A survivor
 * is signalled by a pidfd, which finds the process or nobody. */
inline kill_tree()
{
	atomic {
		if
		:: has_target -> signal_number(T)
		:: else
		fi;
		deliver_kill(T)
	};
	atomic { deliver_kill(D) }
}

inline ask_tree_to_end()
{
	atomic { signal_number(T); term_t = true; deliver_cont(T) };
	atomic { term_d = true; deliver_cont(D) }
}

/* supervisor.c, tree_is_empty: waitid(2) finds no living child. Helpers are
 * clone children, which it does not see. */
#define HAS_LIVING_CHILD(self) \
	(((LIVES(T) || life[T] == DYING) && parent[T] == self) || \
	 ((LIVES(D) || life[D] == DYING) && parent[D] == self))

/* supervisor.c, reap_orphans: the target is noted and kept, with WNOWAIT. */
inline reap_orphans(self)
{
	do
	:: atomic { life[D] == ZOMBIE && parent[D] == self -> life[D] = GONE }
	:: atomic {
		life[T] == ZOMBIE && parent[T] == self && noted_end == 0 ->
		if
		:: has_target ->
			noted_end = target_end;
			exited_by_itself = (state == ALIVE);
#ifdef WITHOUT_WNOWAIT
			life[T] = GONE
#endif
		:: else -> life[T] = GONE
		fi
	   }
	:: else -> break
	od
}

/* teardown.c, put_in_order, in a helper that holds the locks as well. */
inline put_in_order(self)
{
#ifdef WITHOUT_DONE_LAST
	teardown_is_done = true;
#endif
	lock_file = false;
	teardown_is_done = true;
	atomic { begin_to_die(self) }
}

proctype Supervisors_helper() provided (life[H] != STOPPED)
{
	{
	put_in_order(H);
	false
	} unless {
		d_step { life[H] == DYING -> exit_from(H) }
	}
}

proctype Fronts_helper() provided (life[G] != STOPPED)
{
	{
	put_in_order(G);
	false
	} unless {
		d_step { life[G] == DYING -> exit_from(G) }
	}
}

/* teardown.c, do_in_time: a second helper, where the first was killed. */
inline do_teardown(self, helper)
{
	tries = 0;
	do
	:: tries < 2 && !teardown_is_done ->
		atomic {
			life[helper] = RUNNING;
			parent[helper] = self;
			pdeathsig[helper] = true;
			holds_lock[helper] = true;
			if
			:: helper == H -> run Supervisors_helper()
			:: else -> run Fronts_helper()
			fi
		};
		atomic { life[helper] == ZOMBIE -> life[helper] = GONE };
		tries++
	:: else -> break
	od
}

/* decide.c, run_outcome */
inline run_outcome(result)
{
	if
	:: noted_end != 0 && (exited_by_itself || !sent_timeout) ->
		result = noted_end
	:: noted_end == 0 && !sent_timeout -> result = FAILED
	:: else -> result = TIMED_OUT
	fi
}

/* ---- the supervisor: watchdog.c, be_supervisor ---- */

/* jobcontrol.c, signal_front. The front's parent is not ours: so the number
 * may be another's as soon as the front is dead. */
inline order_front_to_stop()
{
	atomic {
		if
		:: LIVES(F) -> order_f = true
		:: else
		fi
	}
}

/* jobcontrol.c, jobcontrol_wake. SIGCONT continues the front at once, and stays
 * pending. It is sent until the front has answered. */
#define WAKES_FRONT \
	(is_waking && LIVES(F) && (life[F] == STOPPED || !cont_f) && !cont_s)

inline wake_front()
{
#ifdef WITHOUT_WAKE_LOOP
	is_waking = false;
#endif
	deliver_cont(F);
	cont_f = true
}

proctype Supervisor() provided (life[S] != STOPPED)
{
	bool has_target, exited_by_itself, front_is_lost, timer_is_due;
	bool front_is_stopped, is_waking, is_paused, is_cancelled, has_work;
	byte noted_end, tries, signalled;

	{
	/* supervisor_prepare */
#ifndef WITHOUT_CONT_AT_LOSS
	pdeathsig[S] = true;
#endif
#ifndef WITHOUT_CLOSED_LIFELINE
	holds_lifeline[S] = false;
#endif
	atomic { /* target_start */
		life[T] = RUNNING;
		parent[T] = S;
		holds_lifeline[T] = holds_lifeline[S];
		has_target = true;
		run Target()
	};
	sent_target = true;

	do
	:: state == DONE -> break
	:: else ->
		/* supervisor_wait: what came? Each timer in its states. */
		if
		:: atomic { has_work -> has_work = false }
		:: atomic { child_s -> child_s = false }
		:: atomic { !front_is_lost && !holds_lifeline[F] &&
		            !holds_lifeline[S] && !holds_lifeline[T] &&
		            !holds_lifeline[D] ->
			front_is_lost = true;
			front_is_stopped = false;
			is_waking = false }
		:: atomic { term_s -> term_s = false; is_cancelled = true }
		:: atomic { cont_s -> /* jobcontrol_continue */
			cont_s = false;
			front_is_stopped = false;
			is_waking = false;
			is_paused = false;
			deliver_cont(T) }
		:: atomic { WAKES_FRONT -> wake_front() }
		:: atomic { state < STOPPING && noted_end == 0 && !is_paused ->
			timer_is_due = true } /* --timeout */
		:: atomic { state == LINGERING && !is_paused ->
			timer_is_due = true } /* --idle-after-exit */
		:: atomic { state == STOPPING ->
			timer_is_due = true } /* --kill-after */
		:: state == KILLING && (LIVES(T) || LIVES(D)) ->
			kill_tree() /* the next round */
		fi;

		/* supervisor_attend */
		reap_orphans(S);
		if
		:: atomic { noted_end != 0 && front_is_stopped ->
			is_paused = false; /* jobcontrol_end */
			is_waking = true }
		:: else
		fi;
		if
		:: atomic { stop_of_t_is_news && life[T] == STOPPED &&
		            parent[T] == S ->
			stop_of_t_is_news = false; /* jobcontrol_follow */
			front_is_stopped = true;
			is_waking = false;
			is_paused = (state < STOPPING) };
			order_front_to_stop()
		:: else
		fi;

		/* decide, enter */
		if
		:: atomic { noted_end != 0 && !HAS_LIVING_CHILD(S) ->
			timer_is_due = false;
			state = DONE }
		:: atomic { else ->
			if
			:: front_is_lost && state < KILLING ->
				state = KILLING;
				has_work = false
			:: else ->
				if
				:: state == ALIVE && noted_end != 0 ->
					state = LINGERING;
					has_work = true
				:: else ->
					if
					:: state < STOPPING &&
					   (is_cancelled || timer_is_due) ->
						sent_timeout = (!is_cancelled &&
							state == ALIVE);
						state = STOPPING
					:: state == STOPPING && timer_is_due ->
						state = KILLING
					:: else -> skip
					fi
				fi
			fi;
			timer_is_due = false
		   };
		   /* The first signal of a new state. */
		   if
		   :: atomic { state == STOPPING && signalled < STOPPING ->
			signalled = STOPPING;
			is_paused = false };
			ask_tree_to_end()
		   :: atomic { state == KILLING && signalled < KILLING ->
			signalled = KILLING;
			is_paused = false };
			kill_tree()
		   :: else
		   fi
		fi
	od;

	atomic { run_outcome(sent_outcome) }; /* statuspipe_send_outcome */
	atomic { /* finish */
		if
		:: life[T] == ZOMBIE && parent[T] == S -> life[T] = GONE
		:: else
		fi;
		has_target = false
	};
	reap_orphans(S);
	do_teardown(S, H);
	is_waking = front_is_stopped; /* wake_front */
	do
	:: atomic { WAKES_FRONT -> wake_front() }
	:: cont_s -> cont_s = false; is_waking = false; break
	:: !is_waking || !holds_lifeline[F] -> break
	od;
	if
	:: !holds_lifeline[F] -> was_reported = true
	:: else
	fi;
	atomic { begin_to_die(S) };
	false
	} unless {
		/* The children have a new parent before this is a zombie. */
		d_step { life[S] == DYING ->
			close_all(S);
			give_children_away(S);
			child_s = false; cont_s = false; term_s = false;
			stop_of_s_is_news = false;
			has_target = false; exited_by_itself = false;
			front_is_lost = false; timer_is_due = false;
			front_is_stopped = false; is_waking = false;
			is_paused = false; is_cancelled = false;
			has_work = false;
			noted_end = 0; tries = 0; signalled = 0 };
		d_step { become_zombie(S) }
	}
}

/* ---- the front: watchdog.c, main; front.c ---- */

proctype Front() provided (life[F] != STOPPED)
{
	bool has_target, exited_by_itself;
	byte noted_end, tries, outcome;

	{
	/* main, process_fork */
	atomic {
		life[S] = RUNNING;
		parent[S] = F;
		holds_lifeline[S] = true;
		holds_lock[S] = true;
		run Supervisor()
	};

	/* front_watch */
	do
	:: atomic { order_f -> order_f = false };
		/* stop: raising the stop signal drops a pending SIGCONT */
		atomic { cont_f = false; life[F] = STOPPED }
	:: atomic { cont_f -> cont_f = false; order_f = false };
		/* attend: drop_orders_to_stop, forward */
		atomic { signal_number(S); cont_s = true }
	:: atomic { term_f -> term_f = false };
		atomic { signal_number(S); term_s = true }
	:: atomic { child_f -> child_f = false };
		/* supervisor_is_dead */
		if
		:: atomic { stop_of_s_is_news && life[S] == STOPPED ->
			stop_of_s_is_news = false;
			signal_number(S);
			deliver_cont(S) }
		:: else
		fi;
		if
		:: atomic { life[S] == ZOMBIE -> life[S] = GONE }; break
		:: else
		fi;
		/* target_is_ours */
		if
		:: life[T] == ZOMBIE && parent[T] == F ->
			outcome = sent_outcome; /* statuspipe_read */
			if
			:: sent_target -> break
			:: else -> life[T] = GONE
			fi
		:: else
		fi;
		if
		:: atomic { life[D] == ZOMBIE && parent[D] == F ->
			life[D] = GONE }
		:: else
		fi
	od;

#ifndef WITHOUT_LAST_READ
	outcome = sent_outcome; /* statuspipe_read */
#endif
	if
	:: outcome == 0 -> /* prepare_to_take_over, take_over */
		has_target = sent_target;
		state = KILLING;
		do
		:: LIVES(T) || LIVES(D) -> kill_tree()
		:: else ->
			reap_orphans(F);
			if
			:: atomic { !HAS_LIVING_CHILD(F) && !LIVES(T) &&
			            !LIVES(D) -> break }
			:: else
			fi
		od;
		reap_orphans(F);
		atomic { run_outcome(outcome) }
	:: else ->
#ifndef WITHOUT_AWAIT_HELPERS
		!LIVES(H) && life[H] != DYING /* await_helpers */
#endif
	fi;
	atomic { /* finish, when no number is signalled any more */
		if
		:: life[T] == ZOMBIE && parent[T] == F -> life[T] = GONE
		:: else
		fi
	};

	/* leave */
	do_teardown(F, G);
	was_reported = true;
	atomic {
		/* Nothing survives, and the lock is free, when wdrun returns. */
		assert(IS_DEAD(T) && IS_DEAD(D));
		assert(!lock_file && !holds_lock[S] && !holds_lock[H]);
		wdrun_end = outcome;
		begin_to_die(F)
	};
	false
	} unless {
		d_step { life[F] == DYING ->
			exit_from(F);
			child_f = false; cont_f = false;
			order_f = false; term_f = false;
			has_target = false; exited_by_itself = false;
			noted_end = 0; tries = 0; outcome = 0 }
	}
}

/* ---- what comes from outside ---- */

inline kill_from_outside(p)
{
	was_killed[p] = true;
	deliver_kill(p);
	kills++
}

/* One process for all that comes from outside, since each process that may do
 * nothing more doubles the states. */
active proctype Environment()
{
	byte kills;
	bool has_cancelled;
#ifdef STOPS
	bool has_stopped;
#endif
#ifdef TERMINAL
	byte keys;
#endif

	do
	:: atomic { kills < KILLS && LIVES(F) -> kill_from_outside(F) }
	:: atomic { kills < KILLS && LIVES(S) -> kill_from_outside(S) }
	:: atomic { kills < KILLS && LIVES(H) -> kill_from_outside(H) }
	:: atomic { kills < KILLS && LIVES(G) -> kill_from_outside(G) }
	/* A terminating signal, to front or supervisor. */
	:: atomic { !has_cancelled && LIVES(F) ->
		has_cancelled = true;
		term_f = true }
	:: atomic { !has_cancelled && LIVES(S) ->
		has_cancelled = true;
		term_s = true }
#ifdef STOPS
	/* SIGSTOP to the supervisor, sent by somebody who never undoes it. Where
	 * the front is dead already, nobody else does: a limit that the manual
	 * tells. */
	:: atomic { !has_stopped && life[S] == RUNNING && LIVES(F) &&
	            was_executed ->
		has_stopped = true;
		life[S] = STOPPED;
		stop_of_s_is_news = true;
		tell_parent(S) }
#endif
#ifdef TERMINAL
	/* Ctrl-Z stops the target, in whose group the front is; "fg" continues
	 * both. */
	:: atomic { keys == 0 && life[T] == RUNNING && was_executed ->
		keys = 1;
		life[T] = STOPPED;
		stop_of_t_is_news = true;
		tell_parent(T) }
	:: atomic { keys == 1 && life[F] == STOPPED ->
		keys = 2;
		life[F] = RUNNING;
		cont_f = true;
		deliver_cont(T) }
#endif
	:: break
	od
}

/* ---- the promises ---- */

active proctype Judge()
{
	timeout; /* nobody can take a step any more */

	if
	:: life[F] == STOPPED ->
		/* The job is stopped, and waits for its shell. */
		assert((life[T] == STOPPED && LIVES(S)) || was_killed[S] ||
		       life[S] == STOPPED)
	:: life[F] != STOPPED && was_killed[F] &&
	   (was_killed[S] || life[S] == NONE) ->
		/* --reap finds the daemon. */
		assert(IS_DEAD(T));
		assert(!holds_lock[F] && !holds_lock[S] && !holds_lock[H] &&
		       !holds_lock[G])
	:: else ->
		/* Nothing hangs. */
		assert(IS_DEAD(F) && IS_DEAD(S) && IS_DEAD(H) && IS_DEAD(G));
		/* Nothing survives. */
		assert(IS_DEAD(T) && IS_DEAD(D));
		/* No lock outlives its run. */
		assert(!lock_file && !holds_lock[F] && !holds_lock[S] &&
		       !holds_lock[H] && !holds_lock[G]);
		if
		:: was_killed[F]
		:: else ->
			/* The status is true. */
			assert(wdrun_end == target_end ||
			       (wdrun_end == TIMED_OUT && sent_timeout) ||
			       (wdrun_end == FAILED && was_killed[S] &&
			        !(was_executed && sent_target)));
			assert(was_reported)
		fi
	fi
}

init {
	atomic {
		parent[F] = INIT;
		life[F] = RUNNING;
		holds_lifeline[F] = true;
		holds_lock[F] = true;
		run Front()
	}
}
