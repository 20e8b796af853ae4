/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session/session_dir.c: mmscope.json and its directory (see session_dir.h). Layer: session. */
#include "session/session_dir.h"

#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum key_kind { KEY_STR, KEY_NUM, KEY_STRS, KEY_NUMS, KEY_CPUS };
struct key {
	const char *name;
	enum key_kind kind;
	size_t offset;
	s64 min, max; /* of numbers, inclusive */
};

/* ONE row per key of mmscope.json, in the order they are written. */
#define KEY(name, kind, member, min, max)                                   \
	{                                                                   \
		name, kind, offsetof(struct session_info, member), min, max \
	}
static const struct key keys[] = {
	KEY("format_version", KEY_NUM, format_version, 1, INT_MAX),
	KEY("tool", KEY_STR, tool, 0, 0),
	KEY("command", KEY_STRS, command, 0, 0),
	KEY("kernel", KEY_STR, kernel, 0, 0),
	KEY("machine", KEY_STR, machine, 0, 0),
	KEY("clock", KEY_STR, clock, 0, 0),
	KEY("cpus", KEY_NUM, cpus, 1, SESSION_MAX_CPUS),
	KEY("start_ns", KEY_NUM, start_ns, 0, INT64_MAX),
	KEY("end_ns", KEY_NUM, end_ns, 0, INT64_MAX),
	KEY("start_realtime", KEY_STR, start_realtime, 0, 0),
	KEY("scope", KEY_STR, scope, 0, 0),
	KEY("pids", KEY_NUMS, pids, 1, INT_MAX),
	KEY("workload", KEY_STR, workload, 0, 0),
	KEY("exit_code", KEY_NUM, exit_code, 0, 255),
	KEY("source", KEY_STR, source, 0, 0),
	KEY("min_wait_ns", KEY_NUM, min_wait_ns, 0, INT64_MAX),
	KEY("rungs", KEY_STRS, rungs, 0, 0),
	KEY("records", KEY_NUM, records, 0, INT64_MAX),
	KEY("record_bytes", KEY_NUM, record_bytes, 0, INT64_MAX),
	KEY("lost_records", KEY_NUM, lost_records, 0, INT64_MAX),
	KEY("buffer_kb", KEY_NUM, buffer_kb, 0, INT64_MAX / 1024),
	KEY("filemap_fault_no_retry", KEY_NUM, filemap_fault_no_retry, 0, 1),
	KEY("events", KEY_STRS, events, 0, 0),
	KEY("missing_events", KEY_STRS, missing_events, 0, 0),
	KEY("per_cpu", KEY_CPUS, per_cpu, 0, 0),
	KEY("files", KEY_STRS, files, 0, 0),
	KEY("ended_by", KEY_STR, ended_by, 0, 0),
	KEY("error", KEY_STR, error, 0, 0),
};

/* ONE row per number of a per_cpu entry. */
static const struct {
	const char *name;
	size_t offset;
} cpu_keys[] = {
	{ "cpu", offsetof(struct session_cpu, cpu) },
	{ "bytes", offsetof(struct session_cpu, bytes) },
	{ "read_events", offsetof(struct session_cpu, read_events) },
	{ "overrun", offsetof(struct session_cpu, overrun) },
	{ "commit_overrun", offsetof(struct session_cpu, commit_overrun) },
	{ "dropped", offsetof(struct session_cpu, dropped) },
	{ "lost_marks", offsetof(struct session_cpu, lost_marks) },
	{ "lost_events", offsetof(struct session_cpu, lost_events) },
	{ "lost_unknown", offsetof(struct session_cpu, lost_unknown) },
	{ "unread", offsetof(struct session_cpu, unread) },
};

static void *member_of(const struct session_info *info, const struct key *k)
{
	return (char *)(uintptr_t)info + k->offset;
}

void session_info_init(struct session_info *info)
{
	*info = (struct session_info){ 0 };
	arena_init(&info->arena);
}

void session_info_done(struct session_info *info)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		void *m = member_of(info, &keys[i]);

		if (keys[i].kind == KEY_STRS)
			vec_done(&((struct session_strings *)m)->list);
		else if (keys[i].kind == KEY_NUMS)
			vec_done(&((struct session_nums *)m)->list);
		else if (keys[i].kind == KEY_CPUS)
			vec_done(&((struct session_cpus *)m)->list);
	}
	arena_done(&info->arena);
	session_info_init(info);
}

