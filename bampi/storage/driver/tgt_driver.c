/* Linux tgt as the target software: a volume is target number ID with one logical unit, accounts
 * (CHAP) and a list of addresses: who logs in has one of these AND the secret of an account. tgt
 * lets in whom an address OR a name of its lists fits, so only addresses are listed: a name is what
 * an initiator says of itself (docs/decision/storage-daemon.md). The one name that is listed nobody
 * can know: the mark of tgt_list_wire. A target without an address is open to nobody, which is why
 * those come last. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/text.h"

#include "bampi/storage/driver/tgt_client.h"
#include "bampi/storage/driver/tgt_list_wire.h"
#include "bampi/storage/driver/tgt_login_wire.h"

#define LOOKS_MOST      3
#define CONNECTIONS_MAX 8

/* What tgtd refused; `also` is a status that is as good. */
static int tgt_driver_ask(const struct storage_place *place, const struct tgt_request *request,
			  enum tgt_status also, struct problem *problem)
{
	struct tgt_answer answer = {0};
	int rc = tgt_ask(place->control, request, &answer, NULL, problem);

	if (rc || answer.status == TGT_OK || answer.status == also)
		return rc;
	(void)problem_set(problem, E_PROTOCOL, "tgtd refused: %s", tgt_status_text(answer.status));
	problem_detail(problem, "mode %d, operation %d, target %d", (int)request->mode,
		       (int)request->op, (int)request->target);
	return E_PROTOCOL;
}

/* A text as tgtd writes it; `text` is the caller's to free. */
static int tgt_driver_tell(const struct storage_place *place, const struct tgt_request *request,
			   const char *what, char **ret_text, size_t *ret_size,
			   struct problem *problem)
{
	struct tgt_answer answer = {0};
	int rc = tgt_ask(place->control, request, &answer, ret_text, problem);

	*ret_size = answer.size;
	if (rc || answer.status == TGT_OK)
		return rc;
	return problem_set(problem, E_PROTOCOL, "tgtd does not tell its %s: %s", what,
			   tgt_status_text(answer.status));
}

static int tgt_look_once(const struct storage_place *place, struct storage_view *ret,
			 bool *ret_moved, struct problem *problem)
{
	static const struct tgt_request statistics = {.mode = TGT_SYSTEM,
						      .op = TGT_STATISTICS,
						      .target = -1,
						      .unit = UINT64_MAX,
						      .text = ""};
	static const struct tgt_request targets = {
		.mode = TGT_TARGET, .op = TGT_SHOW, .target = -1, .unit = UINT64_MAX, .text = ""};
	CLEANUP(freep) char *numbers = NULL;
	CLEANUP(freep) char *text = NULL;
	struct tgt_list list = {.mark_key = place->mark_key};
	int rc = tgt_driver_tell(place, &statistics, "statistics", &numbers, &list.statistics_size,
				 problem);

	if (rc == 0)
		rc = tgt_driver_tell(place, &targets, "targets", &text, &list.targets_size,
				     problem);
	if (rc)
		return rc;
	list.statistics = numbers;
	list.targets = text;
	rc = tgt_list_decode(&list, ret, ret_moved);
	return rc ? problem_set(problem, rc, "the list of tgtd cannot be read: %s", error_text(rc))
		  : 0;
}

static int tgt_look(const struct storage_place *place, struct storage_view *ret,
		    struct problem *problem)
{
	struct storage_view view = {0};
	bool moved = true;
	int rc = 0;

	/* What still moves then is an initiator that wants it to. */
	for (int i = 0; rc == 0 && moved && i < LOOKS_MOST; i++) {
		storage_view_done(&view);
		rc = tgt_look_once(place, &view, &moved, problem);
	}
	if (rc == 0)
		*ret = view;
	return rc;
}

static int forget_user(const struct storage_place *place, const char *user, struct problem *problem)
{
	char text[STORAGE_USER_SIZE + 16];
	const struct tgt_request request = {.mode = TGT_ACCOUNT,
					    .op = TGT_DELETE,
					    .target = -1,
					    .unit = UINT64_MAX,
					    .text = text};

	(void)text_format(text, sizeof(text), "user=%s", user);
	return tgt_driver_ask(place, &request, TGT_NO_USER, problem);
}

