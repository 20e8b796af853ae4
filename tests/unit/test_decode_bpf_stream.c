/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_decode_bpf_stream.c: the bytes of a bpf.mmscope: cut, damaged, of another version, hostile.
 */
#include "bpf_harness.h"
#include "decode/format.h"
#include "random_help.h"

#define MS 1000000ULL
#define CHUNKS 5
#define PER_CHUNK 3

/* CHUNKS chunks, each with PER_CHUNK waits of thread 100 + number of the chunk; ends[i]: where one
 * ends. */
static void make_file(struct bytes *file, size_t ends[CHUNKS + 1])
{
	add_header(file);
	ends[0] = file->len;
	for (u32 chunk = 0; chunk < CHUNKS; chunk++) {
		struct bytes records = { 0 };

		add_named_stack(&records, chunk + 1, "schedule rwsem_down_read_slowpath down_read");
		for (u32 i = 0; i < PER_CHUNK; i++) {
			u64 end_ns = (10 * chunk + i + 1) * MS;
			struct bpf_rec_wait r = wait_of(100 + chunk, end_ns - 500, end_ns);

			r.stack = chunk + 1;
			bytes_add(&records, &r, sizeof(r));
		}
		add_chunk(file, &records);
		ends[chunk + 1] = file->len;
		bytes_done(&records);
	}
}

/* What the decoder told, as one number: of two runs over the same bytes it must be the same. */
static u64 fingerprint(const struct harness *h)
{
	const struct bpf_decode_stats *st = bpf_decoder_stats(h->d);
	uLong crc = crc32(0, (const Bytef *)h->events.v,
			  (uInt)(h->events.n * sizeof(struct told_event)));

	crc = crc32(crc, (const Bytef *)h->lost.v, (uInt)(h->lost.n * sizeof(struct told_loss)));
	crc = crc32(crc, (const Bytef *)st, sizeof(*st));
	return (u64)crc << 8 | (u8)h->result;
}

static void decode(struct harness *h, const char *data, size_t len, size_t block)
{
	harness_init(h);
	harness_feed(h, data, len, block);
	harness_end(h);
}

/* Events of a thread: two per record. */
static size_t count_tid(const struct harness *h, u32 tid)
{
	size_t n = 0;

	for (size_t i = 0; i < h->events.n; i++)
		n += h->events.v[i].ev.tid == tid;
	return n;
}

static void test_whole(void **state)
{
	struct bytes file = { 0 };
	size_t ends[CHUNKS + 1];
	struct harness h;

	(void)state;
	make_file(&file, ends);
	assert_int_equal(format_detect(file.p, file.len), FORMAT_BPF);
	assert_true(format_is_supported(FORMAT_BPF));
	decode(&h, file.p, file.len, 0);
	assert_int_equal(h.result, 0);
	assert_int_equal(h.events.n, 2 * CHUNKS * PER_CHUNK);
	assert_int_equal(h.lost.n, 0);
	assert_int_equal(bpf_decoder_stats(h.d)->chunks, CHUNKS);
	assert_int_equal(bpf_decoder_stats(h.d)->records, CHUNKS * (PER_CHUNK + 4));
	assert_int_equal(bpf_decoder_stats(h.d)->bytes, file.len);
	assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 0);
	assert_int_equal(bpf_decoder_stats(h.d)->cut_bytes, 0);
	assert_int_equal(bpf_decoder_stats(h.d)->missing_stacks, 0);
	harness_done(&h);
	bytes_done(&file);
}

static void test_cut_anywhere(void **state)
{
	struct bytes file = { 0 };
	size_t ends[CHUNKS + 1];
	struct harness h;
	u64 want;

	(void)state;
	make_file(&file, ends);
	decode(&h, file.p, file.len, 0);
	want = fingerprint(&h);
	harness_done(&h);
	for (size_t block = 1; block < 700; block++) {
		decode(&h, file.p, file.len, block);
		assert_int_equal(fingerprint(&h), want);
		harness_done(&h);
	}
	/* two parts, parted at every byte */
	for (size_t at = 0; at <= file.len; at++) {
		harness_init(&h);
		harness_feed(&h, file.p, at, 0);
		harness_feed(&h, file.p + at, file.len - at, 0);
		harness_end(&h);
		assert_int_equal(fingerprint(&h), want);
		harness_done(&h);
	}
	bytes_done(&file);
}

