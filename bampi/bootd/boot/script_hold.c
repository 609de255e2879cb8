#include "bampi/bootd/boot/script_hold.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "bampi/bootd/boot/boot_answer.h"

/* No picture came: what is known must do. Shorter than iPXE waits for an answer. */
#define WAIT_MS 5000

struct held {
	struct script_hold *hold;
	struct http_request *request;
	struct mac mac;
	int64_t since_ms;
	struct held *prev, *next;
};

struct script_hold {
	struct loop *loop;
	script_hold_fn fn;
	void *context;
	struct loop_timer *deadline;
	struct held *list; /* in the order of since_ms */
};

/* Takes it out; the caller answers. */
static struct http_request *script_hold_end(struct held *held)
{
	struct http_request *request = held->request;

	if (request)
		http_request_on_close(request, NULL, NULL);
	DL_DELETE(held->hold->list, held);
	free(held);
	return request;
}

static void script_hold_gone(void *context)
{
	struct held *held = context;

	held->request = NULL;
	(void)script_hold_end(held);
}

static void script_hold_release_until(struct script_hold *hold, int64_t until_ms)
{
	while (hold->list && hold->list->since_ms <= until_ms) {
		struct mac mac = hold->list->mac;

		hold->fn(hold->context, script_hold_end(hold->list), mac);
	}
}

static void script_hold_arm(struct script_hold *hold)
{
	if (hold->list)
		loop_timer_arm(hold->deadline,
			       hold->list->since_ms + WAIT_MS - loop_now_ms(hold->loop));
}

static void too_late(void *context)
{
	struct script_hold *hold = context;

	script_hold_release_until(hold, loop_now_ms(hold->loop) - WAIT_MS);
	script_hold_arm(hold);
}

void script_hold_release(struct script_hold *hold, int64_t read_ms)
{
	script_hold_release_until(hold, read_ms);
	script_hold_arm(hold);
}

int script_hold_put(struct script_hold *hold, struct http_request *request, struct mac mac)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held)
		return -ENOMEM;
	*held = (struct held){
		.hold = hold, .request = request, .mac = mac, .since_ms = loop_now_ms(hold->loop)};
	DL_APPEND(hold->list, held);
	http_request_on_close(request, script_hold_gone, held);
	script_hold_arm(hold);
	return 0;
}

int script_hold_new(struct loop *loop, script_hold_fn fn, void *context, struct script_hold **ret)
{
	struct script_hold *hold = calloc(1, sizeof(*hold));
	int rc;

	if (!hold)
		return -ENOMEM;
	*hold = (struct script_hold){.loop = loop, .fn = fn, .context = context};
	rc = loop_timer_new(loop, too_late, hold, &hold->deadline);
	if (rc) {
		free(hold);
		return rc;
	}
	*ret = hold;
	return 0;
}

void script_hold_free(struct script_hold *hold)
{
	if (!hold)
		return;
	while (hold->list)
		boot_answer_wait(script_hold_end(hold->list), "the boot server stops");
	loop_timer_free(hold->deadline);
	free(hold);
}
