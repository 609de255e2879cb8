/* SWITCH_LOCATE: one command that lights or blinks a LED. Most switches have one LED for the whole
 * chassis; which commands there are stands in the dialects. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "peregrine/switch/cli/cli_switch.h"

bool cli_locates(const struct switch_family *family, uint16_t seconds, struct switch_located *ret)
{
	const struct cli_locate *locate = family->cli ? &family->cli->locate : NULL;
	unsigned real = seconds;

	if (!locate || !locate->on)
		return false;
	*ret = (struct switch_located){.of_port = locate->of_port,
				       .ends_itself = locate->ends_itself};
	if (locate->ends_itself && seconds > 0) {
		real = real < locate->low_s ? locate->low_s : real;
		real = locate->high_s != 0 && real > locate->high_s ? locate->high_s : real;
		if (strstr(locate->on, "{minutes}"))
			real = (real + 59) / 60 * 60;
	}
	ret->seconds = (uint16_t)real;
	return true;
}

/* `text` with what its braces stand for. */
static void cli_locate_fill_in(const char *text, const struct switch_request *request,
			       const struct switch_located *located, struct text *ret)
{
	while (*text) {
		size_t size = strcspn(text, "{");

		text_add_bytes(ret, text, size);
		text += size;
		if (strncmp(text, "{port}", 6) == 0)
			text_add(ret, request->port);
		else if (strncmp(text, "{seconds}", 9) == 0)
			text_addf(ret, "%u", located->seconds);
		else if (strncmp(text, "{minutes}", 9) == 0)
			text_addf(ret, "%u", located->seconds / 60U);
		text += *text ? strcspn(text, "}") + 1 : 0;
	}
}

static void cli_locate_on_answer(void *context, const struct cli_answer *answer)
{
	struct cli_switch *one = context;
	const struct cli_locate *locate = &one->dialect->locate;
	struct problem problem = {0};
	char said[160];
	enum cli_verdict verdict;
	int rc;

	if (answer->rc) {
		switch_call_end(&one->call, answer->rc, NULL, answer->problem);
		return;
	}
	verdict = cli_answer_judge(one->dialect, answer->output, said, sizeof(said));
	rc = cli_switch_verdict(one, verdict, one->call.request->seconds ? locate->on : locate->off,
				said, &problem);
	if (rc == E_CONFLICT) {
		rc = problem_set(&problem, E_UNSUPPORTED, "switch %s does not blink",
				 one->call.endpoint.name);
		problem_detail(&problem, "%s", said);
		problem_hint(&problem, "not every model of %s has such a LED",
			     one->call.family->title);
	}
	switch_call_end(&one->call, rc, NULL, rc ? &problem : NULL);
}

/* What cannot be is told in the next turn. */
static int cli_locate_refuse(struct cli_switch *one, const char *hint)
{
	(void)problem_set(&one->call.early, E_UNSUPPORTED,
			  "switch %s has no LED that its command line can blink",
			  one->call.endpoint.name);
	problem_hint(&one->call.early, "%s", hint);
	return E_UNSUPPORTED;
}

int cli_locate_start(struct cli_switch *one)
{
	const struct cli_locate *locate = &one->dialect->locate;
	const struct switch_request *request = one->call.request;
	CLEANUP(text_done) struct text command = {0};
	struct switch_located located;

	if (!cli_locates(one->call.family, request->seconds, &located))
		return cli_locate_refuse(one, "find the port by its label");
	/* The name goes into a command line. */
	if (located.of_port && (request->port[0] == '\0' || strpbrk(request->port, "\r\n;|?!")))
		return cli_locate_refuse(one, "that is not the name of a port");
	cli_locate_fill_in(request->seconds ? locate->on : locate->off, request, &located,
			   &command);
	cli_switch_run(one, text_get(&command), cli_locate_on_answer, one);
	return 0;
}