/* A recording that was cut off is readable up to the last whole record. */
static void test_every_prefix(void **state)
{
	struct bytes file = { 0 };
	size_t ends[CHUNKS + 1], chunk;
	struct harness h, whole;

	(void)state;
	make_file(&file, ends);
	decode(&whole, file.p, file.len, 0);
	for (size_t len = 0; len <= file.len; len++) {
		size_t records = 0, in_chunk = 0;

		decode(&h, file.p, len, 0);
		assert_int_equal(h.result, 0);
		assert_int_equal(h.lost.n, 0);
		assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 0);
		assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 0);
		for (chunk = 0; chunk < CHUNKS && len >= ends[chunk + 1]; chunk++)
			;
		if (chunk < CHUNKS && len > ends[chunk] + sizeof(struct bpf_chunk_header)) {
			/* by the sizes that the records tell */
			const char *p = file.p + ends[chunk] + sizeof(struct bpf_chunk_header);
			struct bpf_rec_head head;

			in_chunk = len - ends[chunk] - sizeof(struct bpf_chunk_header);
			while (in_chunk >= sizeof(head)) {
				memcpy(&head, p, sizeof(head));
				if (head.size > in_chunk)
					break;
				records++;
				p += head.size;
				in_chunk -= head.size;
			}
		} else if (chunk < CHUNKS) {
			in_chunk = len < ends[0] ? len : len - ends[chunk];
		}
		assert_int_equal(bpf_decoder_stats(h.d)->records,
				 chunk * (PER_CHUNK + 4) + records);
		assert_int_equal(bpf_decoder_stats(h.d)->cut_bytes, in_chunk);
		assert_true(h.events.n <= whole.events.n);
		for (size_t i = 0; i < h.events.n; i++)
			assert_memory_equal(&h.events.v[i], &whole.events.v[i],
					    sizeof(h.events.v[i]));
		harness_done(&h);
	}
	harness_done(&whole);
	bytes_done(&file);
}

/*
 * One byte of one chunk is wrong: that chunk is left out, and the span it may have covered is told.
 * (The number of records is under no checksum; a wrong one is counted or not believed.)
 */
static void test_every_byte_wrong(void **state)
{
	struct bytes file = { 0 };
	size_t ends[CHUNKS + 1], chunk = 0;

	(void)state;
	make_file(&file, ends);
	for (size_t at = ends[0]; at < file.len; at++) {
		bool is_count;
		struct harness h;

		if (at == ends[chunk + 1])
			chunk++;
		is_count = at - ends[chunk] >= offsetof(struct bpf_chunk_header, records) &&
			   at - ends[chunk] < sizeof(struct bpf_chunk_header);
		file.p[at] ^= 0x40;
		decode(&h, file.p, file.len, 0);
		file.p[at] ^= 0x40;
		assert_int_equal(h.result, 0);
		for (u32 other = 0; other < CHUNKS; other++) {
			if (other != chunk)
				assert_int_equal(count_tid(&h, 100 + other), 2 * PER_CHUNK);
		}
		if (is_count && !h.lost.n) {
			assert_int_equal(count_tid(&h, 100 + (u32)chunk), 2 * PER_CHUNK);
			assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 1);
			harness_done(&h);
			continue;
		}
		/* a chunk at the end that claims to be longer is one that was cut off */
		if (chunk == CHUNKS - 1 && !bpf_decoder_stats(h.d)->bad_chunks) {
			assert_true(at - ends[chunk] >=
				    offsetof(struct bpf_chunk_header, payload_bytes));
			assert_true(at - ends[chunk] < offsetof(struct bpf_chunk_header, crc32));
			assert_int_equal(count_tid(&h, 100 + (u32)chunk), 2 * PER_CHUNK);
			assert_int_equal(h.lost.n, 0);
			harness_done(&h);
			continue;
		}
		assert_int_equal(bpf_decoder_stats(h.d)->cut_bytes, 0);
		assert_int_equal(count_tid(&h, 100 + (u32)chunk), 0);
		assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 1);
		assert_int_equal(h.lost.n, 1);
		assert_false(h.lost.v[0].n_known);
		assert_int_equal(h.lost.v[0].first_ns,
				 chunk ? (10 * (chunk - 1) + PER_CHUNK) * MS : 0);
		assert_int_equal(h.lost.v[0].last_ns,
				 chunk < CHUNKS - 1 ? (10 * (chunk + 1) + 1) * MS : UINT64_MAX);
		assert_int_equal(h.lost.v[0].events_before, 2 * PER_CHUNK * chunk);
		harness_done(&h);
	}
	bytes_done(&file);
}

