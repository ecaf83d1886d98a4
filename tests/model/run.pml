/*
 * Orders, facts, and the two deaths: what front and supervisor tell each other,
 * and what each does when the other is killed. A document that can be checked:
 * "make model" (needs spin(1) and cc). Not part of "make check".
 *
 * Kernel facts in it. A stop signal discards a pending SIGCONT as it is sent,
 * and SIGCONT a pending stop signal, and SIGCONT continues although it is
 * blocked: prepare_signal(). SIGCHLD is one bit: it may stand for many.
 * Pending signals stay readable. A dead parent has sent its PDEATHSIG.
 */
#define STOPS 2 /* Ctrl-Z, and suspends and continues from elsewhere */

mtype = { TSTP, CONT, TERM,                    /* struct order */
	  RUNS, HALTED, DEAD };                /* the tree */

chan orders = [6] of { mtype }; /* front -> supervisor: in the facts */
bool woken;                     /* SIGCHLD or SIGCONT of the front, pending in the supervisor */
bool front_is_lost;
byte suspends;                     /* supervisor -> front: in the facts */
bool has_stop, has_outcome;     /* as well */

bool shares;                    /* target.shares_group */
mtype tree = RUNS;
bool tree_news;                 /* SIGCHLD in the supervisor, about the target */
bool was_continued;             /* CLD_CONTINUED is to be waited for */
bool chld, cont, tstp, term;    /* pending in the front */
bool cont_is_own;               /* CONT is the supervisor's: si_pid */
bool halted;                    /* the front is stopped */
bool front_is_dead, supervisor_is_dead, front_ended, supervisor_ended;
bool hangs;                     /* the supervisor, in a file system */
bool locks = true;
byte killed;

#define FRONT_RUNS (!halted && !front_is_dead)

inline send_cont_to_front() { atomic { tstp = false; halted = false; if :: !cont -> cont_is_own = false :: else fi; cont = !front_is_dead } }
inline signal_cont()        { atomic { if :: !supervisor_is_dead -> tstp = false; halted = false; if :: !cont -> cont_is_own = true :: else fi; cont = !front_is_dead :: else fi } }
inline continue_front()     { if :: suspends % 2 == 1 && !supervisor_is_dead -> suspends++; signal_cont() :: else fi }
inline pass_cont()          { cont = false; if :: !cont_is_own -> order(CONT) :: else fi }
inline send_tstp_to_front() { atomic { cont = false; tstp = true } }
inline halt_tree()          { atomic { if :: tree == RUNS -> tree = HALTED; tree_news = true :: else fi } }
inline continue_tree()      { atomic { if :: tree == HALTED -> tree = RUNS; was_continued = true; tree_news = true :: else fi } }
inline kill_tree()          { atomic { tree = DEAD; tree_news = true } }
inline order(o) {                                      /* send_order; the front may die between */
	if :: nfull(orders) -> orders!o :: supervisor_is_dead || front_is_dead -> skip fi;
	atomic { if :: !front_is_dead -> woken = true :: else fi }
}
inline teardown()           { locks = false }            /* each step is idempotent */

/* --- front.c ------------------------------------------------------------- */
proctype front() {
	bool deadline, is_dead; byte seen;
	do
	:: FRONT_RUNS && (chld || tstp || cont || term || (deadline && hangs)) ->
	   if                                             /* watch_supervisor */
	   :: chld -> chld = false; is_dead = supervisor_is_dead;
	      deadline = deadline || has_stop || has_outcome /* look_at_facts */
	   :: tstp -> tstp = false; order(TSTP)           /* front_pass_on */
	   :: cont -> pass_cont()
	   :: term -> term = false; order(TERM); deadline = true
	   :: deadline && hangs && !supervisor_is_dead -> /* end_late_supervisor: SIGKILL */
	      atomic { supervisor_is_dead = true; hangs = false; kill_tree(); chld = true }
	   :: else                                        /* another process was faster */
	   fi;
	   if
	   :: front_is_dead -> goto killed_front
	   :: is_dead && !front_is_dead -> break
	   :: else
	   fi;
	   if                                             /* front_suspend_job */
	   :: suspends != seen ->
	      seen = suspends;
	      if
	      :: seen % 2 == 1 ->
	         if :: tstp -> tstp = false; order(TSTP) :: cont -> pass_cont() :: else fi;
	         atomic { cont = false; tstp = true };    /* kill(getpid(), SIGTSTP), blocked */
	         if
	         :: suspends != seen -> tstp = false
	         :: else -> atomic { halted = tstp && !front_is_dead; tstp = false } /* signal_deliver */
	         fi;
	         (FRONT_RUNS || front_is_dead)
	      :: else
	      fi
	   :: else
	   fi
	:: front_is_dead -> goto killed_front
	od;
	if
	:: has_outcome && supervisor_ended -> skip        /* end_front */
	:: has_outcome && !supervisor_ended -> teardown() /* killed behind its outcome: finish */
	:: !has_outcome && !supervisor_ended -> kill_tree(); teardown() /* take_over */
	:: !has_outcome && supervisor_ended -> assert(false)
	fi;
	front_ended = true;
killed_front:
	skip
}

