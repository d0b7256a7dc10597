// Calls prints how opening files behaves beside signals, threads, forks, changed
// identities and FIFOs: a line for each case, the same in each run. What waits is
// bounded by an alarm of the whole program.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) ((call) < 0 ? strerrorname_np(errno) : "ok")

static const char *named(int minus) { return minus ? strerrorname_np(-minus) : "ok"; }

static int opens(const char *path, int flags) {
	int fd = open(path, flags, 0666);
	if (fd >= 0) close(fd);
	return fd < 0 ? -errno : 0;
}

static void put(const char *path, const char *text) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) perror(path);
	close(fd);
}

static const char *get(const char *path) {
	static _Thread_local char text[64];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n < 0) snprintf(text, sizeof text, "%s", strerrorname_np(errno)); else text[n] = 0;
	if (fd >= 0) close(fd);
	return text;
}

static int ended(pid_t child) {
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

// sleeping waits until a thread or process waits in the kernel, as an open of a FIFO does.
static void sleeping(pid_t pid) {
	char path[64], text[512] = "", *end;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	for (int i = 0; i < 20000; i++, usleep(500)) {
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
		if (fd >= 0) close(fd);
		if (n > 0 && (end = strrchr(text, ')')) && end[2] == 'S') { usleep(2000); return; }
	}
}

static void descriptors(void) {
	int a = open("f", O_RDONLY | O_CLOEXEC), b = open("f", O_RDONLY), c;
	printf("flags of descriptors %d %d\n", fcntl(a, F_GETFD), fcntl(b, F_GETFD));
	close(a);
	c = open("f", O_RDONLY);
	printf("lowest number %d\n", c == a);
	close(b), close(c);
	int one = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644), two = open("log", O_WRONLY | O_APPEND);
	for (int i = 0; i < 3; i++) if (write(one, "1", 1) < 0 || write(two, "2", 1) < 0) puts("append failed");
	printf("appended %s\n", get("log"));
	close(one), close(two);
	a = open("f", O_RDONLY);
	char path[64], byte[2] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", a);
	b = open(path, O_RDONLY);
	if (read(a, byte, 1) < 0 || lseek(b, 0, SEEK_CUR) != 0) puts("a position is shared");
	close(b);
	unlink("f");
	printf("opened after it was removed %s\n", get(path));
	put("f", "hello\n");
	close(a);
	a = memfd_create("m", 0);
	snprintf(path, sizeof path, "/proc/self/fd/%d", a);
	printf("memory file %s\n", CHECK(write(open(path, O_RDWR), "m", 1)));
	a = open(".", O_TMPFILE | O_RDWR, 0640);
	snprintf(path, sizeof path, "/proc/self/fd/%d", a);
	struct stat st;
	printf("temporary file %s", CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW)));
	printf(" mode %o", stat("linked", &st) ? 0 : st.st_mode & 07777);
	a = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0640);
	snprintf(path, sizeof path, "/proc/self/fd/%d", a);
	printf(" and with O_EXCL %s\n", CHECK(linkat(AT_FDCWD, path, AT_FDCWD, "linked2", AT_SYMLINK_FOLLOW)));
	a = open("f", O_RDWR);
	char *map = mmap(0, 6, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0);
	if (map != MAP_FAILED) map[0] = 'H';
	printf("mapped %s", get("f"));
	struct flock lock = {.l_type = F_WRLCK};
	printf("locked %s\n", CHECK(fcntl(a, F_SETLK, &lock)));
	pid_t child = fork();
	if (!child) { struct flock l = {.l_type = F_WRLCK}; fcntl(open("f", O_RDWR), F_GETLK, &l); _exit(l.l_type == F_WRLCK && l.l_pid == getppid()); }
	printf("lock has its owner %d\n", ended(child));
	put("f", "hello\n");
}

static void modes(void) {
	struct stat st;
	umask(027);
	opens("masked", O_WRONLY | O_CREAT), stat("masked", &st);
	printf("umask 027 %o owner %d", st.st_mode & 07777, st.st_uid == geteuid());
	mkdir("maskeddir", 0777), stat("maskeddir", &st);
	printf(" directory %o", st.st_mode & 07777);
	mkfifo("maskedfifo", 0666), stat("maskedfifo", &st);
	printf(" fifo %o\n", st.st_mode & 07777);
	umask(0);
	int fd = open("bits", O_WRONLY | O_CREAT, 07777);
	fstat(fd, &st);
	printf("all bits %o\n", st.st_mode & 07777);
	umask(022);
	mkdir("shared", 0755), chmod("shared", 02775);
	opens("shared/x", O_WRONLY | O_CREAT), stat("shared/x", &st), mkdir("shared/y", 0755);
	struct stat dir, y;
	stat("shared", &dir), stat("shared/y", &y);
	printf("setgid directory %d %o\n", st.st_gid == dir.st_gid, y.st_mode & 07777);
	fd = open("late", O_WRONLY | O_CREAT | O_EXCL, 0400);
	printf("written though its mode forbids %s\n", CHECK(write(fd, "x", 1)));
}