static int bind_user(const struct storage_place *place, int64_t id, const char *user,
		     enum tgt_op op, struct problem *problem)
{
	char text[STORAGE_USER_SIZE + 16];
	const struct tgt_request request = {.mode = TGT_ACCOUNT,
					    .op = op,
					    .target = (int32_t)id,
					    .unit = UINT64_MAX,
					    .text = text};

	(void)text_format(text, sizeof(text), "user=%s", user);
	return tgt_driver_ask(place, &request, TGT_OK, problem);
}

/* tgtd keeps a target's accounts in slots and reads as many as there are accounts: a free slot
 * between two hides the last of them at a login, and ends tgtd when it lists them (1.0.85). So only
 * the last is ever taken out: all from the first that goes, backwards, and those that stay come
 * back. A login in between is refused; sessions go on. */
static int expel_users(const struct storage_place *place, const struct storage_target *target,
		       const struct storage_target *open, struct problem *problem)
{
	size_t first = 0;
	int rc = 0;

	while (first < open->user_count && storage_target_knows(target, open->users[first].name))
		first++;
	for (size_t i = open->user_count; rc == 0 && i > first; i--)
		rc = bind_user(place, open->id, open->users[i - 1].name, TGT_UNBIND, problem);
	for (size_t i = first; rc == 0 && i < open->user_count; i++) {
		const char *user = open->users[i].name;

		rc = storage_target_knows(target, user)
			     ? bind_user(place, open->id, user, TGT_BIND, problem)
			     : forget_user(place, user, problem);
	}
	return rc;
}

/* What is open under a number, in `view`; NULL: nothing is. */
static int tgt_driver_look_at(const struct storage_place *place, int64_t id,
			      struct storage_view *view, const struct storage_target **ret,
			      struct problem *problem)
{
	int rc = tgt_look(place, view, problem);

	*ret = NULL;
	for (size_t i = 0; rc == 0 && !*ret && i < view->count; i++) {
		if (view->targets[i].id == id)
			*ret = &view->targets[i];
	}
	return rc;
}

static int tgt_close(const struct storage_place *place, int64_t id, struct problem *problem)
{
	const struct tgt_request request = {.mode = TGT_TARGET,
					    .op = TGT_DELETE,
					    .target = (int32_t)id,
					    .unit = UINT64_MAX,
					    .force = 1,
					    .text = ""};
	struct storage_view view = {0};
	const struct storage_target *open;
	int rc = tgt_driver_look_at(place, id, &view, &open, problem);

	if (rc == 0 && open)
		rc = tgt_driver_ask(place, &request, TGT_NO_TARGET, problem);
	for (size_t i = 0; rc == 0 && open && i < open->user_count; i++)
		rc = forget_user(place, open->users[i].name, problem);
	storage_view_done(&view);
	return rc;
}

/* "initiator-address" or "initiator-name" */
static int let_in(const struct storage_place *place, int64_t id, const char *what, const char *word,
		  struct problem *problem)
{
	char text[TGT_MARK_SIZE + 32];
	const struct tgt_request request = {.mode = TGT_TARGET,
					    .op = TGT_BIND,
					    .target = (int32_t)id,
					    .unit = UINT64_MAX,
					    .text = text};

	(void)text_format(text, sizeof(text), "%s=%s", what, word);
	return tgt_driver_ask(place, &request, TGT_ADDRESS_EXISTS, problem);
}

/* Ends one connection, which is a whole session: tgt allows one in each. */
static int tgt_driver_cut_one(const struct storage_place *place, int64_t id, uint64_t session,
			      uint32_t connection, struct problem *problem)
{
	const struct tgt_request request = {.mode = TGT_CONNECTION,
					    .op = TGT_DELETE,
					    .target = (int32_t)id,
					    .unit = UINT64_MAX,
					    .session = session,
					    .connection = connection,
					    .text = ""};
	struct tgt_answer answer = {0};
	int rc = tgt_ask(place->control, &request, &answer, NULL, problem);

	/* it may have gone by itself */
	if (rc || answer.status == TGT_OK || answer.status == TGT_NO_SESSION ||
	    answer.status == TGT_NO_CONNECTION || answer.status == TGT_NO_TARGET)
		return rc;
	return problem_set(problem, E_PROTOCOL, "tgtd does not end a session: %s",
			   tgt_status_text(answer.status));
}

