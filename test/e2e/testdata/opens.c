// Opens writes to the file it is given how the kernel answers every way of opening
// and naming files: errors by name, and for what is opened its type, mode, owner and
// flags. It works in its current directory, which is empty. Two runs give the same
// text, whatever stands between the program and the kernel.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static FILE *results;

static const char *result(long got) { return got < 0 ? strerrorname_np(errno) : "ok"; }

static void put(const char *path, const char *text, mode_t mode) {
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode)) perror(path);
	close(fd);
}

// whole brings back what a call has moved.
static void whole(void) {
	if (access("f", F_OK)) put("f", "hello\n", 0644);
}

#define SAY(call) do { errno = 0; long got = (call); fprintf(results, "%s: %s\n", #call, result(got)); whole(); } while (0)

// furnish makes what the tables name.
static void furnish(void) {
	put("f", "hello\n", 0644);
	put("ro", "read\n", 0444);
	put("none", "none\n", 0);
	mkdir("d", 0755);
	put("d/g", "g\n", 0644);
	mkdir("nx", 0755);
	put("nx/x", "x\n", 0644);
	chmod("nx", 0);
	mkdir("rd", 0755);
	put("rd/x", "x\n", 0644);
	chmod("rd", 0555);
	symlink("f", "l");
	symlink("nowhere", "dangling");
	symlink("loop2", "loop1");
	symlink("loop1", "loop2");
	symlink("d", "ld");
	symlink("/proc/self/cwd/f", "magic");
	mkfifo("p", 0644);
	put("gone", "", 0644);
}

// describe says what an open gave.
static void describe(int fd) {
	struct stat st;
	int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);
	if (fstat(fd, &st)) { fprintf(results, " fstat %s", strerrorname_np(errno)); return; }
	fprintf(results, " fd %d type %o mode %o", fd, (st.st_mode & S_IFMT) >> 12, st.st_mode & 07777);
	if (S_ISREG(st.st_mode)) fprintf(results, " own %d %d links %d", st.st_uid == geteuid(), st.st_gid == getegid(), (int)st.st_nlink);
	fprintf(results, " flags %o %d", flags, own);
}

static struct { const char *name; int flags; } ways[] = {
#define WAY(flags) {#flags, flags}
	WAY(O_RDONLY), WAY(O_WRONLY), WAY(O_RDWR), WAY(O_ACCMODE), WAY(O_RDONLY | O_CREAT), WAY(O_WRONLY | O_CREAT | O_EXCL), WAY(O_WRONLY | O_CREAT | O_TRUNC),
	WAY(O_RDWR | O_APPEND), WAY(O_RDONLY | O_NOFOLLOW), WAY(O_WRONLY | O_CREAT | O_NOFOLLOW), WAY(O_RDONLY | O_DIRECTORY), WAY(O_RDONLY | O_CREAT | O_DIRECTORY),
	WAY(O_PATH), WAY(O_PATH | O_NOFOLLOW), WAY(O_PATH | O_DIRECTORY), WAY(O_RDWR | O_TMPFILE), WAY(O_RDONLY | O_TMPFILE), WAY(O_RDONLY | O_CLOEXEC), WAY(O_WRONLY | O_TRUNC),
	WAY(O_RDONLY | O_TRUNC), WAY(O_RDWR | O_SYNC), WAY(O_RDONLY | O_NOATIME), WAY(O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND), WAY(O_RDONLY | O_EXCL),
};