// apart shares the memory and the descriptors, and has a directory and umask of its own.
static int apart(void *text) {
	struct stat st;
	if (chdir("sub")) return 1;
	umask(077);
	int rc = opens("own", O_WRONLY | O_CREAT);
	snprintf(text, 64, "%s mode %o", named(rc), stat("own", &st) ? 0 : st.st_mode & 07777);
	return 0;
}

static void *otherUser(void *text) {
	long became = syscall(SYS_setresuid, -1, 65533, -1); // of this thread alone
	snprintf(text, 64, "%s %s", became ? "not allowed" : "ok", named(opens("private", O_RDONLY)));
	return 0;
}

static void identities(void) {
	char text[64] = "";
	pthread_t t;
	mkdir("sub", 0755);
	static char stack[1 << 16];
	pid_t child = clone(apart, stack + sizeof stack, CLONE_VM | CLONE_FILES | SIGCHLD, text);
	int rc = ended(child);
	printf("directory and umask of its own: %d %s, there %d\n", rc, text, access("sub/own", F_OK) == 0);
	put("private", "x"), chmod("private", 0600);
	pthread_create(&t, 0, otherUser, text), pthread_join(t, 0);
	printf("thread of another user: %s; this one %d\n", text, opens("private", O_RDONLY));
	child = fork();
	if (!child) {
		prctl(PR_SET_DUMPABLE, 0);
		_exit(opens("f", O_RDONLY) || opens("undumpable", O_WRONLY | O_CREAT) || opens("/proc/self/cwd/f", O_RDONLY) == -ENOENT);
	}
	printf("not dumpable %d\n", ended(child));
	char want[32];
	snprintf(want, sizeof want, "%d ", getpid());
	printf("/proc/self is its own %d\n", strncmp(get("/proc/self/stat"), want, strlen(want)) == 0);
	child = fork();
	if (!child) { snprintf(want, sizeof want, "%d ", getpid()); _exit(strncmp(get("/proc/self/stat"), want, strlen(want)) != 0 || strncmp(get("/proc/thread-self/stat"), want, strlen(want)) != 0); }
	printf("and a child's %d\n", ended(child));
}

static void limits(void) {
	pid_t child = fork();
	if (!child) {
		struct rlimit l = {16, 16};
		int most = 0, fd;
		setrlimit(RLIMIT_NOFILE, &l);
		while ((fd = open("f", O_RDONLY)) >= 0) most = fd;
		fd = open("made-without-room", O_WRONLY | O_CREAT, 0644);
		const char *then = strerrorname_np(errno);
		printf("open files: last %d, then %s, made %d\n", most, then, access("made-without-room", F_OK) == 0), fflush(stdout);
		_exit(0);
	}
	ended(child);
	int failed = 0, count = 0;
	for (int i = 0; i < 3000; i++) { int fd = open("f", O_RDONLY); failed += fd < 0; close(fd); }
	for (int i = 0; i < 256; i++) count += fcntl(i, F_GETFD) >= 0;
	printf("3000 opens: failed %d, few stay open %d\n", failed, count < 40);
}

static void nothing(int signal) { (void)signal; }

static void handle(int flags, int signal) {
	struct sigaction act = {.sa_handler = nothing, .sa_flags = flags};
	sigaction(signal, &act, 0);
}

