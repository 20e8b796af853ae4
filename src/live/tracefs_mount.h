/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live/tracefs_mount.h: a tracefs that this process may use, mounted privately where none is.
 * Layer: live. */
#ifndef MMSCOPE_LIVE_TRACEFS_MOUNT_H
#define MMSCOPE_LIVE_TRACEFS_MOUNT_H

#include "base/error.h"
#include "base/types.h"

/*
 * @ret_dir: the tracing directory. Where tracefs is not mounted it is mounted at
 * /sys/kernel/tracing inside a mount namespace of this process alone, which goes with the process;
 * call this before making threads, and fork what has to stay in the old namespace before it.
 * @ret_mounted (may be NULL): whether that was done. The message of an error names the privilege
 * that is missing: -EPERM, -EACCES, -ENODEV (kernel without it).
 */
int tracefs_mount_get(char *ret_dir, size_t size, bool *ret_mounted, struct error *e) MUST_CHECK;

#endif
