/*
 * Orders, facts, and the two deaths: what front and supervisor tell each other,
 * and what each does when the other is killed. A document that can be checked:
 * "make model" (needs spin(1) and cc). Not part of "make check".
 *
 * Kernel facts in it. A stop signal discards a pending SIGCONT as it is sent,
 * and SIGCONT a pending stop signal, and SIGCONT continues although it is
 * blocked: prepare_signal(). SIGCHLD is one bit: it may stand for many.
 * Pending signals stay readable. A dead parent has sent its PDEATHSIG.
 *
 * It asserts: no front stays stopped beside a tree that runs, none runs for ever
 * beside one that is stopped, no order is left, and no lock outlives its run.
 */
#define STOPS 2 /* Ctrl-Z, and suspends and continues from elsewhere */

mtype = { RUNS, HALTED, DEAD };    /* the tree */

bool o_tstp, o_cont, o_term;    /* front -> supervisor: facts.orders */
bool woken;                     /* SIGCHLD or SIGCONT of the front, pending in the supervisor */
bool front_is_lost;             /* supervisor.front_is_dead */
byte undone;                    /* front -> supervisor: facts.undone_stop */
byte stop, stops;               /* supervisor -> front: facts.stop; 0: go on */
bool front_stops;               /* front -> supervisor */
bool handles, continued;        /* the front has a handler of SIGCONT, which has run */
bool has_stop, has_outcome;     /* as well */

bool shares;                    /* run.shares_group */
mtype tree = RUNS;
bool tree_news;                 /* SIGCHLD in the supervisor, about the target */
bool was_halted, was_continued; /* CLD_STOPPED, CLD_CONTINUED are to be waited for */
bool ended;                     /* the target is reaped: TREE is its survivors */
bool target_stop, stop_order;   /* in the supervisor */
bool owed;                      /* the last that came to the front is SIGCONT */
bool chld, cont, tstp, term;    /* pending in the front */
bool cont_is_own;               /* CONT is the supervisor's: si_pid */
bool halted;                    /* the front is stopped */
bool front_is_dead, supervisor_is_dead, front_ended, supervisor_ended;
bool hangs;                     /* the supervisor, in a file system */
bool locks = true;
byte killed;

#define FRONT_RUNS (!halted && !front_is_dead)

inline take_cont(own)       { if :: handles -> continued = true :: else -> if :: !cont -> cont_is_own = own :: else -> cont_is_own = cont_is_own && own fi; cont = true fi }
inline send_cont_to_front() { atomic { if :: !front_is_dead -> owed = true; tstp = false; halted = false; take_cont(false) :: else fi } }
inline signal_cont()        { atomic { if :: !supervisor_is_dead && !front_is_dead -> tstp = false; halted = false; take_cont(true) :: else fi } }
inline signal_chld()        { atomic { if :: !supervisor_is_dead -> chld = true :: else fi } }
inline send_tstp_to_front() { atomic { cont = false; tstp = true } }
inline halt_tree()          { atomic { if :: tree == RUNS -> tree = HALTED; was_halted = !ended; was_continued = false; tree_news = true :: else fi } }
inline continue_tree()      { atomic { if :: tree == HALTED -> tree = RUNS; was_continued = !ended; was_halted = false; tree_news = true :: else fi } }
inline kill_tree()          { atomic { tree = DEAD; tree_news = true } }
/* order_give(), which merges; the front may die between that and the signal */
inline wake()               { atomic { if :: !front_is_dead -> woken = true :: else fi } }
inline order_tstp()         { atomic { if :: !front_is_dead -> o_tstp = true :: else fi }; wake() }
inline order_cont()         { atomic { if :: !front_is_dead -> o_cont = true; o_tstp = false :: else fi }; wake() }
inline order_term()         { atomic { if :: !front_is_dead -> o_term = true :: else fi }; wake() }
inline pass_cont()          { cont = false; if :: !cont_is_own -> undone = 0; order_cont() :: else fi }
/* follow_stop(), with the target's stop or, after its end, that of the order */
inline new_stop()           { if :: !supervisor_is_dead -> stops++; stop = stops; signal_chld() :: else fi }
inline no_stop()            { if :: stop != 0 && !supervisor_is_dead -> stop = 0; if :: front_stops -> signal_cont() :: else fi :: else fi }
inline follow_target() {
	if
	:: atomic { was_halted -> was_halted = false }; target_stop = true; new_stop()
	:: atomic { was_continued -> was_continued = false }; target_stop = false; stop_order = false; no_stop()
	:: else
	fi
}
inline teardown()           { locks = false }            /* each step is idempotent */