/* Bytes are missing in the middle, or something else stands between two chunks. */
static void test_bytes_missing_or_more(void **state)
{
	struct bytes file = { 0 }, damaged = { 0 };
	size_t ends[CHUNKS + 1];
	struct harness h;

	(void)state;
	make_file(&file, ends);
	for (size_t n = 1; n < ends[2] - ends[1]; n += 7) {
		bytes_add(&damaged, file.p, ends[1]);
		bytes_add(&damaged, file.p + ends[1] + n, file.len - ends[1] - n);
		decode(&h, damaged.p, damaged.len, 0);
		assert_int_equal(h.result, 0);
		assert_int_equal(h.events.n, 2 * PER_CHUNK * (CHUNKS - 1));
		assert_int_equal(count_tid(&h, 101), 0);
		assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 1);
		assert_int_equal(h.lost.n, 1);
		harness_done(&h);
		damaged.len = 0;

		bytes_add(&damaged, file.p, ends[1] + n);
		bytes_add(&damaged, file.p + ends[1], file.len - ends[1]);
		decode(&h, damaged.p, damaged.len, 13);
		assert_int_equal(h.result, 0);
		assert_int_equal(h.events.n, 2 * PER_CHUNK * CHUNKS);
		assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 1);
		assert_int_equal(h.lost.n, 1);
		harness_done(&h);
		damaged.len = 0;
	}
	bytes_done(&file);
	bytes_done(&damaged);
}

/* Damage of every kind, and the same result however the bytes are cut. */
static void test_random_damage(void **state)
{
	u64 seed = 4711;

	(void)state;
	for (u32 round = 0; round < 300; round++) {
		struct bytes file = { 0 };
		size_t ends[CHUNKS + 1];
		struct harness h;
		u64 want;

		make_file(&file, ends);
		for (u64 n = 1 + random_below(&seed, 6); n--;) {
			size_t at =
				sizeof(struct bpf_file_header) +
				random_below(&seed, file.len - sizeof(struct bpf_file_header) - 8);

			if (random_below(&seed, 2))
				file.p[at] = (char)random_next(&seed);
			else
				memcpy(file.p + at, "MMCK", 4);
		}
		file.len -= random_below(&seed, 2) ? random_below(&seed, 500) : 0;
		decode(&h, file.p, file.len, 0);
		assert_int_equal(h.result, 0);
		want = fingerprint(&h);
		harness_done(&h);
		decode(&h, file.p, file.len, 1 + random_below(&seed, 300));
		assert_int_equal(fingerprint(&h), want);
		harness_done(&h);
		bytes_done(&file);
	}
}

static void test_header(void **state)
{
	static const struct {
		size_t at;
		u32 value;
		const char *message;
	} rows[] = {
		{ 0, 0x41414141, "no BPF records" },
		{ offsetof(struct bpf_file_header, version), 0, "version 0" },
		{ offsetof(struct bpf_file_header, version), 2, "use a newer" },
		{ offsetof(struct bpf_file_header, header_bytes), 23, "damaged" },
		{ offsetof(struct bpf_file_header, header_bytes), UINT32_MAX, "damaged" },
		{ offsetof(struct bpf_file_header, chunk_magic), 0x4d4d434b, "other byte order" },
		{ offsetof(struct bpf_file_header, chunk_magic), 1, "damaged" },
	};
	struct bytes file = { 0 };
	size_t ends[CHUNKS + 1];

	(void)state;
	make_file(&file, ends);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct harness h;
		u32 kept;

		memcpy(&kept, file.p + rows[i].at, 4);
		memcpy(file.p + rows[i].at, &rows[i].value, 4);
		decode(&h, file.p, file.len, 5);
		memcpy(file.p + rows[i].at, &kept, 4);
		assert_int_equal(h.result, -EPROTO);
		assert_int_equal(h.e.code, -EPROTO);
		assert_non_null(strstr(h.e.msg, rows[i].message));
		assert_int_equal(h.events.n, 0);
		/* it stays so */
		assert_int_equal(bpf_decoder_feed(h.d, "x", 1, &h.e), -EPROTO);
		harness_done(&h);
	}
	bytes_done(&file);
}

static void test_short_files(void **state)
{
	struct harness h;

	(void)state;
	decode(&h, "", 0, 0);
	assert_int_equal(h.result, 0);
	harness_done(&h);
	decode(&h, "MMSC", 4, 0);
	assert_int_equal(h.result, 0);
	assert_int_equal(bpf_decoder_stats(h.d)->cut_bytes, 4);
	harness_done(&h);
	decode(&h, "MMSX", 4, 0);
	assert_int_equal(h.result, -EPROTO);
	harness_done(&h);
}

/* The header of a later writer may be longer. */
static void test_longer_header(void **state)
{
	struct bytes file = { 0 }, longer = { 0 };
	const char more[40] = "MMCK";
	size_t ends[CHUNKS + 1];
	struct harness h;
	u32 bytes = sizeof(struct bpf_file_header) + sizeof(more);

	(void)state;
	make_file(&file, ends);
	bytes_add(&longer, file.p, ends[0]);
	bytes_add(&longer, more, sizeof(more));
	bytes_add(&longer, file.p + ends[0], file.len - ends[0]);
	memcpy(longer.p + offsetof(struct bpf_file_header, header_bytes), &bytes, 4);
	for (size_t block = 0; block < 70; block++) {
		decode(&h, longer.p, longer.len, block);
		assert_int_equal(h.result, 0);
		assert_int_equal(h.events.n, 2 * PER_CHUNK * CHUNKS);
		assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 0);
		harness_done(&h);
	}
	decode(&h, longer.p, ends[0] + 10, 0);
	assert_int_equal(h.result, 0);
	harness_done(&h);
	bytes_done(&file);
	bytes_done(&longer);
}