// table opens each path in each way. Nothing blocks.
static void table(void) {
	char part255[256], part256[257], path4095[4096], path4096[4097], absolute[5000], cwd[4096];
	memset(part255, 'n', 255), part255[255] = 0;
	memset(part256, 'n', 256), part256[256] = 0;
	for (int i = 0; i < 4094; i += 2) memcpy(path4095 + i, "./", 2);
	strcpy(path4095 + 4094, "f");
	for (int i = 0; i < 4096; i += 2) memcpy(path4096 + i, "./", 2);
	path4096[4095] = 'f', path4096[4096] = 0;
	snprintf(absolute, sizeof absolute, "%s/d/g", getcwd(cwd, sizeof cwd));
	struct { const char *name, *path; } paths[] = {
#define PATH(path) {path, path}
		PATH("f"), PATH("./f"), PATH("d"), PATH("d/"), PATH("f/"), PATH("f/."), PATH("d/g"), PATH("d//g"), PATH("d/../f"), PATH("l"), PATH("l/"), PATH("dangling"),
		PATH("dangling/"), PATH("loop1"), PATH("loop1/x"), PATH("ld"), PATH("ld/"), PATH("ld/g"), PATH("ld/../f"), PATH("magic"), PATH("p"), PATH("ro"), PATH("none"), PATH("nx"), PATH("nx/x"), PATH("nx/new"),
		PATH("rd/x"), PATH("rd/new"), PATH("missing"), PATH("missing/"), PATH("missing/x"), PATH("f/x"), PATH("d/new"), PATH("d/new/"), PATH("d/."), PATH("d/.."), PATH(""), PATH("."), PATH("/"), PATH("//"),
		PATH(" "), {"a newline", "\n"}, {"no UTF-8", "\xff\xfe"}, {"a name of 255", part255}, {"a name of 256", part256}, {"a path of 4095", path4095}, {"a path of 4096", path4096}, {"an absolute path", absolute},
		PATH("/dev/null"), PATH("/dev/zero"), PATH("/dev/full"), PATH("/dev/null/x"), PATH("/dev/tty"), PATH("/dev/fd/0"), PATH("/dev/fd/99"), PATH("/dev/stdin"), PATH("/dev/urandom"),
		PATH("/proc/self"), PATH("/proc/self/status"), PATH("/proc/self/nothing"), PATH("/proc/self/cwd/f"), PATH("/proc/self/cwd/d/new"), PATH("/proc/self/fd/99"), PATH("/proc/self/task"), PATH("/etc/passwd/x"),
	};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
			int system = paths[i].path[0] == '/' && strncmp(paths[i].path, "/dev/", 5) && strncmp(paths[i].path, "/proc/self/cwd", 14) && paths[i].path != absolute;
			if (system && ways[w].flags & (O_ACCMODE | O_CREAT | O_TRUNC)) continue; // which the sandbox does not let change
			errno = 0;
			int fd = open(paths[i].path, ways[w].flags | O_NONBLOCK | O_NOCTTY, 0666);
			fprintf(results, "open %s %s: %s", paths[i].name, ways[w].name, result(fd));
			if (fd >= 0) describe(fd);
			fputc('\n', results);
			if (fd >= 0) close(fd);
			unlink("missing"), unlink("nowhere"), unlink("d/new"), unlink(part255), unlink(" "), unlink("\n"), unlink("\xff\xfe"), unlink("rd/new"), unlink("nx/new");
			put("f", "hello\n", 0644);
		}
}

static long at2(int dir, const char *path, __u64 flags, __u64 mode, __u64 resolve, size_t size) {
	struct { struct open_how how; __u64 more; } a = {{.flags = flags, .mode = mode, .resolve = resolve}, size > sizeof a.how};
	long fd = syscall(SYS_openat2, dir, path, &a, size);
	if (fd >= 0) close(fd);
	return fd;
}

static long at(int dir, const char *path, int flags) {
	int fd = openat(dir, path, flags, 0600);
	if (fd >= 0) close(fd);
	return fd;
}