/* The number of its connection is the initiator's choice; the statistics know it. */
static int tgt_driver_cut(const struct storage_place *place, int64_t id, uint64_t session,
			  struct problem *problem)
{
	const struct tgt_request request = {.mode = TGT_SESSION,
					    .op = TGT_STATISTICS,
					    .target = (int32_t)id,
					    .unit = UINT64_MAX,
					    .session = session,
					    .text = ""};
	CLEANUP(freep) char *text = NULL;
	struct tgt_answer answer = {0};
	uint32_t connections[CONNECTIONS_MAX];
	size_t count;
	int rc = tgt_ask(place->control, &request, &answer, &text, problem);

	if (rc || answer.status == TGT_NO_SESSION)
		return rc;
	if (answer.status != TGT_OK)
		return problem_set(problem, E_PROTOCOL, "tgtd does not tell of a session: %s",
				   tgt_status_text(answer.status));
	count = tgt_connections_decode(text, answer.size, connections, COUNT_OF(connections));
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = tgt_driver_cut_one(place, id, session, connections[i], problem);
	return rc;
}

static int tgt_driver_refuse(const struct storage_place *place, int64_t id, const char *address,
			     struct problem *problem)
{
	char text[STORAGE_ADDRESS_SIZE + 32];
	const struct tgt_request request = {.mode = TGT_TARGET,
					    .op = TGT_UNBIND,
					    .target = (int32_t)id,
					    .unit = UINT64_MAX,
					    .text = text};

	(void)text_format(text, sizeof(text), "initiator-address=%s", address);
	return tgt_driver_ask(place, &request, TGT_NO_ADDRESS, problem);
}

/* First the door, then who is inside: what logged in between is seen by the next look. */
static int tgt_expel(const struct storage_place *place, const struct storage_target *target,
		     size_t *ret_odd, struct problem *problem)
{
	struct storage_view view = {0};
	const struct storage_target *open;
	int rc = tgt_driver_look_at(place, target->id, &view, &open, problem);

	for (size_t i = 0; rc == 0 && open && i < open->address_count; i++) {
		if (!storage_target_lists(target, open->addresses[i].text))
			rc = tgt_driver_refuse(place, open->id, open->addresses[i].text, problem);
	}
	if (rc == 0 && open)
		rc = expel_users(place, target, open, problem);
	*ret_odd = 0;
	for (size_t i = 0; rc == 0 && open && i < open->session_count; i++) {
		if (storage_target_admits(target, &open->sessions[i]))
			continue;
		*ret_odd += open->sessions[i].odd;
		rc = tgt_driver_cut(place, open->id, open->sessions[i].number, problem);
	}
	storage_view_done(&view);
	return rc;
}

/* The secret of an account that is there cannot be changed, so it is made anew. */
static int give_user(const struct storage_place *place, int64_t id, const struct storage_user *user,
		     struct problem *problem)
{
	char text[STORAGE_USER_SIZE + STORAGE_SECRET_SIZE + 32];
	const struct tgt_request request = {
		.mode = TGT_ACCOUNT, .op = TGT_NEW, .target = -1, .unit = UINT64_MAX, .text = text};
	int rc = forget_user(place, user->name, problem);

	if (rc)
		return rc;
	(void)text_format(text, sizeof(text), "user=%s,password=%s", user->name, user->secret);
	rc = tgt_driver_ask(place, &request, TGT_OK, problem);
	sodium_memzero(text, sizeof(text));
	return rc ? rc : bind_user(place, id, user->name, TGT_BIND, problem);
}