/* --- front.c ------------------------------------------------------------- */
proctype front() {
	bool deadline, is_dead; byte seen;
	do
	:: FRONT_RUNS && (chld || tstp || cont || term || (deadline && hangs)) ->
	   if                                             /* front_watch */
	   :: chld -> chld = false; is_dead = supervisor_is_dead;
	      deadline = deadline || has_stop || has_outcome /* look_at_facts */
	   :: tstp -> tstp = false; order_tstp()          /* pass_on */
	   :: cont -> pass_cont()
	   :: term -> term = false; order_term(); deadline = true
	   :: deadline && hangs && !supervisor_is_dead -> /* end_late_supervisor: SIGKILL */
	      atomic { supervisor_is_dead = true; hangs = false; kill_tree(); chld = true }
	   :: else                                        /* another process was faster */
	   fi;
	   if
	   :: front_is_dead -> goto killed_front
	   :: is_dead && !front_is_dead -> break
	   :: else
	   fi;
	   if                                             /* stop_job */
	   :: stop != seen ->
	      seen = stop;
	      if
	      :: seen != 0 ->
	         if :: tstp -> tstp = false; order_tstp() :: else fi;
	         front_stops = true;
	         atomic { handles = true; continued = cont; cont = false };
	         if :: !continued && stop == seen -> atomic { tstp = true } /* kill(getpid(), SIGTSTP) */
	         :: else fi;
	         if                                       /* signal_deliver */
	         :: !continued && stop == seen -> atomic { halted = tstp && !front_is_dead; tstp = false }
	         :: else -> tstp = false
	         fi;
	         (FRONT_RUNS || front_is_dead);
	         front_stops = false;
	         handles = false;
	         if :: stop == seen -> undone = seen; order_cont() :: else fi
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
	bool stopping, is_reaped, now_tstp, now_cont, now_term;
	do
	:: supervisor_is_dead -> goto killed_supervisor
	:: !supervisor_is_dead && tree_news ->            /* supervisor_run_once(): reap, follow_target */
	   tree_news = false;
	   if
	   :: tree == DEAD -> break                       /* REASON_TREE_EMPTY */
	   :: tree != DEAD && ended && !is_reaped -> is_reaped = true; target_stop = false; stop_order = false; no_stop()
	   :: else -> follow_target()
	   fi
	:: !supervisor_is_dead && woken ->                /* supervisor_run_once, take_orders */
	   woken = false;
	   front_is_lost = front_is_dead;                 /* supervisor_run_once() */
	   atomic { now_tstp = o_tstp; now_cont = o_cont; now_term = o_term; o_tstp = false; o_cont = false; o_term = false };
	   if                                             /* enter(STOPPING), and --kill-after */
	   :: now_term && !supervisor_is_dead -> stopping = true; has_stop = true; chld = true; kill_tree()
	   :: else
	   fi;
	   if                                             /* obey_continue, of the lower number */
	   :: now_cont && !supervisor_is_dead ->
	      follow_target();
	      if
	      :: stop != 0 && undone != 0 && stop != undone && shares && !is_reaped /* stopped again */
	      :: else ->
	         if :: target_stop || !shares || stop_order -> continue_tree() :: else fi;
	         stop_order = false;
	         follow_target();
	         if :: is_reaped -> no_stop() :: else fi
	      fi
	   :: else
	   fi;
	   if                                             /* obey_stop */
	   :: now_tstp && !stopping && !supervisor_is_dead ->
	      follow_target();
	      stop_order = true;
	      if :: !shares -> halt_tree() :: else fi;    /* else the terminal has done it */
	      if :: is_reaped && stop == 0 -> new_stop() :: else fi
	   :: else
	   fi;
	   if :: front_is_lost -> kill_tree(); break :: else fi /* REASON_FRONT_LOST */
	od;
	if :: supervisor_is_dead -> goto killed_supervisor :: else fi;
	has_outcome = true;                               /* run_outcome, supervisor_tell_phase */
	no_stop();
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
	   atomic { owed = false; send_tstp_to_front(); if :: shares -> halt_tree() :: else fi }
	:: i < STOPS -> i++; atomic { owed = false; halt_tree() }              /* kill -STOP of the target */
	:: i < STOPS -> i++; continue_tree()              /* kill -CONT of the target */
	:: i < STOPS -> i++; send_cont_to_front()         /* kill -CONT of the front */
	:: i < STOPS -> i++; term = true
	:: atomic { !ended && tree == RUNS -> ended = true; was_continued = false; tree_news = true } /* survivors are left */
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
	:: timeout && halted && owed && !supervisor_is_dead -> assert(false) /* fg is not lost */
	:: timeout && halted && (tree == HALTED || ended && stop != 0 || (supervisor_is_dead && !supervisor_ended)) ->
	   atomic { send_cont_to_front(); if :: shares -> continue_tree() :: else fi }
	:: timeout && !halted && tree == HALTED -> continue_tree() /* its stopper, kill -CONT */
	:: timeout && tree == RUNS && !halted ->
	   /* No order, and no death of the front, waits for the command's end. */
	   assert(supervisor_is_dead || !front_is_dead && !o_tstp && !o_cont && !o_term);
	   kill_tree()
	:: timeout && (front_ended || front_is_dead) && supervisor_is_dead && tree == DEAD ->
	   /* Both were killed: the kernel kills target and frees the locks. */
	   assert(front_is_dead && !supervisor_ended || !locks);
	   break
	od
}