// directories opens relative to descriptors, and by addresses that are none.
static void directories(void) {
	enum { how = sizeof(struct open_how) };
	int d = open("d", O_RDONLY | O_DIRECTORY), path = open("d", O_PATH), f = open("f", O_RDONLY), here = open(".", O_PATH);
	char *page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	char *end = page + 4096 - 2, *open_end = page + 4096 - 1;
	strcpy(end, "f");
	SAY(at(AT_FDCWD, end, O_RDONLY));
	*(page + 4095) = 'f';
	SAY(at(AT_FDCWD, open_end, O_RDONLY));
	SAY(at(AT_FDCWD, NULL, O_RDONLY)); SAY(at(AT_FDCWD, (char *)1, O_RDONLY));
	SAY(at(d, "g", O_RDONLY)); SAY(at(path, "g", O_RDONLY)); SAY(at(d, "../f", O_RDWR)); SAY(at(d, "", O_RDONLY)); SAY(at(f, "x", O_RDONLY)); SAY(at(f, "", O_RDONLY)); SAY(at(99, "f", O_RDONLY)); SAY(at(-1, "f", O_RDONLY));
	SAY(at(99, "/dev/null", O_RDONLY)); SAY(at(d, "/dev/null", O_WRONLY)); SAY(at(d, "made", O_WRONLY | O_CREAT | O_EXCL)); SAY(at(path, "made", O_WRONLY | O_CREAT | O_EXCL)); SAY(unlinkat(d, "made", 0)); SAY(unlinkat(d, "made", 0));
	SAY(at2(d, "g", 0, 0, 0, how)); SAY(at2(d, "../f", 0, 0, RESOLVE_BENEATH, how)); SAY(at2(d, "../f", 0, 0, RESOLVE_IN_ROOT, how)); SAY(at2(d, "/g", 0, 0, RESOLVE_IN_ROOT, how)); SAY(at2(d, "/g", 0, 0, RESOLVE_BENEATH, how));
	SAY(at2(here, "l", 0, 0, RESOLVE_NO_SYMLINKS, how)); SAY(at2(here, "ld/g", 0, 0, RESOLVE_NO_SYMLINKS, how)); SAY(at2(here, "magic", 0, 0, RESOLVE_NO_MAGICLINKS, how)); SAY(at2(here, "l", 0, 0, RESOLVE_BENEATH, how)); SAY(at2(here, "d/../f", 0, 0, RESOLVE_BENEATH, how));
	SAY(at2(here, "f", 0, 0644, 0, how)); SAY(at2(here, "f", 1ull << 40, 0, 0, how)); SAY(at2(here, "f", 0, 0, 1 << 20, how)); SAY(at2(here, "f", 0, 0, 0, 8)); SAY(at2(here, "f", 0, 0, 0, how + 8)); SAY(at2(here, "n2", O_CREAT | O_EXCL | O_WRONLY, 0640, 0, how));
	SAY(at2(here, "n2", O_CREAT | O_EXCL | O_WRONLY, 0640, RESOLVE_BENEATH, how)); SAY(at2(here, "n3", O_CREAT | O_WRONLY, 010640, 0, how)); SAY(at2(AT_FDCWD, "/proc/self/cwd/f", 0, 0, RESOLVE_NO_XDEV, how)); SAY(at2(here, "f", O_PATH | O_WRONLY, 0, 0, how));
	SAY(unlink("n2"));
	close(d), close(path), close(f), close(here);
}

