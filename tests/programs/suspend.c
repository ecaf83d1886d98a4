/*
 * suspend job|self|key: prints `ready PID`, suspends its job or itself by
 * SIGTSTP, or itself by SIGSTOP on Ctrl-Z, as su(1) and top(1) do; and prints
 * "back" when it is continued.
 */
#include "bounded.h"

int
main(int argc, char *argv[])
{
	const char *const how = argc > 1 ? argv[1] : "self";
	const int waits_for_key = strcmp(how, "key") == 0;
	sigset_t keys;
	int key;

	bound_life();
	(void)sigemptyset(&keys);
	(void)sigaddset(&keys, SIGTSTP);
	if (waits_for_key)
		(void)sigprocmask(SIG_BLOCK, &keys, NULL);
	say_ready(getpid());
	if (waits_for_key)
		(void)sigwait(&keys, &key);
	(void)kill(strcmp(how, "job") == 0 ? 0 : getpid(),
	           waits_for_key ? SIGSTOP : SIGTSTP);
	(void)dprintf(STDOUT_FILENO, "back\n");
	return 0;
}
