/* The caller's terminal, while a keyboard has it. */
#include "console.h"

#include <sys/eventfd.h>

#include <signal.h>
#include <time.h>

#include "../watchdog.h"
#include "duration.h"
#include "fork.h"
#include "helper.h"
#include "keyboard.h"
#include "message.h"
#include "output.h"

/* How long the front waits for the keyboard to put the terminal back. */
#define PATIENCE_MS 200

static _Noreturn void
become_keyboard(const struct run *run)
{
	const struct output *const output = &run->output;
	const struct keyboard keyboard = {
		.parent = run->front,
		.terminal_fd = output->keyboard_fd,
		.master_fd = output->channels[0].in_fd,
		.orders_fd = output->keyboard_orders_fd,
		.is_screen = output->channels[0].is_screen,
		.page = output->keyboard_page,
	};
	int keep[] = { keyboard.terminal_fd, keyboard.master_fd,
		       keyboard.orders_fd };

	helper_follow(run->front, SIGCONT);
	output_become_helper(run, keep, sizeof(keep) / sizeof(keep[0]));
	keyboard_run(&keyboard);
}

int
console_start(struct run *run)
{
	struct output *const output = &run->output;

	if (!output->has_keyboard)
		return 0;
	output->keyboard_page->is_wanted = true;
	output->keyboard = process_fork();
	if (output->keyboard == -1)
		return -1;
	if (output->keyboard == 0)
		become_keyboard(run);
	helper_add(&run->tree, output->keyboard);
	return 0;
}

void
console_restore(struct run *run)
{
	const struct output *const output = &run->output;

	if (output->has_keyboard)
		keyboard_put_back(output->keyboard_fd, output->keyboard_page);
}

void
console_release(struct run *run)
{
	struct output *const output = &run->output;
	const struct timespec moment = { .tv_nsec = MILLISECOND };

	if (!output->has_keyboard)
		return;
	output->keyboard_page->is_wanted = false;
	(void)eventfd_write(output->keyboard_orders_fd, 1);
	for (int i = 0; i < PATIENCE_MS; i++) {
		if (!output->keyboard_page->is_raw)
			return;
		(void)nanosleep(&moment, NULL);
	}
	console_restore(run);
}

void
console_take(struct run *run)
{
	if (!run->output.has_keyboard)
		return;
	run->output.keyboard_page->is_wanted = true;
	(void)eventfd_write(run->output.keyboard_orders_fd, 1);
}

void
console_end(struct run *run)
{
	if (!run->output.has_keyboard)
		return;
	(void)helper_end(&run->tree, run->output.keyboard, HELPER_GIVE_UP);
	console_restore(run);
}

void
console_note_death(struct run *run, pid_t pid)
{
	const struct output *const output = &run->output;

	if (!output->has_keyboard || pid != output->keyboard)
		return;
	console_restore(run); /* so that there is a Ctrl-C again */
	if (!output->keyboard_page->is_done)
		message("the relay of the keyboard was killed: what is "
		        "typed does not reach the command");
}