int session_info_set(struct session_info *info, const char **to, const char *s)
{
	*to = arena_strndup(&info->arena, s, strnlen(s, SESSION_MAX_STRING));
	return *to ? 0 : -ENOMEM;
}

int session_info_add(struct session_info *info, struct session_strings *to, const char *s)
{
	const char *copy = NULL;
	const char **slot;
	int code = session_info_set(info, &copy, s);

	slot = !code && to->list.n < SESSION_MAX_LIST ? vec_push(&to->list) : NULL;
	if (!slot)
		return -ENOMEM;
	*slot = copy;
	return 0;
}

/* --- the directory --- */

/* 1: holds something, 0: empty, negative errno. */
static int dir_is_used(const char *dir)
{
	struct dirent *d;
	int used = 0;
	DIR *p = opendir(dir);

	if (!p)
		return -errno;
	while (!used && (d = readdir(p)))
		used = strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	closedir(p);
	return used;
}

int session_dir_create(const char *dir, bool *ret_made, struct error *e)
{
	int used;

	*ret_made = false;
	if (!mkdir(dir, 0755)) {
		*ret_made = true;
		return 0;
	}
	if (errno != EEXIST)
		return error_set(e, -errno, "cannot make the directory %s: %s", dir,
				 strerror(errno));
	used = dir_is_used(dir);
	if (used < 0)
		return error_set(e, used, "%s: %s", dir, strerror(-used));
	if (used)
		return error_set(e, -EEXIST,
				 "%s exists and is not empty: name another directory with -o", dir);
	if (access(dir, W_OK | X_OK))
		return error_set(e, -errno, "%s: %s", dir, strerror(errno));
	return 0;
}

/* A plain file name: what is listed in "files" must not lead out of the directory. */
static bool file_name_is_plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strlen(name) <= NAME_MAX;
}

void session_dir_reserve(const char *dir, size_t size_bytes)
{
	char path[PATH_MAX];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/" SESSION_FILE ".tmp", dir) >= sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	(void)!posix_fallocate(fd, 0, (off_t)size_bytes);
	close(fd);
}

void session_dir_discard(const char *dir, const struct session_info *info, bool made)
{
	char path[PATH_MAX];

	for (size_t i = 0; i <= info->files.list.n; i++) {
		const char *name = i < info->files.list.n ? info->files.list.v[i] : SESSION_FILE;

		if (file_name_is_plain(name) &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path))
			unlink(path);
	}
	if ((size_t)snprintf(path, sizeof(path), "%s/" SESSION_FILE ".tmp", dir) < sizeof(path))
		unlink(path);
	if (made)
		rmdir(dir);
}

/* --- writing --- */

/* Command lines hold any bytes; JSON holds UTF-8. What is none becomes U+FFFD, byte by byte. */
static json_t *string_to_json(struct arena *scratch, const char *s)
{
	size_t len = strlen(s), n = 0;
	char *copy;
	json_t *j;

	j = json_string(s);
	if (j)
		return j;
	copy = arena_alloc(scratch, len * 3 + 1);
	if (!copy)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x80) {
			copy[n++] = s[i];
		} else {
			memcpy(copy + n, "\xef\xbf\xbd", 3);
			n += 3;
		}
	}
	return json_stringn(copy, n);
}

static json_t *cpus_to_json(const struct session_cpus *cpus)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < cpus->list.n; i++) {
		json_t *cpu = json_object();

		for (size_t k = 0; k < ARRAY_LEN(cpu_keys); k++) {
			const s64 *v = (const s64 *)(const void *)((const char *)&cpus->list.v[i] +
								   cpu_keys[k].offset);

			json_object_set_new(cpu, cpu_keys[k].name, json_integer(*v));
		}
		json_array_append_new(list, cpu);
	}
	return list;
}

static json_t *key_to_json(const struct key *k, const void *m, struct arena *scratch)
{
	const struct session_strings *strs = m;
	const struct session_nums *nums = m;
	const struct session_num *num = m;
	const char *str;
	json_t *list;

	switch (k->kind) {
	case KEY_STR:
		str = *(const char *const *)m;
		return str ? string_to_json(scratch, str) : json_null();
	case KEY_NUM:
		return num->has ? json_integer(num->v) : json_null();
	case KEY_STRS:
		list = json_array();
		for (size_t i = 0; list && i < strs->list.n; i++)
			if (json_array_append_new(list, string_to_json(scratch, strs->list.v[i]))) {
				json_decref(list);
				list = NULL;
			}
		return list;
	case KEY_NUMS:
		list = json_array();
		for (size_t i = 0; list && i < nums->list.n; i++)
			json_array_append_new(list, json_integer(nums->list.v[i]));
		return list;
	case KEY_CPUS:
		return cpus_to_json(m);
	}
	return NULL;
}

