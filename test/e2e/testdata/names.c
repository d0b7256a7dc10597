// Names tries to make the file of a name in one way, from the file source beside it:
//
//	names WAY NAME
//
// It prints what failed. The races take many tries, in which a name in memory, a
// directory or a symlink is now harmless and now not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char *name, *dir, *base;
static char path[8192];

static int fill(int fd) { return fd < 0 ? fd : write(fd, "made\n", 5); }
static int parent(int flags) { return open(dir, flags | O_DIRECTORY); }
static const char *in(const char *prefix) { snprintf(path, sizeof path, "%s%s", prefix, name); return path; }

static int byOpen(void) { return fill(open(name, O_WRONLY | O_CREAT, 0644)); }
static int byCreat(void) { return fill(creat(name, 0644)); }
static int exclusive(void) { return fill(open(name, O_RDWR | O_CREAT | O_EXCL, 0644)); }
static int append(void) { return fill(open(name, O_WRONLY | O_APPEND | O_CREAT, 0644)); }
static int readOnly(void) { return open(name, O_RDONLY | O_CREAT, 0666); }
static int byOpenat(void) { return fill(openat(parent(O_RDONLY), base, O_WRONLY | O_CREAT, 0644)); }
static int byPathDescriptor(void) { return fill(openat(parent(O_PATH), base, O_WRONLY | O_CREAT, 0644)); }
static int byOpenat2(void) {
	struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0644};
	return fill(syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof how));
}
static int inRoot(void) {
	struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0644, .resolve = RESOLVE_IN_ROOT};
	snprintf(path, sizeof path, "/%s", base);
	return fill(syscall(SYS_openat2, parent(O_PATH), path, &how, sizeof how));
}
static int temporary(int flags, const char *from) {
	int fd = open(dir, O_TMPFILE | O_WRONLY, 0644);
	if (fill(fd) < 0) return -1;
	snprintf(path, sizeof path, from, fd);
	return linkat(*path ? AT_FDCWD : fd, path, AT_FDCWD, name, flags);
}
static int byTmpfile(void) { return temporary(AT_SYMLINK_FOLLOW, "/proc/self/fd/%d"); }
static int byTmpfileEmpty(void) { return temporary(AT_EMPTY_PATH, ""); }
static int byLink(void) { return link("source", name); }
static int byLinkat(void) { return linkat(open(".", O_PATH), "source", parent(O_PATH), base, 0); }
static int byLinkedDescriptor(void) {
	snprintf(path, sizeof path, "/proc/self/fd/%d", open("source", O_RDONLY));
	return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}
