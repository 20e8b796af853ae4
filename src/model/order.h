/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * model/order.h: events in time order. Layer: model.
 *
 * A live capture is out of order by fractions of a ms, so events pass through a window (100 ms
 * for text): a stable sort by (time, arrival). An event older than the window is counted as late
 * and left out, never moved. A stack record joins the event it belongs to while that is still in
 * the window (a stacktrace trigger's record follows its event by 11 us in the median and 53 ms at
 * worst).
 */
#ifndef MMSCOPE_MODEL_ORDER_H
#define MMSCOPE_MODEL_ORDER_H

#include "base/error.h"
#include "base/intern.h"
#include "wire/event.h"

#define ORDER_WINDOW_NS 100000000ULL /* of text */
/* More events than this in one window are released early, which is counted. */
#define ORDER_MAX_EVENTS (1u << 17)

struct order;
/* Gets the events in order; non-zero stops and is returned by the call that caused it. @place
 * counts up. The event's ->line is its arrival number by now: messages that name a line are the
 * decoder's. */
typedef int (*order_sink)(void *ctx, const struct event *ev, u64 place);

struct order_stats {
	u64 late_events;		 /* left out */
	u64 shortened;			 /* released before their window was over */
	u64 stacks_joined, stacks_alone; /* alone: no event in the window that it fits */
};

/* @strings: where event class names are looked up. NULL when out of memory. */
struct order *order_new(struct intern *strings, u64 window_ns, order_sink sink, void *ctx);
void order_free(struct order *o);
int order_push(struct order *o, const struct event *ev) MUST_CHECK;
/* The end of the input: releases what is left. */
int order_flush(struct order *o) MUST_CHECK;
const struct order_stats *order_stats(const struct order *o);

#endif
