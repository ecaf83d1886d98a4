#pragma once

/* What the C library, or its kernel headers, may lack: the numbers of system
 * calls, and the kernel's form of what they take. */

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* With 32 bits, a copy of the output would end at 2 GiB. */
_Static_assert(sizeof(off_t) == 8, "needs -D_FILE_OFFSET_BITS=64");

/* From 403 on, calls have the same numbers; MIPS adds 4000, 5000 or 6000. */
#define CALL(number) (SYS_read / 1000 * 1000 + (number))

/* Where a long has 32 bits, calls with times have another one, with 64. */
#ifdef __LP64__
#define CALL_WITH_TIME(name, number) SYS_##name
#else
#define CALL_WITH_TIME(name, number) CALL(number)
#endif

enum {
	KERNEL_P_PIDFD = 3, /* of waitid(2); in glibc since 2.36 */
	KERNEL_STATX_BTIME = 0x800,
	KERNEL_STATX_KIND = 0x101,       /* STATX_TYPE | STATX_INO */
	KERNEL_STATX_DONT_SYNC = 0x4000, /* what the kernel knows is enough */

	CALL_PIDFD_SEND_SIGNAL = CALL(424),
	CALL_PIDFD_OPEN = CALL(434),
	CALL_CLOSE_RANGE = CALL(436),
	CALL_OPENAT2 = CALL(437),
	CALL_FACCESSAT2 = CALL(439),
	CALL_EPOLL_PWAIT2 = CALL(441),
	CALL_CLOCK_GETTIME = CALL_WITH_TIME(clock_gettime, 403),
	CALL_PPOLL = CALL_WITH_TIME(ppoll, 414),
	CALL_SIGTIMEDWAIT = CALL_WITH_TIME(rt_sigtimedwait, 421),

	/* Only where a long has 32 bits: */
	CALL_CLOCK_NANOSLEEP64 = CALL(407),
	CALL_PSELECT64 = CALL(413),
	CALL_FUTEX64 = CALL(422),

/* Calls that some architectures lack, and one that musl lacks on 32 bits: they
 * get numbers that no call has. */
#ifndef SYS_open /* arm64, riscv64 */
	SYS_open = -30,
	SYS_creat,
	SYS_pause,
	SYS_poll,
	SYS_epoll_wait,
#endif
#ifndef SYS_newfstatat /* where a long has 32 bits */
	SYS_newfstatat = -8,
#endif
#ifndef SYS_accept /* i386, s390x */
	SYS_accept = -5,
#endif
#ifndef SYS_fcntl64 /* where a long has 64 bits */
	SYS_fcntl64 = -4,
#endif
#ifndef SYS_clock_nanosleep
	SYS_clock_nanosleep = -3,
#endif
#ifndef SYS_select /* arm64, mips64el, riscv64 */
	SYS_select = -1,
#endif
#ifndef SYS__newselect /* all but arm, i386, mips64el */
	SYS__newselect = -1,
#endif
};

/* struct __kernel_timespec of linux/time_types.h, which musl-gcc lacks. */
struct kernel_time {
	int64_t seconds;
	int64_t nanoseconds;
};

/* The kernel's sigset_t, of unsigned longs: 64 signals, but 128 on MIPS. */
_Static_assert(sizeof(long) == 8 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the words of a mask have another order");
struct kernel_signals {
	uint64_t mask; /* of the signals 1 to 64 */
	uint64_t rest;
};

#define KERNEL_SIGNALS_SIZE ((size_t)_NSIG / 64 * sizeof(uint64_t))

/* The part of struct statx that is wanted: musl has none before 1.2.5. */
struct kernel_statx {
	uint32_t mask;
	unsigned char before[24];
	uint16_t mode;
	uint64_t inode;
	unsigned char between[40];
	int64_t birth_seconds;
	uint32_t birth_nanoseconds;
	unsigned char behind[164];
};

_Static_assert(sizeof(struct kernel_statx) == 256, "statx(2) writes 256 bytes");