static json_t *info_to_json(const struct session_info *info)
{
	json_t *root = json_object();
	struct arena scratch;
	bool ok = root;

	arena_init(&scratch);
	for (size_t i = 0; ok && i < ARRAY_LEN(keys); i++)
		ok = !json_object_set_new(
			root, keys[i].name,
			key_to_json(&keys[i], member_of(info, &keys[i]), &scratch));
	arena_done(&scratch);
	if (!ok) {
		json_decref(root);
		return NULL;
	}
	return root;
}

static int replace_file(const char *path, const char *text, struct error *e)
{
	char tmp[PATH_MAX + 8];
	int fd, code;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_set(e, -errno, "%s: %s", tmp, strerror(errno));
	code = io_write_all(fd, text, strlen(text));
	if (!code)
		code = io_write_all(fd, "\n", 1);
	if (close(fd) && !code)
		code = -errno;
	if (!code && rename(tmp, path))
		code = -errno;
	if (code) {
		unlink(tmp);
		return error_set(e, code, "%s: %s", path, strerror(-code));
	}
	return 0;
}

int session_dir_save(const char *dir, const struct session_info *info, struct error *e)
{
	char path[PATH_MAX];
	char *text = NULL;
	json_t *root;
	int code;

	if ((size_t)snprintf(path, sizeof(path), "%s/" SESSION_FILE, dir) >= sizeof(path))
		return error_set(e, -ENAMETOOLONG, "%.200s/...: path too long", dir);
	root = info_to_json(info);
	if (root)
		text = json_dumps(root, JSON_INDENT(1));
	json_decref(root);
	if (!text)
		return error_set(e, -ENOMEM, "%s: out of memory", path);
	if (strlen(text) >= SESSION_MAX_BYTES)
		code = error_set(e, -EFBIG, "%s would be larger than 4 MB", path);
	else
		code = replace_file(path, text, e);
	free(text);
	return code;
}

/* --- reading --- */

static int wrong(struct error *e, const struct key *k, const char *what)
{
	return error_set(e, -EINVAL, "'%s' is not %s", k->name, what);
}

static int string_from_json(struct session_info *info, const struct key *k, const json_t *j,
			    const char **ret, struct error *e)
{
	size_t len;

	if (!json_is_string(j))
		return wrong(e, k, "a string");
	len = json_string_length(j);
	if (len > SESSION_MAX_STRING)
		return wrong(e, k, "a string of at most 4096 bytes");
	*ret = arena_strndup(&info->arena, json_string_value(j), len);
	return *ret ? 0 : error_set(e, -ENOMEM, "out of memory");
}

static int num_from_json(const struct key *k, const json_t *j, s64 *ret, struct error *e)
{
	if (!json_is_integer(j))
		return wrong(e, k, "a whole number");
	if (json_integer_value(j) < k->min || json_integer_value(j) > k->max)
		return error_set(e, -ERANGE, "'%s' is out of range: %lld (%lld to %lld)", k->name,
				 (long long)json_integer_value(j), (long long)k->min,
				 (long long)k->max);
	*ret = json_integer_value(j);
	return 0;
}

static int cpu_from_json(const struct key *k, const json_t *j, struct session_cpu *ret,
			 struct error *e)
{
	if (!json_is_object(j))
		return wrong(e, k, "a list of objects");
	for (size_t i = 0; i < ARRAY_LEN(cpu_keys); i++) {
		const json_t *v = json_object_get(j, cpu_keys[i].name);
		const struct key sub = { cpu_keys[i].name, KEY_NUM, 0, 0, INT64_MAX };
		int code;

		if (!v)
			continue;
		code = num_from_json(&sub, v, (s64 *)(void *)((char *)ret + cpu_keys[i].offset), e);
		if (code) {
			error_prefix(e, "'%s'", k->name);
			return code;
		}
	}
	if (ret->cpu >= SESSION_MAX_CPUS)
		return wrong(e, k, "a list of CPUs below 4096");
	return 0;
}