/* --- supervisor.c, watchdog.c -------------------------------------------- */
proctype supervisor() {
	bool target_is_suspended, stopping; mtype o;
	do
	:: supervisor_is_dead -> goto killed_supervisor
	:: !supervisor_is_dead && tree_news ->            /* attend: reap, supervisor_follow_target */
	   tree_news = false;
	   if
	   :: tree == DEAD -> break                       /* REASON_TREE_EMPTY */
	   :: tree == HALTED && !target_is_suspended ->
	      target_is_suspended = true;
	      if                                          /* suspend_with_target: SIGCHLD */
	      :: suspends % 2 == 0 && !supervisor_is_dead -> suspends++; atomic { if :: !supervisor_is_dead -> chld = true :: else fi }
	      :: else
	      fi
	   :: tree == RUNS && was_continued ->
	      target_is_suspended = false; was_continued = false;
	      continue_front()                            /* resume_with_target */
	   :: else
	   fi
	:: !supervisor_is_dead && woken ->                /* supervisor_wait */
	   woken = false;
	   front_is_lost = front_is_dead;                 /* supervisor_has_front */
	   do
	   :: supervisor_is_dead -> goto killed_supervisor
	   :: atomic { !supervisor_is_dead && nempty(orders) -> orders?o }; /* look_at_facts, obey */
	      if
	      :: o == TSTP && !shares && !stopping -> halt_tree() /* else the terminal has done it */
	      :: o == TSTP && (shares || stopping) -> skip
	      :: o == CONT ->
	         continue_tree();                         /* tree_signal_target; all of the job has it */
	         continue_front()
	      :: o == TERM ->                             /* enter(STOPPING), and --kill-after */
	         stopping = true; has_stop = true; chld = true;
	         kill_tree()
	      fi
	   :: !supervisor_is_dead && empty(orders) -> break
	   od;
	   if :: front_is_lost -> kill_tree(); break :: else fi /* REASON_FRONT_LOST */
	od;
	if :: supervisor_is_dead -> goto killed_supervisor :: else fi;
	has_outcome = true;                               /* run_outcome, supervisor_tell_outcome */
	continue_front();
	chld = true;                                      /* urgent, as there are locks */
	if
	:: hangs = true; (supervisor_is_dead || front_is_dead); hangs = false /* a file system */
	:: skip
	fi;
	if :: supervisor_is_dead -> goto killed_supervisor :: else -> teardown() fi;
	atomic {
		if :: !supervisor_is_dead -> supervisor_is_dead = true; supervisor_ended = true :: else fi;
		chld = true
	}
killed_supervisor:
	skip
}

/* --- what others do ------------------------------------------------------- */
active proctype world() {
	byte i;
	if :: shares = true :: shares = false fi;
	run front(); run supervisor();
	do
	:: i < STOPS -> i++;                              /* Ctrl-Z: the group of the job */
	   atomic { send_tstp_to_front(); if :: shares -> halt_tree() :: else fi }
	:: i < STOPS -> i++; halt_tree()                  /* kill -STOP of the target */
	:: i < STOPS -> i++; continue_tree()              /* kill -CONT of the target */
	:: i < STOPS -> i++; send_cont_to_front()         /* kill -CONT of the front */
	:: i < STOPS -> i++; term = true
	:: break
	od
}

active proctype killer() {
	do
	:: killed < 2 && !front_is_dead && !front_ended ->
	   atomic { killed++; front_is_dead = true; halted = false; woken = true }
	:: killed < 2 && !supervisor_is_dead ->           /* PDEATHSIG, SIGCHLD */
	   atomic { killed++; supervisor_is_dead = true; hangs = false; kill_tree(); chld = true }
	:: break
	od
}

/* The shell: fg, as often as the job is stopped. And the command ends, if it runs. */
active proctype shell() {
end:	do
	:: timeout && halted && (tree == HALTED || (supervisor_is_dead && !supervisor_ended)) ->
	   atomic { send_cont_to_front(); if :: shares -> continue_tree() :: else fi }
	:: timeout && !halted && tree == HALTED -> continue_tree() /* its stopper, kill -CONT */
	:: timeout && tree == RUNS && !halted ->
	   /* No order, and no death of the front, waits for the command's end. */
	   assert(supervisor_is_dead || !front_is_dead && empty(orders));
	   kill_tree()
	:: timeout && (front_ended || front_is_dead) && supervisor_is_dead && tree == DEAD ->
	   /* Both were killed: the kernel kills target and frees the locks. */
	   assert(front_is_dead && !supervisor_ended || !locks);
	   break
	od
}