/* A record that cannot be ends its chunk, though the checksum is right. */
static void test_bad_record_sizes(void **state)
{
	static const u16 sizes[] = { 0, 8, 15, 100, BPF_MAX_RECORD_BYTES + 8, 4000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
		struct bytes file = { 0 }, records = { 0 };
		struct bpf_chunk_header ch = { .magic = BPF_CHUNK_MAGIC, .records = 3 };
		struct harness h;

		bytes_add(&records, &r, sizeof(r));
		r.head.size = sizes[i];
		bytes_add(&records, &r, sizeof(r));
		r = wait_of(102, MS, 3 * MS);
		bytes_add(&records, &r, sizeof(r));
		ch.payload_bytes = (u32)records.len;
		ch.crc32 = (u32)crc32(0, (const Bytef *)records.p, (uInt)records.len);
		add_header(&file);
		bytes_add(&file, &ch, sizeof(ch));
		bytes_add(&file, records.p, records.len);
		records.len = 0;
		r = wait_of(103, 3 * MS, 4 * MS);
		bytes_add(&records, &r, sizeof(r));
		add_chunk(&file, &records);
		decode(&h, file.p, file.len, 0);
		assert_int_equal(h.result, 0);
		assert_int_equal(h.events.n, 4);
		assert_int_equal(count_tid(&h, 102), 0);
		assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 1);
		assert_int_equal(bpf_decoder_stats(h.d)->chunks, 2);
		assert_int_equal(h.lost.n, 1);
		assert_int_equal(h.lost.v[0].first_ns, 2 * MS);
		assert_int_equal(h.lost.v[0].last_ns, 4 * MS);
		harness_done(&h);
		bytes_done(&file);
		bytes_done(&records);
	}
}

static void test_records_cut(void **state)
{
	struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
	struct bytes b = { 0 };
	struct harness h;

	(void)state;
	bytes_add(&b, &r, sizeof(r));
	bytes_add(&b, &r, sizeof(r) - 8);
	harness_init(&h);
	harness_records(&h, &b);
	harness_end(&h);
	assert_int_equal(h.result, 0);
	assert_int_equal(h.events.n, 2);
	assert_int_equal(bpf_decoder_stats(h.d)->refused_records, 1);
	assert_int_equal(h.lost.n, 1);
	assert_int_equal(h.lost.v[0].last_ns, UINT64_MAX);
	harness_done(&h);
	bytes_done(&b);
}

/*
 * Half a million chunk headers that each promise 8 MB: a checksum of them all would take hours.
 * What follows in good order is read all the same.
 */
static void test_costly_search(void **state)
{
	const struct bpf_chunk_header fake = { BPF_CHUNK_MAGIC, BPF_MAX_CHUNK_BYTES, 1, 1 };
	struct bpf_rec_wait r = wait_of(101, MS, 2 * MS);
	struct bytes file = { 0 }, records = { 0 };
	struct harness h;

	(void)state;
	add_header(&file);
	for (u32 i = 0; i < 3 * BPF_MAX_CHUNK_BYTES / sizeof(fake); i++)
		bytes_add(&file, &fake, sizeof(fake));
	bytes_add(&records, &r, sizeof(r));
	for (u32 i = 0; i < BPF_MAX_CHUNK_BYTES / sizeof(r) * 2; i += 20000) {
		struct bytes many = { 0 };

		for (u32 k = 0; k < 20000; k++)
			bytes_add(&many, &r, sizeof(r));
		add_chunk(&file, &many);
		bytes_done(&many);
	}
	r = wait_of(999, MS, 3 * MS);
	records.len = 0;
	bytes_add(&records, &r, sizeof(r));
	add_chunk(&file, &records);
	decode(&h, file.p, file.len, 1 << 20);
	assert_int_equal(h.result, 0);
	assert_int_equal(count_tid(&h, 999), 2);
	assert_int_equal(bpf_decoder_stats(h.d)->bad_chunks, 1);
	harness_done(&h);
	bytes_done(&file);
	bytes_done(&records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_every_prefix),
		cmocka_unit_test(test_every_byte_wrong),
		cmocka_unit_test(test_bytes_missing_or_more),
		cmocka_unit_test(test_random_damage),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_short_files),
		cmocka_unit_test(test_longer_header),
		cmocka_unit_test(test_bad_record_sizes),
		cmocka_unit_test(test_records_cut),
		cmocka_unit_test(test_costly_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
