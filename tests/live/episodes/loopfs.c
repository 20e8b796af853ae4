/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loopfs.c: an ext4 in a file, to be frozen. Nothing is left behind, whatever ends us: the image is
 * unlinked, the mount detached and its directory removed at once, so that the file system lives as
 * long as somebody has it open, and the loop device lets go by itself (autoclear). The watchdog
 * holds it open too: it thaws at a set time, and when the director is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "episodes.h"

#define IMAGE_BYTES (48 << 20)

static int make_ext4(const char *image)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		/* no journal: freezing takes less time, and blocks the same */
		execlp("mkfs.ext4", "mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E",
		       "lazy_itable_init=0", image, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			       !WEXITSTATUS(status)
		       ? 0
		       : -1;
}

/* The path of a loop device that shows @image and vanishes with its last user; -1 = none. */
static int attach(int image, char *device, size_t device_bytes)
{
	struct loop_config config = { .fd = (unsigned)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -1;

	if (control < 0)
		return -1;
	for (int tries = 0; fd < 0 && tries < 16; tries++) {
		long n = ioctl(control, LOOP_CTL_GET_FREE);

		if (n < 0)
			break;
		snprintf(device, device_bytes, "/dev/loop%ld", n);
		fd = open(device, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			break;
		if (ioctl(fd, LOOP_CONFIGURE, &config)) { /* somebody was faster */
			int error = errno;

			close(fd);
			errno = error;
			fd = -1;
		}
	}
	close(control);
	return fd;
}

static int mount_at(const char *image_path, const char *at, char *why, size_t why_bytes)
{
	char device[64] = "";
	int image = open(image_path, O_RDWR | O_CLOEXEC), loop = -1, root = -1;

	if (image >= 0)
		loop = attach(image, device, sizeof(device));
	if (loop < 0)
		snprintf(why, why_bytes, "no loop device: %s", strerror(errno));
	else if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		 mount(device, at, "ext4", MS_NOATIME, NULL))
		snprintf(why, why_bytes, "cannot mount an ext4: %s", strerror(errno));
	else if ((root = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		snprintf(why, why_bytes, "cannot open the mount: %s", strerror(errno));
	umount2(at, MNT_DETACH);
	close(loop);
	close(image);
	return root;
}

int loopfs_make(struct stage *s, const char *dir, char *why, size_t why_bytes)
{
	char at[512], image[576];
	int fd;

	s->fs_fd = -1;
	snprintf(at, sizeof(at), "%s/episodes-XXXXXX", dir);
	if (!mkdtemp(at)) {
		snprintf(why, why_bytes, "%s: %s", at, strerror(errno));
		return -1;
	}
	snprintf(image, sizeof(image), "%s.ext4", at);
	fd = open(image, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, IMAGE_BYTES))
		snprintf(why, why_bytes, "%s: %s", image, strerror(errno));
	else if (make_ext4(image))
		snprintf(why, why_bytes, "mkfs.ext4 (package e2fsprogs) failed");
	else
		s->fs_fd = mount_at(image, at, why, why_bytes);
	close(fd);
	unlink(image);
	rmdir(at);
	return s->fs_fd < 0 ? -1 : 0;
}

int loopfs_freeze(struct stage *s, u64 limit_ns)
{
	__atomic_store_n(&s->sh->thaw_by_ns, now_ns() + limit_ns, __ATOMIC_SEQ_CST);
	return ioctl(s->fs_fd, FIFREEZE, 0);
}

int loopfs_thaw(struct stage *s)
{
	int result = ioctl(s->fs_fd, FITHAW, 0);

	__atomic_store_n(&s->sh->thaw_by_ns, 0, __ATOMIC_SEQ_CST);
	return result;
}

static bool write_line(const char *path, const char *line)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line);

	close(fd);
	return good;
}

/* cgroup v1; elsewhere a cold read lasts as long as it lasts. */
void loopfs_throttle(struct stage *s, unsigned reads_per_s)
{
	static const char *const parent = "/sys/fs/cgroup/blkio";
	char path[192], line[64];
	struct stat st;

	if (fstat(s->fs_fd, &st))
		return;
	snprintf(s->sh->throttle, sizeof(s->sh->throttle), "%s/episodes-%d", parent, (int)getpid());
	snprintf(path, sizeof(path), "%s/blkio.throttle.read_iops_device", s->sh->throttle);
	snprintf(line, sizeof(line), "%u:%u %u", major(st.st_dev), minor(st.st_dev), reads_per_s);
	if (!mkdir(s->sh->throttle, 0700) && write_line(path, line)) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", s->sh->throttle);
		if (write_line(path, "0"))
			return;
	}
	rmdir(s->sh->throttle);
	s->sh->throttle[0] = 0;
}

/* Works once everybody in it has ended. */
void loopfs_unthrottle(struct stage *s)
{
	for (int tries = 0; s->sh->throttle[0] && tries < 100; tries++) {
		if (!rmdir(s->sh->throttle) || errno != EBUSY)
			return;
		sleep_until(now_ns() + 20000000);
	}
}

static void watch(struct stage *s, int alive_fd)
{
	struct pollfd p = { .fd = alive_fd };

	while (!poll(&p, 1, 100)) {
		u64 by_ns = __atomic_load_n(&s->sh->thaw_by_ns, __ATOMIC_SEQ_CST);

		if (by_ns && now_ns() > by_ns && !loopfs_thaw(s))
			s->sh->watchdog_thawed = true;
	}
	/* the director is gone */
	ioctl(s->fs_fd, FITHAW, 0);
	loopfs_unthrottle(s);
}

/*
 * @ret_alive_fd: for the director alone; the watchdog takes its end for the director's. It is in a
 * session of its own, so that a kill of our process group leaves it.
 */
pid_t watchdog_start(struct stage *s, int *ret_alive_fd)
{
	int ends[2], null;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		setsid();
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		close(ends[1]);
		null = open("/dev/null", O_RDWR);
		for (int fd = 0; fd <= 2; fd++)
			dup2(null, fd);
		watch(s, ends[0]);
		_exit(0);
	}
	close(ends[0]);
	*ret_alive_fd = ends[1];
	return pid;
}