// names makes, renames, links and removes.
static void names(void) {
	char part256[257];
	memset(part256, 'n', 256), part256[256] = 0;
	int d = open("d", O_RDONLY), f = open("f", O_RDONLY);
	SAY(mkdir("d", 0777)); SAY(mkdir("f", 0777)); SAY(mkdir("m", 0777)); SAY(mkdir("m/", 0777)); SAY(mkdir("m2/", 0777)); SAY(mkdir("missing/m", 0777)); SAY(mkdir("f/m", 0777)); SAY(mkdir(".", 0777)); SAY(mkdir("", 0777)); SAY(mkdir("dangling", 0777));
	SAY(mkdir("dangling/", 0777)); SAY(mkdir("loop1/m", 0777)); SAY(mkdir(part256, 0777)); SAY(mkdir("rd/m", 0777)); SAY(mkdir("/", 0777)); SAY(mkdirat(d, "m", 0777)); SAY(mkdirat(f, "m", 0777)); SAY(mkdirat(99, "m", 0777)); SAY(mkdir(NULL, 0)); SAY(mkdir("d/m/..", 0777));
	SAY(rmdir("d")); SAY(rmdir("f")); SAY(rmdir("m/.")); SAY(rmdir("m/..")); SAY(rmdir("m2")); SAY(rmdir("m2")); SAY(rmdir("ld")); SAY(rmdir(".")); SAY(rmdir("/")); SAY(unlinkat(d, "m", 0)); SAY(unlinkat(d, "m", AT_REMOVEDIR)); SAY(unlinkat(d, "m", 1 << 20));
	SAY(unlink("d")); SAY(unlink("missing")); SAY(unlink("f/")); SAY(unlink("f/x")); SAY(unlink("loop1/x")); SAY(unlink("")); SAY(unlink(".")); SAY(unlink("rd/x")); SAY(unlink(part256)); SAY(unlink("gone")); SAY(unlink(NULL));
	SAY(rename("f", "d")); SAY(rename("d", "f")); SAY(rename("m", "d")); SAY(rename("d", "m")); SAY(rename("m", "d")); SAY(rename("d", "d/m/x")); SAY(rename("d", "d/x")); SAY(rename("missing", "x")); SAY(rename("f", "missing/x")); SAY(rename("f", "f/x")); SAY(rename("f", "f"));
	SAY(mkdir("d", 0755)); SAY(rename("m", "d")); SAY(rename("f", "rd/f")); SAY(rename("rd/x", "x")); SAY(rename("f", "")); SAY(rename(".", "x")); SAY(rename("d/.", "x")); SAY(rename("f", part256)); SAY(rename("l", "l2")); SAY(rename("l2", "l")); SAY(rename("f", "n/")); SAY(rename("d", "n/")); SAY(rename("n", "d"));
	SAY(renameat2(AT_FDCWD, "f", AT_FDCWD, "ro", RENAME_NOREPLACE)); SAY(renameat2(AT_FDCWD, "f", AT_FDCWD, "n", RENAME_NOREPLACE)); SAY(renameat2(AT_FDCWD, "n", AT_FDCWD, "missing", RENAME_EXCHANGE)); SAY(renameat2(AT_FDCWD, "n", AT_FDCWD, "ro", RENAME_EXCHANGE));
	SAY(renameat2(AT_FDCWD, "ro", AT_FDCWD, "n", RENAME_EXCHANGE)); SAY(renameat2(AT_FDCWD, "n", AT_FDCWD, "f", RENAME_NOREPLACE | RENAME_EXCHANGE)); SAY(renameat2(AT_FDCWD, "n", AT_FDCWD, "f", 1 << 10)); SAY(renameat2(AT_FDCWD, "n", AT_FDCWD, "f", 0)); SAY(renameat2(99, "f", AT_FDCWD, "n", 0));
	SAY(link("f", "h")); SAY(link("f", "h")); SAY(link("d", "hd")); SAY(link("missing", "hm")); SAY(link("f", "missing/h")); SAY(link("l", "hl")); SAY(linkat(AT_FDCWD, "l", AT_FDCWD, "hlf", AT_SYMLINK_FOLLOW)); SAY(linkat(AT_FDCWD, "dangling", AT_FDCWD, "hx", AT_SYMLINK_FOLLOW));
	SAY(linkat(f, "", AT_FDCWD, "he", 0)); SAY(linkat(AT_FDCWD, "f", AT_FDCWD, "hz", 1 << 20)); SAY(link("f", "rd/h")); SAY(link("/dev/null", "hn")); SAY(link("p", "hp"));
	SAY(symlink("", "s")); SAY(symlink("f", "l")); SAY(symlink("f", "s")); SAY(symlink("f", "missing/s")); SAY(symlink("f", "rd/s")); SAY(symlink("f", "")); SAY(symlink(part256, "sl")); SAY(symlink("f", "s/")); SAY(symlinkat("f", d, "s")); SAY(symlinkat("f", 99, "s"));
	SAY(mknod("k", S_IFREG | 0644, 0)); SAY(mknod("k", S_IFREG | 0644, 0)); SAY(mknod("k2", 0644, 0)); SAY(mknod("k3", S_IFIFO | 0644, 0)); SAY(mknod("k4", S_IFSOCK | 0644, 0)); SAY(mknod("k5", S_IFDIR | 0644, 0)); SAY(mknod("missing/k", S_IFREG, 0)); SAY(mknod("k6", S_IFLNK, 0));
	SAY(mkfifo("k7", 0600)); SAY(mkfifo("k7", 0600)); SAY(mkfifo("f/x", 0600)); SAY(creat("c", 0600)); SAY(creat("d", 0600)); SAY(creat("missing/c", 0600)); SAY(creat("rd/c", 0600)); SAY(truncate("f", 3)); SAY(truncate("d", 3)); SAY(truncate("missing", 3)); SAY(truncate("ro", 3)); SAY(truncate("f", -1));
	struct sockaddr_un name = {AF_UNIX, "sock"};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	SAY(bind(s, (void *)&name, sizeof name)); SAY(open("sock", O_RDONLY)); SAY(bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&name, sizeof name)); SAY(access("f", R_OK | W_OK)); SAY(access("none", R_OK)); SAY(access("missing", F_OK)); SAY(faccessat(AT_FDCWD, "f", X_OK, AT_EACCESS));
	SAY(chdir("f")); SAY(chdir("missing")); SAY(chdir("nx")); SAY(chdir("/proc/self/cwd"));
}

int main(int argc, char **argv) {
	if (argc != 2 || !(results = fopen(argv[1], "we"))) return 2;
	setvbuf(results, NULL, _IOFBF, 1 << 20);
	umask(022);
	furnish();
	table();
	directories();
	names();
	return fclose(results) ? 1 : 0;
}