static void fifos(void) {
	int status;
	mkfifo("p", 0644);
	for (int writer = 0; writer < 2; writer++) {
		pid_t child = fork();
		if (!child) {
			int fd = open("p", writer ? O_WRONLY : O_RDONLY);
			char byte = 'w';
			_exit(writer ? write(fd, &byte, 1) != 1 : read(fd, &byte, 1) != 1 || byte != 'w');
		}
		sleeping(child);
		int fd = open("p", writer ? O_RDONLY : O_WRONLY);
		char byte = 'w';
		ssize_t n = writer ? read(fd, &byte, 1) : write(fd, &byte, 1);
		status = ended(child);
		printf("fifo, %s first: %d %d\n", writer ? "writer" : "reader", (int)n, status);
		close(fd);
	}
	for (int way = 0; way < 4; way++) {
		pid_t child = fork();
		if (!child) {
			handle(0, SIGUSR1);
			int fd = open("p", way & 1 ? O_WRONLY : O_RDONLY);
			_exit(fd < 0 && errno == EINTR ? 42 : 43);
		}
		sleeping(child);
		kill(child, way & 2 ? SIGUSR1 : SIGKILL);
		status = ended(child);
		printf("fifo, %s ended by signal: %d\n", way & 1 ? "writer" : "reader", status);
	}
	pid_t child = fork();
	if (!child) {
		handle(SA_RESTART, SIGUSR1);
		int fd = open("p", O_RDONLY);
		_exit(fd < 0 ? 43 : 42);
	}
	sleeping(child);
	for (int i = 0; i < 3; i++) kill(child, SIGUSR1), usleep(2000);
	int fd = open("p", O_WRONLY);
	printf("fifo, restarted after signals: %d %d\n", fd >= 0, ended(child));
	close(fd);
	printf("fifo, not waited for: %s", CHECK(open("p", O_WRONLY | O_NONBLOCK)));
	printf(" %s\n", CHECK(fd = open("p", O_RDWR)));
	close(fd);
	pid_t many[64];
	for (int i = 0; i < 64; i++) if (!(many[i] = fork())) { opens("p", O_RDONLY); _exit(0); }
	for (int i = 0; i < 64; i++) sleeping(many[i]);
	printf("64 wait at a fifo, and files open: %d\n", opens("f", O_RDONLY));
	for (int i = 0; i < 64; i++) kill(many[i], SIGKILL), ended(many[i]);
	printf("and after they are killed: %d\n", opens("f", O_RDONLY));
}

static void *waits(void *path) { opens(path, O_RDONLY); return 0; }

static void threadedFifo(void) {
	pthread_t t[32];
	for (int i = 0; i < 32; i++) pthread_create(&t[i], 0, waits, "p");
	usleep(20000);
	printf("32 threads wait at a fifo, and files open: %d\n", opens("f", O_RDWR));
	int fd = open("p", O_RDWR | O_NONBLOCK);
	for (int i = 0; i < 32; i++) pthread_join(t[i], 0);
	close(fd);
}

// interrupted opens files while a timer fires every 200 microseconds.
static void interrupted(int flags) {
	struct itimerval timer = {{0, 200}, {0, 200}}, off = {{0}};
	int read = 0, made = 0, moved = 0, dirs = 0;
	handle(flags, SIGALRM);
	setitimer(ITIMER_REAL, &timer, 0);
	for (int i = 0; i < 3000; i++) {
		read += opens("f", O_RDONLY) != 0;
		made += opens("once", O_WRONLY | O_CREAT | O_EXCL) != 0;
		moved += rename("once", "twice") != 0 || unlink("twice") != 0;
		dirs += mkdir("oncedir", 0755) != 0 || rmdir("oncedir") != 0;
	}
	setitimer(ITIMER_REAL, &off, 0);
	printf("interrupted%s: failed %d %d %d %d\n", flags ? ", restarting" : "", read, made, moved, dirs);
}

static atomic_int won, failed, stop;

static void *racer(void *arg) {
	char path[32];
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof path, "race%d", i);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd >= 0) won++, close(fd); else if (errno != EEXIST) failed++;
		snprintf(path, sizeof path, "own%ld.%d", (long)arg, i);
		if (opens(path, O_RDWR | O_CREAT | O_EXCL) || unlink(path)) failed++;
	}
	return 0;
}

static char swapped[32] = "one";

static void *swapper(void *arg) {
	while (!stop) { memcpy(swapped, "two", 4); memcpy(swapped, "one", 4); }
	return arg;
}

static void *mover(void *arg) {
	while (!stop) if (chdir("a") || chdir("../b") || chdir("..")) failed++;
	return arg;
}

static void races(void) {
	pthread_t t[8];
	for (long i = 0; i < 8; i++) pthread_create(&t[i], 0, racer, (void *)i);
	for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
	printf("8 threads make 300 files: made %d, failed %d\n", won, failed);
	put("one", "1"), put("two", "2");
	int bad = 0;
	pthread_create(t, 0, swapper, 0);
	for (int i = 0; i < 20000; i++) { const char *s = get(swapped); bad += strcmp(s, "1") && strcmp(s, "2"); }
	stop = 1, pthread_join(*t, 0), stop = 0;
	printf("a path that changes in memory: other than the two %d\n", bad);
	mkdir("a", 0755), mkdir("b", 0755), put("a/x", "x"), put("b/x", "x"), put("x", "x");
	bad = 0, failed = 0;
	pthread_create(t, 0, mover, 0);
	for (int i = 0; i < 10000; i++) bad += strcmp(get("x"), "x") != 0;
	stop = 1, pthread_join(*t, 0), stop = 0;
	printf("a directory that changes: failed %d %d\n", bad, failed);
}

