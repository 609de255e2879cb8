#include "portal/server/login_gate.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/hash_table.h"
#include "common/base/text.h"

#define GATE_KEY_SIZE 256

/* Wrong passwords of an address, an account, or both together. */
struct login_count {
	char key[GATE_KEY_SIZE];
	unsigned wrong;
	int64_t last_ms;
	UT_hash_handle hh;
};

struct login_gate {
	struct login_count *counts; /* in the order of their first wrong one */
};

/* The counts that a try is measured by: from where an account logged in before its own alone, so that no neighbour behind
 * the same address can lock it out. */
struct login_keys {
	size_t count;
	char keys[2][GATE_KEY_SIZE];
};

static struct login_keys keys_of(const struct login_try *wanted)
{
	struct login_keys ret = {.count = wanted->known ? 1 : 2};

	if (wanted->known) {
		(void)text_format(ret.keys[0], GATE_KEY_SIZE, "both %s %s", wanted->account,
				  wanted->address);
		return ret;
	}
	(void)text_format(ret.keys[0], GATE_KEY_SIZE, "account %s", wanted->account);
	(void)text_format(ret.keys[1], GATE_KEY_SIZE, "address %s", wanted->address);
	return ret;
}

int login_gate_new(struct login_gate **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void login_gate_drop(struct login_gate *gate, struct login_count *count)
{
	HASH_DEL(gate->counts, count);
	free(count);
}

void login_gate_free(struct login_gate *gate)
{
	while (gate && gate->counts)
		login_gate_drop(gate, gate->counts);
	free(gate);
}

static int64_t login_count_wait_s(const struct login_count *count, int64_t now_ms)
{
	unsigned over;
	int64_t wait_s;
	int64_t passed_s;

	if (!count || count->wrong < LOGIN_GATE_FREE ||
	    now_ms - count->last_ms > LOGIN_GATE_KEEP_S * 1000LL)
		return 0;
	over = count->wrong - LOGIN_GATE_FREE;
	wait_s = over < 6 ? (int64_t)1 << over : LOGIN_GATE_WAIT_S;
	passed_s = (now_ms - count->last_ms) / 1000;
	return passed_s >= wait_s ? 0 : wait_s - passed_s;
}

int64_t login_gate_wait_s(const struct login_gate *gate, const struct login_try *wanted,
			  int64_t now_ms)
{
	struct login_keys keys = keys_of(wanted);
	int64_t longest = 0;

	for (size_t i = 0; i < keys.count; i++) {
		struct login_count *count;
		int64_t wait_s;

		HASH_FIND_STR(gate->counts, keys.keys[i], count);
		wait_s = login_count_wait_s(count, now_ms);
		longest = wait_s > longest ? wait_s : longest;
	}
	return longest;
}

void login_gate_try(struct login_gate *gate, const struct login_try *wanted, int64_t now_ms)
{
	struct login_keys keys = keys_of(wanted);

	for (size_t i = 0; i < keys.count; i++) {
		struct login_count *count;

		HASH_FIND_STR(gate->counts, keys.keys[i], count);
		if (!count) {
			if (HASH_COUNT(gate->counts) >= LOGIN_GATE_ROWS)
				login_gate_drop(gate, gate->counts);
			count = calloc(1, sizeof(*count));
			if (!count)
				return;
			(void)text_copy(count->key, sizeof(count->key), keys.keys[i]);
			HASH_ADD_STR(gate->counts, key, count);
		}
		if (now_ms - count->last_ms > LOGIN_GATE_KEEP_S * 1000LL)
			count->wrong = 0;
		count->wrong++;
		count->last_ms = now_ms;
	}
}

void login_gate_untried(struct login_gate *gate, const struct login_try *wanted)
{
	struct login_keys keys = keys_of(wanted);

	for (size_t i = 0; i < keys.count; i++) {
		struct login_count *count;

		HASH_FIND_STR(gate->counts, keys.keys[i], count);
		if (count && --count->wrong == 0)
			login_gate_drop(gate, count);
	}
}

void login_gate_right(struct login_gate *gate, const struct login_try *wanted)
{
	struct login_keys keys = keys_of(wanted);
	struct login_count *count;

	login_gate_untried(gate, wanted);
	HASH_FIND_STR(gate->counts, keys.keys[0], count);
	if (count)
		login_gate_drop(gate, count);
}
