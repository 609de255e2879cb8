#include "portal/server/fresh_secret.h"

#include <stdlib.h>

#include "common/http/wipe.h"

#include "portal/server/exchange.h"
#include "portal/server/secret.h"

static void fresh_secret_forget(void *data)
{
	wipe_borrowed(data, sizeof(struct fresh_secret));
	free(data);
}

/* Behind what the statement answers: {"name": ..} becomes {"name": .., "link": "haas_l_.."}. */
static void fresh_secret_answer(struct exchange *exchange)
{
	struct fresh_secret *fresh = exchange->data;
	struct text *body = &exchange->answer.body;

	if (exchange->answer.status < 300 && body->size > 0 && body->data[body->size - 1] == '}') {
		body->size--;
		text_addf(body, ", \"%s\": \"%s\"}", fresh->member, fresh->secret);
	}
	exchange_answer_written(exchange);
	if (body->data)
		wipe_borrowed(body->data, body->size);
}

const struct fresh_secret *fresh_secret_new(struct exchange *exchange, const char *member,
					    const char *kind)
{
	struct fresh_secret *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return NULL;
	fresh->member = member;
	secret_new(kind, fresh->secret);
	identity_digest(fresh->secret, fresh->digest);
	exchange->data = fresh;
	exchange->data_free = fresh_secret_forget;
	exchange->answer_with = fresh_secret_answer;
	return fresh;
}
