/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decode/bpf_records.c: what each kind of record becomes (the table in bpf.h). Layer: decode. */
#include <errno.h>
#include <string.h>

#include "decode/bpf_internal.h"
#include "model/gaps.h"

#define CLONE_VM 0x100
#define CLONE_THREAD 0x10000
#define MAP_FIXED 0x10
#define MAP_FIXED_NOREPLACE 0x100000
#define X32_CALL 0x40000000 /* __X32_SYSCALL_BIT */
#define PAGE_BYTES 4096ULL
#define VM_FAULT_RETRY 0x400
/* An older page fault event is another fault's. */
#define FAULT_MAX_AGE_NS 1000000000ULL

static enum as_call call_of(const struct bpf_decoder *d, const struct bpf_in_call *c)
{
	static const struct {
		s32 x86_64, i386, arm64;
		u8 call;
	} rows[] = {
#define CALL(id, KIND, name, x86_64, i386, arm64, origin) { x86_64, i386, arm64, id },
#include "wire/calls.def"
#undef CALL
	};
	s32 nr = c->nr;

	if (nr < 0)
		return CALL_NONE;
	if (d->machine == BPF_MACHINE_X86_64 && !c->is_32bit)
		nr &= ~X32_CALL;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		s32 row = d->machine != BPF_MACHINE_X86_64 ? rows[i].arm64
			  : c->is_32bit			   ? rows[i].i386
							   : rows[i].x86_64;

		if (row == nr)
			return rows[i].call;
	}
	return CALL_NONE;
}

/* Is it known which table the number is of? There is none of 32-bit arm here. */
static bool knows_call(const struct bpf_decoder *d, const struct bpf_in_call *c)
{
	return c->nr < 0 || d->machine == BPF_MACHINE_X86_64 ||
	       (d->machine == BPF_MACHINE_AARCH64 && !c->is_32bit);
}

