/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session/session_dir.h: the directory of a recording and its mmscope.json, the only place that
 * knows the keys of that file (session_dir.c has one row per key). Layer: session.
 *
 * The file is written when the recording starts, with "ended_by": null, and again (tmp + rename)
 * when it ends: a recording that was killed is therefore one whose ended_by is null, and everything
 * up to the cut is readable.
 */
#ifndef MMSCOPE_SESSION_SESSION_DIR_H
#define MMSCOPE_SESSION_SESSION_DIR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/types.h"
#include "base/vec.h"

#define SESSION_FORMAT_VERSION 1
#define SESSION_FILE "mmscope.json"
#define SESSION_MAX_BYTES (4u << 20) /* of mmscope.json */
#define SESSION_MAX_LIST 65536	     /* entries of any list in it */
#define SESSION_MAX_STRING 4096 /* bytes of any string in it; longer ones are cut when written */
#define SESSION_MAX_CPUS 4096

/* A number that may be null. */
struct session_num {
	bool has;
	s64 v;
};
struct session_strings {
	VEC(const char *) list;
};
struct session_nums {
	VEC(s64) list;
};
/* What one CPU's buffer delivered and lost. */
struct session_cpu {
	s64 cpu;
	s64 bytes;	 /* of text in its file */
	s64 read_events; /* what the kernel says was read */
	s64 overrun;	 /* overwritten before they could be read */
	s64 commit_overrun;
	s64 dropped;
	s64 lost_marks;	  /* LOST lines in the file */
	s64 lost_events;  /* sum of their numbers */
	s64 lost_unknown; /* LOST lines without a number: then lost_events is a minimum */
	s64 unread; /* still in the buffer when the recording ended (0 unless writing failed) */
};
struct session_cpus {
	VEC(struct session_cpu) list;
};

/* Strings are NULL where the file says null or nothing; they live in ->arena. */
struct session_info {
	struct arena arena;
	struct session_num format_version;
	const char *tool;			       /* "mmscope 0.1.0" */
	struct session_strings command;		       /* the record command line */
	const char *kernel;			       /* release */
	const char *machine;			       /* "x86_64" */
	const char *clock;			       /* "mono" */
	struct session_num cpus;		       /* online */
	struct session_num start_ns, end_ns;	       /* on the trace's clock */
	const char *start_realtime;		       /* "2026-01-31T12:00:00Z" */
	struct session_strings events, missing_events; /* "system:name" */
	const char *scope;			       /* "command", "pids", "all" */
	struct session_nums pids;		       /* the processes watched */
	struct session_num exit_code;		       /* of the command; 128 + n for signal n */
	const char *workload;			       /* the command, joined by spaces */
	const char *source;			       /* "ftrace", "bpf"; NULL = ftrace */
	/* of BPF: the least wait told, which way each part is done, what came out of the ring */
	struct session_num min_wait_ns;
	struct session_strings rungs;
	struct session_num records, record_bytes, lost_records;
	struct session_num buffer_kb; /* of ftrace, per CPU */
	struct session_num filemap_fault_no_retry;
	struct session_cpus per_cpu;
	struct session_strings files; /* trace files in the directory */
	const char *ended_by; /* "command", "pids", "duration", "signal", "error"; NULL: it was cut
				 off */
	const char *error;    /* what went wrong, for ended_by "error" */
};

void session_info_init(struct session_info *info);
void session_info_done(struct session_info *info);
/* Sets a string member, or appends to a list: a copy of @s (cut at SESSION_MAX_STRING), owned by
 * @info. */
int session_info_set(struct session_info *info, const char **to, const char *s) MUST_CHECK;
int session_info_add(struct session_info *info, struct session_strings *to,
		     const char *s) MUST_CHECK;

/*
 * Makes @dir (its parent must exist), or takes it when it is an empty directory. -EEXIST when it
 * holds anything. @ret_made: whether it was made here.
 */
int session_dir_create(const char *dir, bool *ret_made, struct error *e) MUST_CHECK;
/* Writes mmscope.json; the old one stays untouched unless the new one is complete. */
int session_dir_save(const char *dir, const struct session_info *info, struct error *e) MUST_CHECK;
/*
 * Sets space aside on the disk for the last session_dir_save(), so that a recording that filled the
 * disk can still say so. It lies in mmscope.json.tmp, which the save takes over. Best effort.
 */
void session_dir_reserve(const char *dir, size_t size_bytes);
/* Removes what @info->files names and mmscope.json, and the directory too if @made. */
void session_dir_discard(const char *dir, const struct session_info *info, bool made);
/*
 * Reads mmscope.json into @info (initialised by the caller). -ENOENT without @e set when @dir has
 * none; any other failure sets @e: unreadable, over SESSION_MAX_BYTES, no JSON, a value of the
 * wrong type or out of range, a newer format. A missing key is null. @info is usable (and empty)
 * after a failure.
 */
int session_dir_load(const char *dir, struct session_info *info, struct error *e) MUST_CHECK;

#endif
