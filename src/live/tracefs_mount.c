/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/tracefs_mount.c: see tracefs_mount.h. Layer: live. */
#include "live/tracefs_mount.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "sys/tracefs.h"

#define PRIVATE_DIR "/sys/kernel/tracing"

/* Recording needs to make a directory below instances/. */
static int check_access(const char *dir, struct error *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.4000s/instances", dir);
	if (!access(path, R_OK | W_OK | X_OK))
		return 0;
	if (errno == ENOENT)
		return error_set(e, -ENOENT,
				 "%s does not exist: this kernel's tracefs has no instances", path);
	return error_set(e, -errno, "%s: %s: needs read and write access to tracefs (run as root)",
			 path, strerror(errno));
}

static int mount_privately(struct error *e)
{
	if (unshare(CLONE_NEWNS))
		return error_set(e, -errno,
				 "tracefs is not mounted, and mounting it needs CAP_SYS_ADMIN (run "
				 "as root): %s",
				 strerror(errno));
	/* Without this the mount would travel back into the namespace we came from (shared
	 * propagation). */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return error_set(e, -errno, "cannot make the mounts private: %s", strerror(errno));
	if (!mount("tracefs", PRIVATE_DIR, "tracefs", 0, NULL))
		return 0;
	if (errno == ENODEV || errno == ENOENT)
		return error_set(e, -ENODEV,
				 "this kernel has no tracefs (built without CONFIG_TRACING)");
	return error_set(e, -errno,
			 "cannot mount tracefs at " PRIVATE_DIR " (needs CAP_SYS_ADMIN): %s",
			 strerror(errno));
}

int tracefs_mount_get(char *ret_dir, size_t size, bool *ret_mounted, struct error *e)
{
	bool mounted = false;
	int code = sys_tracefs_find("", ret_dir, size, NULL);

	if (code) {
		code = mount_privately(e);
		if (code)
			return code;
		if ((size_t)snprintf(ret_dir, size, "%s", PRIVATE_DIR) >= size)
			return error_set(e, -ENAMETOOLONG, "tracefs: path too long");
		mounted = true;
	}
	if (ret_mounted)
		*ret_mounted = mounted;
	return check_access(ret_dir, e);
}
