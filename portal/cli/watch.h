/* A watch: one line per deployment until what is watched has ended. watch.c looks and waits,
 * watch_view.c shows; deployments are watched by watch.c itself, a PDCI by pdci_watch.c. */
#pragma once

#include "portal/cli/haasctl.h"

#define WATCH_TITLE_SIZE 192

struct watch {
	struct haasctl *haasctl;
	const struct command_input *input;
	bool terminal, jsonl;
	bool away;                    /* portald did not answer last time, and that was told */
	char title[WATCH_TITLE_SIZE]; /* a line above the others; "" = none */
	char said_title[WATCH_TITLE_SIZE];
	json_t *watched; /* the deployments as last seen, in the order of the first look */
	json_t *said;    /* deployment id -> what was printed last (plain mode) */
	int64_t said_ms;
	size_t lines; /* drawn last time */

	/* What is watched. */
	const char *target; /* of `look`, its own */
	json_t *subject;    /* `look`'s own, what it saw last */
	int (*look)(struct watch *watch);
	bool (*over)(const struct watch *watch);
	int (*sum_up)(const struct watch *watch); /* tells what went wrong; the exit status */
	const char *good;                         /* of deployments: the state that was asked for */
};

/* Is -o one that a watch can write? Reads --timeout. EXIT_OK, or the error told. */
MUST_USE int watch_begin(struct watch *watch, struct haasctl *haasctl,
			 const struct command_input *input, int64_t *ret_limit_s);
/* Looks, tells and waits until it is over; the first look is done. */
MUST_USE int watch_follow(struct watch *watch, int64_t limit_s, const char *come_back);
void watch_end(struct watch *watch);
/* GETs; after the first look a server that is away is the caller's to tell. */
MUST_USE int watch_get(struct watch *watch, const char *target, struct haasctl_reply *ret);

/* --- watch_view.c --- */
void watch_tell(struct watch *watch);
/* What the deployment is known by in `said`. */
void watch_id_text(const json_t *deployment, char ret[32]);
bool watch_has_ended(const json_t *deployment);
size_t watch_count_state(const json_t *deployments, const char *state);
size_t watch_unfinished(const json_t *deployments);