static void children(char *self) {
	pid_t child = vfork();
	if (!child) {
		int fd = open("f", O_RDONLY | O_CLOEXEC);
		if (fd >= 0) execl(self, self, "descriptors", (char *)0);
		_exit(99);
	}
	printf("vfork %d\n", ended(child));
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 7, "spawned", O_WRONLY | O_CREAT, 0644);
	int rc = posix_spawn(&child, self, &actions, 0, (char *[]){self, "descriptors", 0}, (char *[]){0});
	printf("spawn %d %d %d\n", rc, ended(child), access("spawned", F_OK) == 0);
	rc = 0;
	for (int i = 0; i < 100; i++) {
		child = fork();
		if (!child) _exit(opens("f", O_RDONLY) != 0);
		rc += ended(child) != 0;
	}
	printf("100 forks %d\n", rc);
}

static void deep(void) {
	char name[201];
	int here = open(".", O_RDONLY | O_DIRECTORY), made = 0;
	memset(name, 'D', 200), name[200] = 0;
	for (int i = 0; i < 30; i++) made += mkdir(name, 0755) == 0 && chdir(name) == 0;
	printf("deeper than a path can be: %d %s", made, named(opens("x", O_WRONLY | O_CREAT)));
	printf(" %s\n", CHECK(rename("x", "y")));
	unlink("y");
	for (int i = 0; i < 30; i++) if (chdir("..") || rmdir(name)) break;
	if (fchdir(here)) perror("fchdir");
	mkdir("gone", 0755);
	int dir = open("gone", O_RDONLY | O_DIRECTORY);
	rename("gone", "renamed");
	int fd = openat(dir, "kept", O_WRONLY | O_CREAT, 0644);
	printf("in a directory that was renamed: %d %d\n", fd >= 0, access("renamed/kept", F_OK) == 0);
	unlink("renamed/kept");
	if (chdir("renamed") || rmdir("../renamed")) perror("renamed");
	printf("in a directory that is gone: %s", named(opens("x", O_WRONLY | O_CREAT)));
	printf(" %s", CHECK(mkdir("x", 0755)));
	printf(" %s\n", named(opens("../f", O_RDONLY)));
	if (fchdir(here)) perror("fchdir");
	close(dir), close(fd), close(here);
}

static void terminals(void) {
	pid_t child = fork();
	if (!child) {
		setsid();
		int master = posix_openpt(O_RDWR | O_NOCTTY), none = opens("/dev/tty", O_RDWR);
		if (master < 0 || grantpt(master) || unlockpt(master)) _exit(50);
		int slave = open(ptsname(master), O_RDWR), tty = open("/dev/tty", O_RDWR);
		printf("terminal: before %s, other end %d, controlling %d\n", named(none), slave >= 0, tty >= 0 && tcgetpgrp(tty) == getpid()), fflush(stdout);
		_exit(tty < 0);
	}
	printf("terminal %d\n", ended(child));
	int watch = inotify_init1(IN_NONBLOCK);
	inotify_add_watch(watch, ".", IN_CREATE);
	opens("watched", O_WRONLY | O_CREAT);
	char events[1024];
	printf("watched %d\n", read(watch, events, sizeof events) > 0);
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "descriptors") == 0) { // how many came along
		int n = 0;
		for (int i = 3; i < 256; i++) n += fcntl(i, F_GETFD) >= 0;
		return n;
	}
	setvbuf(stdout, NULL, _IOLBF, 4096);
	for (int i = 3; i < 256; i++) close(i);
	pid_t program = fork(); // whose parent bounds it, for alarms are among what is tested
	if (program) {
		int status;
		for (int i = 0; i < 12000 && waitpid(program, &status, WNOHANG) == 0; i++) usleep(10000);
		kill(program, SIGKILL);
		return 0;
	}
	umask(022);
	put("f", "hello\n");
	descriptors(), modes(), identities(), limits(), fifos(), threadedFifo(), interrupted(0), interrupted(SA_RESTART), children(argv[0]), deep(), terminals(), races();
	puts("complete");
	return 0;
}