static int bySymlink(void) { return symlink("source", name); }
static int bySymlinkat(void) { return symlinkat("source", parent(O_PATH), base); }
static int byRename(void) { return rename("source", name); }
static int byRenameat(void) { return renameat(AT_FDCWD, "source", parent(O_PATH), base); }
static int noReplace(void) { return renameat2(AT_FDCWD, "source", AT_FDCWD, name, RENAME_NOREPLACE); }
static int whiteout(void) { return renameat2(AT_FDCWD, "source", AT_FDCWD, name, RENAME_WHITEOUT) ? byRename() : 0; }
static int exchanged(void) { // of a directory that lies where the name's is, if that can be
	if (mkdir("x", 0755) || mkdir("x/y", 0755)) return -1;
	snprintf(path, sizeof path, "x/%s", base);
	close(fill(open(path, O_WRONLY | O_CREAT, 0644)));
	mkdir(dir, 0755);
	if (strcmp(dir, ".") == 0 || renameat2(AT_FDCWD, "x", AT_FDCWD, dir, RENAME_EXCHANGE))
		return renameat2(AT_FDCWD, "x/y", AT_FDCWD, name, RENAME_EXCHANGE) ? rename("x/y", name) : 0;
	return 0;
}
static int byMkdir(void) { return mkdir(name, 0755); }
static int byMkdirat(void) { return mkdirat(parent(O_PATH), base, 0755); }
static int movedDirectory(void) { return mkdir("moved", 0755) || rename("moved", name) ? -1 : 0; }
static int byMknod(void) { return mknod(name, S_IFREG | 0644, 0); }
static int byMknodat(void) { return mknodat(parent(O_PATH), base, 0644, 0); }
static int byFifo(void) { return mkfifo(name, 0644); }
static int bySocket(void) {
	struct sockaddr_un address = {AF_UNIX};
	strncpy(address.sun_path, name, sizeof address.sun_path - 1);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	return s < 0 || bind(s, (void *)&address, sizeof address) ? mknod(name, S_IFSOCK | 0644, 0) : 0;
}
static int mapped(void) {
	int fd = open(name, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 4096)) return -1;
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? -1 : (strcpy(p, "made\n"), 0);
}
static int sent(void) { return sendfile(open(name, O_WRONLY | O_CREAT, 0644), open("source", O_RDONLY), 0, 100); }
static int copied(void) { return copy_file_range(open("source", O_RDONLY), 0, open(name, O_WRONLY | O_CREAT, 0644), 0, 100, 0); }
static int spliced(void) {
	int p[2];
	return pipe(p) || write(p[1], "made\n", 5) < 0 ? -1 : splice(p[0], 0, open(name, O_WRONLY | O_CREAT, 0644), 0, 5, 0);
}
static int changedDirectory(void) { return chdir(dir) ? -1 : fill(open(base, O_WRONLY | O_CREAT, 0644)); }
static int fchangedDirectory(void) { return fchdir(parent(O_RDONLY)) ? -1 : fill(open(base, O_WRONLY | O_CREAT, 0644)); }
static int byCwd(void) { return fill(open(*name == '/' ? in("/proc/self/root") : in("/proc/self/cwd/"), O_WRONLY | O_CREAT, 0644)); }
static int byThreadSelf(void) { return fill(open(*name == '/' ? in("/proc/thread-self/root") : in("/proc/thread-self/cwd/"), O_WRONLY | O_CREAT, 0644)); }
static int byDescriptorPath(void) {
	snprintf(path, sizeof path, "/proc/self/fd/%d/%s", parent(O_PATH), base);
	return fill(open(path, O_WRONLY | O_CREAT, 0644));
}
static int byDevFd(void) {
	snprintf(path, sizeof path, "/dev/fd/%d/./%s", parent(O_RDONLY), base);
	return fill(open(path, O_WRONLY | O_CREAT, 0644));
}
static int dotted(void) { snprintf(path, sizeof path, "%s//.//./%s", dir, base); return fill(open(path, O_WRONLY | O_CREAT, 0644)); }
static int backAndForth(void) { mkdir("sub", 0755); snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : "sub/../", name); return fill(open(path, O_WRONLY | O_CREAT, 0644)); }
static int throughSymlink(void) { // of the directory
	if (symlink(dir, "way")) return -1;
	snprintf(path, sizeof path, "way/%s", base);
	return fill(open(path, O_WRONLY | O_CREAT, 0644));
}
static int dangling(void) { return symlink(name, "way") ? -1 : fill(open("way", O_WRONLY | O_CREAT, 0644)); }
static int chain(void) { return symlink(name, "w3") || symlink("w3", "w2") || symlink("w2", "w1") ? -1 : fill(open("w1", O_WRONLY | O_CREAT, 0644)); }
static int inherited(void) { // a descriptor of a directory in another program
	int d = parent(O_RDONLY);
	if (d < 0) return -1;
	dup2(d, 9);
	snprintf(path, sizeof path, "cd /proc/self/fd/9/ && echo made >$(printf %%s '%s')", base);
	return system(path) ? -1 : 0;
}
static int byVfork(void) {
	pid_t child = vfork();
	if (!child) _exit(fill(open(name, O_WRONLY | O_CREAT, 0644)) < 0);
	int status;
	waitpid(child, &status, 0);
	return -(status != 0);
}
static int bySpawn(void) {
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, name, O_WRONLY | O_CREAT, 0644);
	pid_t child;
	errno = posix_spawn(&child, "/bin/echo", &actions, 0, (char *[]){"echo", "made", 0}, (char *[]){0});
	return errno ? -1 : waitpid(child, 0, 0);
}
static int undumpable(void) { prctl(PR_SET_DUMPABLE, 0); return byOpen(); }
static int received(void) { // a directory that came through a socket from a child
	int s[2], d;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s)) return -1;
	char control[CMSG_SPACE(sizeof d)] = "", byte = 0;
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	if (!fork()) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof d);
		d = parent(O_RDONLY), memcpy(CMSG_DATA(c), &d, sizeof d);
		_exit(sendmsg(s[1], &m, 0) < 0);
	}
	if (recvmsg(s[0], &m, 0) < 0) return -1;
	memcpy(&d, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof d);
	return fill(openat(d, base, O_WRONLY | O_CREAT, 0644));
}
static int movedWhileOpen(void) { // the parent, while a descriptor of it is held
	mkdir("before", 0755);
	int d = open("before", O_PATH);
	return rename("before", "after") ? -1 : (snprintf(path, sizeof path, "../%s", name), fill(openat(d, *name == '/' ? name : path, O_WRONLY | O_CREAT, 0644)));
}
#if defined __x86_64__
static long by32(long number, long a, long b, long c, long d, long e) {
	long got;
	__asm__ volatile("push %%rbp; int $0x80; pop %%rbp" : "=a"(got) : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory", "r8", "r9", "r10", "r11");
	return got < 0 && got > -4096 ? (errno = -got, -1) : got;
}
static int low(int (*way)(char *)) {
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	return p == MAP_FAILED ? -1 : way(strcpy(p, name));
}
static int open32(char *p) { return fill(by32(5, (long)p, O_WRONLY | O_CREAT, 0644, 0, 0)); }
static int mkdir32(char *p) { return by32(39, (long)p, 0755, 0, 0, 0); }
static int symlink32(char *p) { return by32(83, (long)p, (long)p, 0, 0, 0); }
static int byOpen32(void) { return low(open32); }
static int byMkdir32(void) { return low(mkdir32); }
static int bySymlink32(void) { return low(symlink32); }
static int byX32(void) { return fill(syscall(0x40000000 | SYS_open, name, O_WRONLY | O_CREAT, 0644)); }
#endif
static int root(void) { return chroot(".") ? -1 : (snprintf(path, sizeof path, "/%s", name), fill(open(path, O_WRONLY | O_CREAT, 0644))); }
static int namespaced(void) { return unshare(CLONE_NEWUSER | CLONE_NEWNS) ? -1 : byOpen(); }
static int files(void) { return unshare(CLONE_FILES | CLONE_FS) ? -1 : changedDirectory(); }

// Races. tries is how often each call is made.
enum { tries = 20000 };
static atomic_int stop;
static char flips[4096];

static void *flip(void *last) {
	char good = *(char *)last, bad = base[strlen(base) - 1];
	while (!stop) *(volatile char *)last = bad, *(volatile char *)last = good;
	return 0;
}

// race uses a name whose last letter changes all the time.
static int race(void) {
	pthread_t t;
	char harmless[4096];
	strcpy(flips, name);
	char *last = flips + strlen(flips) - 1;
	*last = 'X';
	strcpy(harmless, flips);
	pthread_create(&t, 0, flip, last);
	for (int i = 0; i < tries; i++) {
		close(open(flips, O_WRONLY | O_CREAT, 0644)), unlink(harmless);
		close(open("s", O_WRONLY | O_CREAT, 0644)), rename("s", flips), unlink(harmless);
		if (link("source", flips)) errno = 0;
		unlink(harmless);
		if (symlink("source", flips)) errno = 0;
		unlink(harmless);
		if (mkdir(flips, 0755)) errno = 0;
		rmdir(harmless);
	}
	stop = 1, pthread_join(t, 0);
	return 0;
}

static void *walk(void *arg) {
	int here = open(".", O_PATH);
	while (!stop) if (chdir(dir) || fchdir(here) || chdir("harmless") || fchdir(here)) break;
	return arg;
}

// raceDirectory makes the base name while the current directory changes.
static int raceDirectory(void) {
	pthread_t t;
	if (mkdir("harmless", 0755)) return -1;
	pthread_create(&t, 0, walk, 0);
	for (int i = 0; i < 5 * tries; i++) close(open(base, O_WRONLY | O_CREAT, 0644));
	stop = 1, pthread_join(t, 0);
	return 0;
}

static void *turn(void *arg) {
	while (!stop) if (renameat2(AT_FDCWD, "way", AT_FDCWD, "other", RENAME_EXCHANGE)) break;
	return arg;
}

// raceSymlink makes it through a symlink that now leads to a harmless directory.
static int raceSymlink(void) {
	pthread_t t;
	if (mkdir("harmless", 0755) || symlink("harmless", "way") || symlink(dir, "other")) return -1;
	snprintf(path, sizeof path, "way/%s", base);
	pthread_create(&t, 0, turn, 0);
	for (int i = 0; i < 5 * tries; i++) close(open(path, O_WRONLY | O_CREAT, 0644));
	stop = 1, pthread_join(t, 0);
	return 0;
}

static struct { const char *name; int (*way)(void); } ways[] = {
#define WAY(f) {#f, f}
	WAY(byOpen), WAY(byCreat), WAY(exclusive), WAY(append), WAY(readOnly), WAY(byOpenat), WAY(byPathDescriptor), WAY(byOpenat2), WAY(inRoot), WAY(byTmpfile), WAY(byTmpfileEmpty), WAY(byLink), WAY(byLinkat), WAY(byLinkedDescriptor),
	WAY(bySymlink), WAY(bySymlinkat), WAY(byRename), WAY(byRenameat), WAY(noReplace), WAY(whiteout), WAY(exchanged), WAY(byMkdir), WAY(byMkdirat), WAY(movedDirectory), WAY(byMknod), WAY(byMknodat), WAY(byFifo), WAY(bySocket), WAY(mapped), WAY(sent),
	WAY(copied), WAY(spliced), WAY(changedDirectory), WAY(fchangedDirectory), WAY(byCwd), WAY(byThreadSelf), WAY(byDescriptorPath), WAY(byDevFd), WAY(dotted), WAY(backAndForth), WAY(throughSymlink), WAY(dangling), WAY(chain), WAY(inherited),
	WAY(byVfork), WAY(bySpawn), WAY(undumpable), WAY(received), WAY(movedWhileOpen), WAY(root), WAY(namespaced), WAY(files), WAY(race), WAY(raceDirectory), WAY(raceSymlink),
#if defined __x86_64__
	WAY(byOpen32), WAY(byMkdir32), WAY(bySymlink32), WAY(byX32),
#endif
};

int main(int argc, char **argv) {
	if (argc == 2 && strcmp(argv[1], "ways") == 0) {
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) puts(ways[i].name);
		return 0;
	}
	if (argc != 3) return 2;
	name = argv[2], dir = dirname(strdup(name)), base = basename(strdup(name));
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
		if (strcmp(ways[i].name, argv[1]) == 0) {
			if (ways[i].way() >= 0) return 0;
			perror(argv[1]);
			return 1;
		}
	return 2;
}