/* The pages that a call changes, by its own arguments: for a writer whose VMA was not found. */
static bool call_range(enum as_call call, const struct bpf_in_call *c, u64 *ret_start, u64 *ret_end)
{
	u64 addr = c->args[0], len = c->args[1];

	switch (call) {
	case CALL_MMAP:
		/* elsewhere the kernel chooses; and i386's old_mmap has a pointer to all of them */
		if (c->is_32bit || !(c->args[3] & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
			return false;
		break;
	case CALL_MUNMAP:
	case CALL_MPROTECT:
	case CALL_PKEY_MPROTECT:
	case CALL_MADVISE:
	case CALL_MREMAP:
	case CALL_REMAP_FILE_PAGES:
	case CALL_MLOCK:
	case CALL_MLOCK2:
	case CALL_MUNLOCK:
	case CALL_MSEAL:
	case CALL_MBIND:
		break;
	default:
		return false;
	}
	if (!len || len > UINT64_MAX - addr || addr + len > UINT64_MAX - PAGE_BYTES)
		return false;
	*ret_start = addr & ~(PAGE_BYTES - 1);
	*ret_end = (addr + len + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	return true;
}

static u32 comm_id(struct bpf_decoder *d, const char *comm)
{
	size_t len = strnlen(comm, BPF_COMM_BYTES);

	return len ? intern_add(d->strings, comm, len) : 0;
}

static enum self_state self_state(u32 state)
{
	switch (state) {
	case BSTATE_RUNNING:
		return SELF_RUNNING;
	case BSTATE_RUNNABLE:
		return SELF_RUNNABLE;
	case BSTATE_SLEEPING:
		return SELF_SLEEPING;
	case BSTATE_BLOCKED:
		return SELF_BLOCKED;
	default: /* dead, too: it does nothing that is known here */
		return SELF_UNKNOWN;
	}
}

/* One record on its way to events. */
struct telling {
	struct bpf_decoder *d;
	u64 told_ns;
	struct event ev;  /* what all of them have */
	u32 kernel_stack; /* id of the kernel frames alone; ev.stack may have user frames behind */
	int err;
};

static void begin_telling(struct telling *t, struct bpf_decoder *d, const struct bpf_rec_head *h,
			  const struct bpf_who *who, u64 record_no)
{
	struct event *ev = &t->ev;

	memset(t, 0, sizeof(*t));
	t->d = d;
	t->told_ns = h->time_ns;
	ev->line = record_no;
	ev->cpu = (u16)h->cpu;
	ev->tid = who->tid;
	ev->comm = comm_id(d, who->comm);
	ev->prio = who->prio;
	ev->has = EVH_SELF_PRIO;
	if (who->tgid) {
		ev->tgid = who->tgid;
		ev->has |= EVH_TGID;
	}
}

static void set_mm(struct telling *t, u64 mm)
{
	t->ev.mm = mm;
	if (mm)
		t->ev.has |= EVH_MM;
}

static void set_stacks(struct telling *t, u64 stack, u64 user_stack)
{
	t->kernel_stack = bpf_stack_id(t->d, stack);
	t->ev.user_stack = bpf_stack_id(t->d, user_stack);
	t->ev.stack = bpf_stack_join(t->d, t->kernel_stack, t->ev.user_stack);
}

static void set_call(struct telling *t, const struct bpf_in_call *c)
{
	if (!knows_call(t->d, c))
		return;
	t->ev.call = (u8)call_of(t->d, c);
	t->ev.has |= EVH_SELF_CALL;
}

/* One event of the record: its kind, time, the thread's state from then on, and more bits of has.
 */
static void tell(struct telling *t, enum event_kind kind, u64 time_ns, enum self_state state,
		 u32 has)
{
	struct event ev = t->ev;

	if (t->err || !t->d->ops.event)
		return;
	ev.kind = (u16)kind;
	ev.time_ns = time_ns;
	ev.has |= has;
	if (state != SELF_UNKNOWN) {
		ev.state = (u8)state;
		ev.has |= EVH_SELF_STATE;
	}
	t->err = t->d->ops.event(t->d->ctx, &ev, t->told_ns);
}

static int tell_wait(struct bpf_decoder *d, const struct bpf_rec_wait *r, u64 record_no)
{
	enum self_state state = self_state(r->who.state);
	struct telling t;
	struct ev_lock *l = &t.ev.u.lock;

	begin_telling(&t, d, &r->head, &r->who, record_no);
	set_mm(&t, r->mm);
	set_stacks(&t, r->stack, r->user_stack);
	set_call(&t, &r->call);
	/* it writes the record when it has the lock, and runs: while it waited it slept or spun */
	if (state == SELF_RUNNING && !(r->flags & (BFLAG_SPUN | BFLAG_OPEN)))
		state = SELF_BLOCKED;
	l->write = !!(r->flags & BFLAG_WRITE);
	if (r->owner.tid) {
		l->owner_tid = r->owner.tid;
		l->owner_tgid = r->owner.tgid;
		l->owner_comm = comm_id(d, r->owner.comm);
		l->owner_stack = bpf_stack_id(d, r->owner_stack);
		l->owner_state = self_state(r->owner.state);
		l->owner_write = !!(r->flags & BFLAG_OWNER_WRITES);
	}
	tell(&t, EV_LOCK_WAIT_START, r->begin_ns, state, EVH_WRITE);
	t.ev.u.lock = (struct ev_lock){ .write = l->write };
	/*
	 * rwsem_mark_wake() counts a sleeping reader in before it wakes it: woken, it has the lock.
	 * A woken writer has yet to take it.
	 */
	if (!l->write && !(r->flags & BFLAG_SPUN) && r->woken_ns > r->begin_ns &&
	    r->woken_ns <= r->head.time_ns)
		l->granted_ns = r->woken_ns;
	if (!(r->flags & BFLAG_OPEN))
		tell(&t, EV_LOCK_WAIT_END, r->head.time_ns, SELF_RUNNING, EVH_WRITE);
	return t.err;
}

static int tell_hold(struct bpf_decoder *d, const struct bpf_rec_hold *r, u64 record_no)
{
	struct telling t;

	begin_telling(&t, d, &r->head, &r->who, record_no);
	set_mm(&t, r->mm);
	set_stacks(&t, r->stack, r->user_stack);
	set_call(&t, &r->call);
	t.ev.u.lock.write = !!(r->flags & BFLAG_WRITE);
	t.ev.u.lock.downgraded = !!(r->flags & BFLAG_DOWNGRADED);
	tell(&t, EV_LOCK_HOLD_START, r->begin_ns, SELF_RUNNING, EVH_WRITE);
	if (!(r->flags & BFLAG_OPEN))
		tell(&t, EV_LOCK_HOLD_END, r->head.time_ns, SELF_RUNNING, EVH_WRITE);
	return t.err;
}

static int tell_writer_sleep(struct telling *t, const struct bpf_rec_sleep *r)
{
	struct ev_vma *v = &t->ev.u.vma;
	u32 has = 0;

	v->caller = bpf_stack_caller(t->d, t->kernel_stack);
	if (r->vma) {
		v->vma = r->vma;
		v->vm_start = r->vm_start;
		v->vm_end = r->vm_end;
		v->flags = r->vm_flags;
		has = EVH_VMA | EVH_FLAGS | (r->vm_start < r->vm_end ? EVH_RANGE : 0);
	} else if ((t->ev.has & EVH_SELF_CALL) &&
		   call_range(t->ev.call, &r->call, &v->vm_start, &v->vm_end)) {
		has = EVH_RANGE;
	}
	if (r->ino) {
		v->ino = r->ino;
		v->dev = r->dev;
		has |= EVH_FILE;
	}
	tell(t, EV_VMA_WRITE_WAIT_START, r->begin_ns, self_state(r->who.state), has);
	/* who wakes a VMA writer is the last reader of that VMA, letting go of it */
	has &= ~(u32)EVH_FLAGS;
	v->flags = 0;
	if (r->waker_tid && r->woken_ns > r->begin_ns && r->woken_ns <= r->head.time_ns) {
		v->woken_ns = r->woken_ns;
		v->waker_tid = r->waker_tid;
		has |= EVH_WAKER;
	}
	if (!(r->flags & BFLAG_OPEN))
		tell(t, EV_VMA_WRITE_WAIT_END, r->head.time_ns, SELF_RUNNING, has);
	return t->err;
}

static u64 fault_begin_ns(const struct bpf_rec_sleep *r)
{
	if (!r->fault_ns || r->fault_ns > r->begin_ns ||
	    r->begin_ns - r->fault_ns > FAULT_MAX_AGE_NS)
		return r->begin_ns;
	return r->fault_ns;
}

static int tell_fault_sleep(struct telling *t, const struct bpf_rec_sleep *r)
{
	struct ev_fault *f = &t->ev.u.fault;
	u32 has = 0;

	if (r->vma) {
		f->vma = r->vma;
		has |= EVH_VMA;
	}
	if (r->address) {
		f->address = r->address;
		has |= EVH_ADDRESS;
	}
	if (r->ino) {
		f->ino = r->ino;
		f->dev = r->dev;
		has |= EVH_FILE;
	}
	if (r->flags & BFLAG_FIRST)
		tell(t, EV_FAULT_BEGIN, fault_begin_ns(r), SELF_RUNNING, has);
	f->reason = r->who.state == BSTATE_RUNNABLE
			    ? intern_add(t->d->strings, "preempted", strlen("preempted"))
			    : bpf_stack_reason(t->d, t->kernel_stack);
	f->under_mmap_lock = !!(r->flags & BFLAG_HOLDS_MMAP_READ);
	tell(t, EV_FAULT_WAIT_START, r->begin_ns, self_state(r->who.state), has);
	if (!(r->flags & BFLAG_OPEN))
		tell(t, EV_FAULT_WAIT_END, r->head.time_ns, SELF_RUNNING, has);
	return t->err;
}

static int tell_sleep(struct bpf_decoder *d, const struct bpf_rec_sleep *r, u64 record_no)
{
	struct telling t;

	begin_telling(&t, d, &r->head, &r->who, record_no);
	set_mm(&t, r->mm);
	set_stacks(&t, r->stack, r->user_stack);
	set_call(&t, &r->call);
	return r->sleep_class == BSLEEP_VMA_WRITER ? tell_writer_sleep(&t, r)
						   : tell_fault_sleep(&t, r);
}

static int tell_fault(struct bpf_decoder *d, const struct bpf_rec_fault *r)
{
	bool retried = r->flags & BFLAG_RETRIED;
	struct telling t;

	begin_telling(&t, d, &r->head, &r->who, d->stats.records);
	set_mm(&t, r->mm);
	set_stacks(&t, r->stack, 0);
	t.ev.u.fault.ret = retried ? VM_FAULT_RETRY : 0;
	tell(&t, retried ? EV_FAULT_RETRY : EV_FAULT_END, r->head.time_ns, self_state(r->who.state),
	     EVH_RET);
	return t.err;
}

static int tell_fork(struct telling *t, const struct bpf_rec_process *r)
{
	u32 comm = t->ev.comm; /* a child begins with its parent's name */

	/* no event but this one tells of what process the new thread is */
	t->ev.u.newtask = (struct ev_newtask){ .tid = r->child_tid, .comm = comm };
	if (r->child_tgid == r->who.tgid)
		t->ev.u.newtask.clone_flags |= CLONE_THREAD;
	if (r->mm && r->child_mm == r->mm)
		t->ev.u.newtask.clone_flags |= CLONE_VM;
	tell(t, EV_TASK_NEWTASK, t->told_ns, SELF_RUNNING, 0);
	memset(&t->ev.u, 0, sizeof(t->ev.u));
	t->ev.u.fork = (struct ev_fork){ .parent_tid = r->who.tid,
					 .child_tid = r->child_tid,
					 .parent_comm = comm,
					 .child_comm = comm };
	tell(t, EV_PROC_FORK, t->told_ns, SELF_RUNNING, 0);
	return t->err;
}

static int tell_process(struct bpf_decoder *d, const struct bpf_rec_process *r)
{
	struct telling t;

	begin_telling(&t, d, &r->head, &r->who, d->stats.records);
	switch (r->what) {
	case BPROC_FORK:
		set_mm(&t, r->mm);
		return tell_fork(&t, r);
	case BPROC_EXEC:
		/* the event ends the life in the old mm, and the record names the new one */
		t.ev.u.exec.tid = t.ev.u.exec.old_tid = r->who.tid;
		tell(&t, EV_PROC_EXEC, t.told_ns, SELF_RUNNING, 0);
		return t.err;
	case BPROC_EXIT:
		set_mm(&t, r->mm);
		t.ev.u.exit.tid = r->who.tid;
		t.ev.u.exit.comm = t.ev.comm;
		t.ev.u.exit.prio = r->who.prio;
		t.ev.u.exit.group_dead = !!r->group_dead;
		tell(&t, EV_PROC_EXIT, t.told_ns, SELF_UNKNOWN, 0);
		return t.err;
	default:
		d->stats.unknown_kinds++;
		return 0;
	}
}

static int tell_lost(struct bpf_decoder *d, const struct bpf_rec_lost *r)
{
	u64 first_ns = r->first_ns < r->last_ns ? r->first_ns : r->last_ns;
	u64 last_ns = r->first_ns < r->last_ns ? r->last_ns : r->first_ns;

	return d->ops.lost ? d->ops.lost(d->ctx, first_ns, last_ns, r->n, true) : 0;
}

static int tell_note(struct bpf_decoder *d, struct bpf_rec_note *r)
{
	char *eq;

	if (r->head.size < sizeof(*r) || r->text_bytes > r->head.size - sizeof(*r)) {
		d->stats.refused_records++;
		return 0;
	}
	r->text[r->text_bytes] = '\0';
	eq = strchr(r->text, '=');
	if (!eq || eq == r->text) {
		d->stats.refused_records++;
		return 0;
	}
	*eq = '\0';
	if (!strcmp(r->text, "machine"))
		d->machine = !strcmp(eq + 1, "x86_64")	  ? BPF_MACHINE_X86_64
			     : !strcmp(eq + 1, "aarch64") ? BPF_MACHINE_AARCH64
							  : BPF_MACHINE_UNKNOWN;
	return d->ops.note ? d->ops.note(d->ctx, r->text, eq + 1) : 0;
}

int bpf_open_tell(struct bpf_decoder *d, const struct bpf_open_record *o)
{
	switch (o->r.head.kind) {
	case BREC_WAIT:
		return tell_wait(d, &o->r.wait, o->record_no);
	case BREC_HOLD:
		return tell_hold(d, &o->r.hold, o->record_no);
	default:
		return tell_sleep(d, &o->r.sleep, o->record_no);
	}
}

/* Something that lasts: told now, or kept for the end while it is open. */
static int decode_lasting(struct bpf_decoder *d, u32 flags, u64 begin_ns, size_t size)
{
	struct bpf_open_record now = { .record_no = d->stats.records };

	if (begin_ns > d->record.head.time_ns) {
		d->stats.refused_records++;
		return 0;
	}
	if (flags & BFLAG_OPEN)
		return bpf_open_keep(d, size);
	bpf_open_forget(d, &d->record.head);
	memcpy(&now.r, &d->record, size);
	return bpf_open_tell(d, &now);
}

/* Behind the head and struct bpf_who; a record of a kind that has them is of nobody without. */
#define BYTES_WITH_WHO offsetof(struct bpf_rec_wait, begin_ns)

/* What a record of a kind has in this version, 0 = a kind of a later one. */
static size_t known_bytes(u16 kind)
{
	static const size_t sizes[BREC_LIMIT] = {
#define BPF_RECORD(id, KIND, member, doc) [BREC_##KIND] = sizeof(struct bpf_rec_##member),
#include "wire/bpf_records.def"
#undef BPF_RECORD
	};

	return kind < BREC_LIMIT ? sizes[kind] : 0;
}

/* Kinds whose time says when something happened; the others are written by the reader, or late. */
static bool has_time(u16 kind)
{
	return kind != BREC_STACK && kind != BREC_SYMBOL && kind != BREC_NOTE;
}

int bpf_record_decode(struct bpf_decoder *d)
{
	union bpf_any_record *r = &d->record;
	size_t known = known_bytes(r->head.kind);
	int err;

	if (!known) {
		d->stats.unknown_kinds++;
		return 0;
	}
	d->stats.by_kind[r->head.kind]++;
	if (r->head.size < known && r->head.size < BYTES_WITH_WHO) {
		d->stats.refused_records++;
		return 0;
	}
	if (has_time(r->head.kind)) {
		if (r->head.time_ns >= BPF_MAX_TIME_NS || r->head.cpu >= GAPS_MAX_CPU) {
			d->stats.refused_records++;
			return 0;
		}
		err = bpf_loss_end(d, r->head.time_ns);
		if (err)
			return err;
	}
	switch (r->head.kind) {
	case BREC_WAIT:
		return decode_lasting(d, r->wait.flags, r->wait.begin_ns, sizeof(r->wait));
	case BREC_HOLD:
		return decode_lasting(d, r->hold.flags, r->hold.begin_ns, sizeof(r->hold));
	case BREC_SLEEP:
		if (r->sleep.sleep_class == BSLEEP_VMA_WRITER ||
		    r->sleep.sleep_class == BSLEEP_FAULT)
			return decode_lasting(d, r->sleep.flags, r->sleep.begin_ns,
					      sizeof(r->sleep));
		d->stats.unknown_kinds++;
		return 0;
	case BREC_FAULT:
		return tell_fault(d, &r->fault);
	case BREC_PROCESS:
		return tell_process(d, &r->process);
	case BREC_STACK:
		return bpf_stack_add(d, &r->stack);
	case BREC_TOTALS:
		return d->ops.totals ? d->ops.totals(d->ctx, &r->totals) : 0;
	case BREC_LOST:
		return tell_lost(d, &r->lost);
	case BREC_SYMBOL:
		return bpf_symbol_add(d, &r->symbol);
	default:
		return tell_note(d, &r->note);
	}
}