/* Who of `target` is not let in yet, by what is `open`. */
static int let_in_rest(const struct storage_place *place, const struct storage_target *target,
		       const struct storage_target *open, struct problem *problem)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < target->user_count; i++) {
		if (!storage_target_knows(open, target->users[i].name))
			rc = give_user(place, target->id, &target->users[i], problem);
	}
	for (size_t i = 0; rc == 0 && i < target->address_count; i++) {
		if (!storage_target_lists(open, target->addresses[i].text))
			rc = let_in(place, target->id, "initiator-address",
				    target->addresses[i].text, problem);
	}
	return rc;
}

static int tgt_admit(const struct storage_place *place, const struct storage_target *target,
		     struct problem *problem)
{
	struct storage_view view = {0};
	const struct storage_target *open;
	int rc = tgt_driver_look_at(place, target->id, &view, &open, problem);

	if (rc == 0 && open)
		rc = let_in_rest(place, target, open, problem);
	storage_view_done(&view);
	return rc;
}

static int tgt_open(const struct storage_place *place, const struct storage_target *target,
		    struct problem *problem)
{
	static const struct storage_target nobody = {0};
	char text[PATH_MAX + 64];
	char mark[TGT_MARK_SIZE];
	struct tgt_request request = {.mode = TGT_TARGET,
				      .op = TGT_NEW,
				      .target = (int32_t)target->id,
				      .unit = UINT64_MAX,
				      .text = text};
	int rc = tgt_close(place, target->id, problem);

	(void)text_format(text, sizeof(text), "targetname=%s", target->name);
	if (rc == 0)
		rc = tgt_driver_ask(place, &request, TGT_OK, problem);
	if (rc == 0) {
		request.mode = TGT_LOGICAL_UNIT;
		request.unit = 1;
		(void)text_format(text, sizeof(text), "path=%s,bstype=rdwr", target->path);
		rc = tgt_driver_ask(place, &request, TGT_OK, problem);
	}
	/* before anybody is logged in: what initiators say of themselves stands before it */
	tgt_mark(place->mark_key, target->id, target->name, mark);
	if (rc == 0)
		rc = let_in(place, target->id, "initiator-name", mark, problem);
	sodium_memzero(mark, sizeof(mark));
	if (rc == 0)
		rc = let_in_rest(place, target, &nobody, problem);
	if (rc) {
		struct problem ignored = {0};

		(void)tgt_close(place, target->id, &ignored);
	}
	return rc;
}

static int tgt_portals(const struct storage_place *place, struct storage_portals *ret,
		       struct problem *problem)
{
	static const struct tgt_request request = {
		.mode = TGT_PORTAL, .op = TGT_SHOW, .target = -1, .unit = UINT64_MAX, .text = ""};
	CLEANUP(freep) char *text = NULL;
	size_t size;
	int rc = tgt_driver_tell(place, &request, "portals", &text, &size, problem);

	if (rc)
		return rc;
	rc = tgt_portals_decode(text, size, ret);
	return rc ? problem_set(problem, rc, "the portals of tgtd cannot be read: %s",
				error_text(rc))
		  : 0;
}

/* tgtd does not tell why it cannot: the address is not there, or somebody has the port. */
static int tgt_listen(const struct storage_place *place, const char *portal, bool open,
		      struct problem *problem)
{
	char text[STORAGE_PORTAL_SIZE + 16];
	const struct tgt_request request = {.mode = TGT_PORTAL,
					    .op = open ? TGT_NEW : TGT_DELETE,
					    .target = -1,
					    .unit = UINT64_MAX,
					    .text = text};
	struct tgt_answer answer = {0};
	int rc;

	(void)text_format(text, sizeof(text), "portal=%s", portal);
	rc = tgt_ask(place->control, &request, &answer, NULL, problem);
	if (rc || answer.status == TGT_OK)
		return rc;
	return problem_set(problem, E_PROTOCOL, "tgtd does not %s %s: %s",
			   open ? "listen on" : "leave", portal, tgt_status_text(answer.status));
}

const struct storage_driver tgt_driver = {
	.name = "tgt",
	.look = tgt_look,
	.open = tgt_open,
	.admit = tgt_admit,
	.expel = tgt_expel,
	.portals = tgt_portals,
	.listen = tgt_listen,
	.close = tgt_close,
};