static int list_entry_from_json(struct session_info *info, const struct key *k, const json_t *j,
				void *m, struct error *e)
{
	struct session_strings *strs = m;
	struct session_nums *nums = m;
	struct session_cpus *cpus = m;
	struct session_cpu *cpu;
	const char **str;
	s64 *num;

	switch (k->kind) {
	case KEY_STRS:
		str = vec_push(&strs->list);
		return str ? string_from_json(info, k, j, str, e)
			   : error_set(e, -ENOMEM, "out of memory");
	case KEY_NUMS:
		num = vec_push(&nums->list);
		return num ? num_from_json(k, j, num, e) : error_set(e, -ENOMEM, "out of memory");
	default:
		cpu = vec_push(&cpus->list);
		return cpu ? cpu_from_json(k, j, cpu, e) : error_set(e, -ENOMEM, "out of memory");
	}
}

static int key_from_json(struct session_info *info, const struct key *k, const json_t *j,
			 struct error *e)
{
	void *m = member_of(info, k);
	struct session_num *num = m;
	size_t limit = k->kind == KEY_CPUS ? SESSION_MAX_CPUS : SESSION_MAX_LIST;
	int code = 0;

	if (!j || json_is_null(j))
		return 0;
	if (k->kind == KEY_STR)
		return string_from_json(info, k, j, m, e);
	if (k->kind == KEY_NUM) {
		code = num_from_json(k, j, &num->v, e);
		num->has = !code;
		return code;
	}
	if (!json_is_array(j))
		return wrong(e, k, "a list");
	if (json_array_size(j) > limit)
		return wrong(e, k, "a list of that few entries");
	for (size_t i = 0; !code && i < json_array_size(j); i++)
		code = list_entry_from_json(info, k, json_array_get(j, i), m, e);
	return code;
}

static int info_from_json(struct session_info *info, const json_t *root, struct error *e)
{
	int code = 0;

	if (!json_is_object(root))
		return error_set(e, -EINVAL, "not a JSON object");
	for (size_t i = 0; !code && i < ARRAY_LEN(keys); i++)
		code = key_from_json(info, &keys[i], json_object_get(root, keys[i].name), e);
	if (code)
		return code;
	if (!info->format_version.has)
		return error_set(e, -EINVAL, "no 'format_version'");
	if (info->format_version.v > SESSION_FORMAT_VERSION)
		return error_set(e, -EPROTO,
				 "written by a newer mmscope (format %lld, this one reads %d)",
				 (long long)info->format_version.v, SESSION_FORMAT_VERSION);
	for (size_t i = 0; i < info->files.list.n; i++)
		if (!file_name_is_plain(info->files.list.v[i]))
			return error_set(e, -EINVAL,
					 "'files' names something outside of the directory");
	return 0;
}

/* The bytes of a regular file of at most SESSION_MAX_BYTES; the caller frees. */
static int read_whole(const char *path, char **ret, size_t *ret_len, struct error *e)
{
	struct stat st;
	size_t n = 0;
	int code = 0;
	char *buf;
	/* O_NONBLOCK: somebody's FIFO of that name must not hang us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) /* a directory without the file is an ordinary one: no message */
		return errno == ENOENT ? -ENOENT : error_set(e, -errno, "%s", strerror(errno));
	buf = malloc(SESSION_MAX_BYTES + 1);
	if (!buf)
		code = error_set(e, -ENOMEM, "out of memory");
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		code = error_set(e, -EINVAL, "not a regular file");
	while (!code && n <= SESSION_MAX_BYTES) {
		ssize_t got = read(fd, buf + n, SESSION_MAX_BYTES + 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			code = error_set(e, -errno, "%s", strerror(errno));
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (!code && n > SESSION_MAX_BYTES)
		code = error_set(e, -EFBIG, "larger than 4 MB");
	close(fd);
	if (code) {
		free(buf);
		return code;
	}
	*ret = buf;
	*ret_len = n;
	return 0;
}

int session_dir_load(const char *dir, struct session_info *info, struct error *e)
{
	char path[PATH_MAX];
	json_error_t je;
	char *text = NULL;
	size_t len = 0;
	json_t *root;
	int code;

	if ((size_t)snprintf(path, sizeof(path), "%s/" SESSION_FILE, dir) >= sizeof(path))
		return error_set(e, -ENAMETOOLONG, "%.200s/...: path too long", dir);
	code = read_whole(path, &text, &len, e);
	if (!code) {
		root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
		free(text);
		if (root)
			code = info_from_json(info, root, e);
		else
			code = error_set(e, -EINVAL, "line %d: %.150s", je.line, je.text);
		json_decref(root);
	}
	if (code) {
		session_info_done(info);
		error_prefix(e, "%s", path);
	}
	return code;
}
