#include "tests/sim/redfish/redfish_bmc.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/hex.h"
#include "common/http/json_reader.h"

#include "tests/sim/redfish/redfish_bmc_private.h"

#define SESSIONS_PATH "/redfish/v1/SessionService/Sessions"
#define ACCOUNT_PATH  "/redfish/v1/AccountService/Accounts/2"
enum { SESSION_MS = 30 * 60 * 1000, BODY_LIMIT = 64 * 1024, RETRY_S = 5 };

static const struct {
	const char *word;
	enum redfish_bmc_fault bit;
} fault_words[] = {
	{"lazy", REDFISH_BMC_LAZY},
	{"hang", REDFISH_BMC_HANG},
	{"session-full", REDFISH_BMC_SESSION_FULL},
	{"stale-boot", REDFISH_BMC_STALE_BOOT},
	{"drops-boot", REDFISH_BMC_DROPS_BOOT},
	{"slow", REDFISH_BMC_SLOW},
	{"unavailable", REDFISH_BMC_UNAVAILABLE},
	{"truncated", REDFISH_BMC_TRUNCATED},
	{"bomb-deep", REDFISH_BMC_BOMB_DEEP},
	{"bomb-wide", REDFISH_BMC_BOMB_WIDE},
	{"bomb-long", REDFISH_BMC_BOMB_LONG},
	{"duplicates", REDFISH_BMC_DUPLICATES},
	{"not-yet-on", REDFISH_BMC_NOT_YET_ON},
	{"in-post", REDFISH_BMC_IN_POST},
	{"unauthorized", REDFISH_BMC_UNAUTHORIZED},
	{"ignores-power", REDFISH_BMC_IGNORES_POWER},
	{"needs-etag", REDFISH_BMC_NEEDS_ETAG},
	{"cut", REDFISH_BMC_CUT},
	{"ignores-password", REDFISH_BMC_IGNORES_PASSWORD},
};

uint32_t redfish_bmc_fault_find(const char *word)
{
	for (size_t i = 0; i < COUNT_OF(fault_words); i++) {
		if (strcmp(fault_words[i].word, word) == 0)
			return fault_words[i].bit;
	}
	return 0;
}

enum redfish_bmc_vendor redfish_bmc_vendor_find(const char *word)
{
	for (enum redfish_bmc_vendor v = REDFISH_BMC_GENERIC; v < REDFISH_BMC_VENDOR_COUNT; v++) {
		if (strcmp(vendor_table[v].word, word) == 0)
			return v;
	}
	return REDFISH_BMC_GENERIC;
}

/* --- power --- */

static void log_add(struct redfish_bmc *bmc, const char *severity, const char *message)
{
	if (bmc->log_count == LOG_MAX) {
		memmove(&bmc->log[0], &bmc->log[1], (LOG_MAX - 1) * sizeof(bmc->log[0]));
		bmc->log_count--;
	}
	bmc->log[bmc->log_count++] = (struct log_entry){++bmc->next_entry, severity, message};
}

bool bmc_is_on(struct redfish_bmc *bmc, int64_t now_ms)
{
	if (bmc->node.is_on)
		return bmc->node.is_on(bmc->node.context);
	if (bmc->pending && now_ms >= bmc->pending_ms) {
		bmc->pending = false;
		bmc->on = bmc->pending_on;
	}
	return bmc->on;
}

/* The firmware looks at the override once per start; "Once" is used up by that. */
static void boot_used(struct redfish_bmc *bmc)
{
	struct redfish_bmc_boot *boot = &bmc->seen.boot;

	bmc->seen.booted = *boot;
	if (bmc->node.boot)
		bmc->node.boot(bmc->node.context, boot);
	if (strcmp(boot->enabled, "Once") == 0) {
		(void)text_copy(boot->target, sizeof(boot->target), "None");
		(void)text_copy(boot->enabled, sizeof(boot->enabled), "Disabled");
		bmc->version++;
	}
}

static void power_do(struct redfish_bmc *bmc, enum redfish_bmc_power action, int64_t now_ms)
{
	bool on = bmc_is_on(bmc, now_ms);
	bool starts = action == REDFISH_BMC_RESTART || (action == REDFISH_BMC_ON && !on);
	bool stops = on && (action == REDFISH_BMC_OFF || action == REDFISH_BMC_SOFT);

	if (bmc->faults & REDFISH_BMC_IGNORES_POWER)
		return;
	if (starts) {
		boot_used(bmc);
		bmc->on_ms = now_ms;
	}
	if (stops)
		bmc->off_ms = now_ms;
	bmc->seen.power_ons += starts && !on;
	bmc->seen.power_offs += stops;
	bmc->seen.restarts += starts && on;
	bmc->version++;
	log_add(bmc, "OK", starts ? "The system was powered on." : "The system was powered off.");
	if (bmc->node.power) {
		bmc->node.power(bmc->node.context, action);
		return;
	}
	bmc->pending = true;
	bmc->pending_on = action == REDFISH_BMC_ON || action == REDFISH_BMC_RESTART;
	bmc->pending_ms = now_ms + bmc->power_delay_ms;
	(void)bmc_is_on(bmc, now_ms);
}

/* --- answers --- */

static void redfish_bmc_refuse(struct redfish_bmc_answer *ret, int status, const char *code,
			       const char *message)
{
	text_clear(&ret->body);
	ret->etag[0] = '\0';
	ret->status = status;
	resource_error(&ret->body, code, message);
}

void redfish_bmc_answer_done(struct redfish_bmc_answer *answer)
{
	text_done(&answer->body);
	*answer = (struct redfish_bmc_answer){0};
}

/* --- sessions --- */

static void sessions_expire(struct redfish_bmc *bmc, int64_t now_ms)
{
	for (unsigned i = 0; i < bmc->session_limit; i++) {
		struct session *session = &bmc->sessions[i];

		if (session->id && now_ms - session->used_ms > SESSION_MS) {
			*session = (struct session){0};
			bmc->seen.sessions--;
		}
	}
}

static struct session *redfish_bmc_session_find(struct redfish_bmc *bmc, const char *token)
{
	for (unsigned i = 0; i < bmc->session_limit; i++) {
		if (bmc->sessions[i].id && strcmp(bmc->sessions[i].token, token) == 0)
			return &bmc->sessions[i];
	}
	return NULL;
}

static void session_make(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
			 struct redfish_bmc_answer *ret)
{
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem problem = {0};
	const char *username;
	const char *password;
	struct session *session = NULL;

	if (json_read(request->body ? request->body : "", request->size, BODY_LIMIT, &body,
		      &problem) != 0) {
		redfish_bmc_refuse(ret, 400, "MalformedJSON",
				   "The request body was malformed JSON.");
		return;
	}
	username = json_string_value(json_object_get(body, "UserName"));
	password = json_string_value(json_object_get(body, "Password"));
	if (!username || !password || strcmp(username, bmc->username) != 0 ||
	    strcmp(password, bmc->password) != 0 || bmc->faults & REDFISH_BMC_UNAUTHORIZED) {
		bmc->seen.refused++;
		redfish_bmc_refuse(ret, 401, "ResourceAtUriUnauthorized",
				   "The credentials were refused.");
		return;
	}
	for (unsigned i = 0; i < bmc->session_limit && !session; i++) {
		if (bmc->sessions[i].id == 0)
			session = &bmc->sessions[i];
	}
	if (!session || bmc->faults & REDFISH_BMC_SESSION_FULL) {
		redfish_bmc_refuse(
			ret, 503, "SessionLimitExceeded",
			"The session establishment failed because the number of simultaneous sessions exceeds the limit.");
		return;
	}
	session->id = ++bmc->next_session;
	session->used_ms = request->now_ms;
	token_new(session->token);
	bmc->seen.sessions_made++;
	if (++bmc->seen.sessions > bmc->seen.sessions_peak)
		bmc->seen.sessions_peak = bmc->seen.sessions;
	ret->status = 201;
	(void)text_copy(ret->token, sizeof(ret->token), session->token);
	(void)text_format(ret->location, sizeof(ret->location), SESSIONS_PATH "/%u", session->id);
	text_addf(
		&ret->body,
		"{\"@odata.id\":\"" SESSIONS_PATH
		"/%u\",\"@odata.type\":\"#Session.v1_5_0.Session\",\"Id\":\"%u\",\"Name\":\"Session\",\"UserName\":\"%s\"}",
		session->id, session->id, bmc->username);
}

static bool basic_is_right(const struct redfish_bmc *bmc, const char *authorization)
{
	char plain[160];
	size_t size = 0;
	char wanted[160];

	if (strncasecmp(authorization, "Basic ", 6) != 0 ||
	    sodium_base642bin((unsigned char *)plain, sizeof(plain) - 1, authorization + 6,
			      strlen(authorization + 6), NULL, &size, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0)
		return false;
	plain[size] = '\0';
	(void)text_format(wanted, sizeof(wanted), "%s:%s", bmc->username, bmc->password);
	return strcmp(plain, wanted) == 0;
}

static bool redfish_bmc_is_allowed(struct redfish_bmc *bmc,
				   const struct redfish_bmc_request *request)
{
	struct session *session =
		request->token ? redfish_bmc_session_find(bmc, request->token) : NULL;

	if (bmc->faults & REDFISH_BMC_UNAUTHORIZED)
		return false;
	if (session)
		session->used_ms = request->now_ms;
	return session || (request->authorization && basic_is_right(bmc, request->authorization));
}

static void redfish_bmc_session_end(struct redfish_bmc *bmc, const char *path,
				    struct redfish_bmc_answer *ret)
{
	unsigned id = (unsigned)strtoul(path + strlen(SESSIONS_PATH "/"), NULL, 10);

	for (unsigned i = 0; i < bmc->session_limit; i++) {
		if (id == 0 || bmc->sessions[i].id != id)
			continue;
		bmc->sessions[i] = (struct session){0};
		bmc->seen.sessions--;
		ret->status = 204;
		return;
	}
	redfish_bmc_refuse(ret, 404, "ResourceMissingAtURI", "There is no such session.");
}

/* --- changes --- */

static bool etag_fits(const struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
		      struct redfish_bmc_answer *ret)
{
	char etag[24];

	(void)text_format(etag, sizeof(etag), "\"%u\"", bmc->version);
	if (!request->if_match && bmc->faults & REDFISH_BMC_NEEDS_ETAG) {
		redfish_bmc_refuse(ret, 428, "PreconditionRequired",
				   "A precondition header is required.");
		return false;
	}
	if (request->if_match && strcmp(request->if_match, etag) != 0 &&
	    strcmp(request->if_match, "*") != 0) {
		redfish_bmc_refuse(ret, 412, "PreconditionFailed",
				   "The ETag supplied did not match.");
		return false;
	}
	return true;
}

static bool redfish_bmc_is_one_of(const char *value, const char *const *list)
{
	while (*list && strcmp(*list, value) != 0)
		list++;
	return *list != NULL;
}

/* One property of Boot; absent is fine. */
static bool boot_take(const json_t *boot, const char *key, const char *const *allowed, char *ret,
		      size_t room)
{
	const json_t *value = json_object_get(boot, key);

	if (!value)
		return true;
	return json_is_string(value) && redfish_bmc_is_one_of(json_string_value(value), allowed) &&
	       text_copy(ret, room, json_string_value(value));
}

static bool boot_change(struct redfish_bmc *bmc, const json_t *wanted)
{
	static const char *const targets[] = {"None",      "Pxe",      "Hdd", "Cd",
					      "BiosSetup", "UefiHttp", NULL};
	static const char *const enabled[] = {"Disabled", "Once", "Continuous", NULL};
	static const char *const modes[] = {"UEFI", "Legacy", NULL};
	struct redfish_bmc_boot boot = bmc->seen.boot;

	if (!boot_take(wanted, "BootSourceOverrideTarget", targets, boot.target,
		       sizeof(boot.target)) ||
	    !boot_take(wanted, "BootSourceOverrideEnabled", enabled, boot.enabled,
		       sizeof(boot.enabled)) ||
	    !boot_take(wanted, "BootSourceOverrideMode", modes, boot.mode, sizeof(boot.mode)))
		return false;
	if (bmc->faults & REDFISH_BMC_DROPS_BOOT)
		return true;
	bmc->seen.boot = boot;
	if (bmc->node.boot)
		bmc->node.boot(bmc->node.context, &boot);
	return true;
}

static void patch_system(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
			 struct redfish_bmc_answer *ret)
{
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem problem = {0};
	const json_t *boot;
	const char *led;

	if (!etag_fits(bmc, request, ret))
		return;
	if (json_read(request->body ? request->body : "", request->size, BODY_LIMIT, &body,
		      &problem) != 0 ||
	    !json_is_object(body)) {
		redfish_bmc_refuse(ret, 400, "MalformedJSON",
				   "The request body was malformed JSON.");
		return;
	}
	boot = json_object_get(body, "Boot");
	led = json_string_value(json_object_get(body, "IndicatorLED"));
	if (boot && bmc->faults & REDFISH_BMC_IN_POST && bmc->on_ms &&
	    request->now_ms - bmc->on_ms < bmc->hold_ms) {
		redfish_bmc_refuse(ret, 400, "UnableToModifyDuringSystemPOST",
				   "The property cannot be modified while the system is in POST.");
		return;
	}
	if (boot && !boot_change(bmc, boot)) {
		redfish_bmc_refuse(ret, 400, "PropertyValueNotInList",
				   "A value of Boot is not allowed.");
		return;
	}
	if (led)
		bmc->led = strcmp(led, "Off") != 0;
	bmc->version++;
	ret->status = 200;
	(void)resource_body(bmc, request->path, request->now_ms, &ret->body, ret->etag);
}

static const struct {
	const char *word;
	enum redfish_bmc_power action;
} reset_words[] = {
	{"On", REDFISH_BMC_ON},
	{"ForceOn", REDFISH_BMC_ON},
	{"ForceOff", REDFISH_BMC_OFF},
	{"ForceRestart", REDFISH_BMC_RESTART},
	{"GracefulRestart", REDFISH_BMC_RESTART},
	{"PowerCycle", REDFISH_BMC_RESTART},
	{"GracefulShutdown", REDFISH_BMC_SOFT},
};

static bool reset_find(const struct redfish_bmc *bmc, const char *word, enum redfish_bmc_power *ret)
{
	if (!word || !redfish_bmc_is_one_of(word, vendor_table[bmc->vendor].reset_types))
		return false;
	for (size_t i = 0; i < COUNT_OF(reset_words); i++) {
		if (strcmp(reset_words[i].word, word) != 0)
			continue;
		*ret = reset_words[i].action;
		return true;
	}
	return false;
}

static void reset_system(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
			 struct redfish_bmc_answer *ret)
{
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem problem = {0};
	bool on = bmc_is_on(bmc, request->now_ms);
	enum redfish_bmc_power action;

	if (json_read(request->body ? request->body : "", request->size, BODY_LIMIT, &body,
		      &problem) != 0 ||
	    !reset_find(bmc, json_string_value(json_object_get(body, "ResetType")), &action)) {
		redfish_bmc_refuse(ret, 400, "ActionParameterNotSupported",
				   "This ResetType is not supported.");
	} else if (action == REDFISH_BMC_ON && bmc->faults & REDFISH_BMC_NOT_YET_ON &&
		   bmc->off_ms && request->now_ms - bmc->off_ms < bmc->hold_ms) {
		redfish_bmc_refuse(ret, 409, "ResourceInUse",
				   "The server is still being powered off.");
	} else if (on == (action == REDFISH_BMC_ON)) {
		redfish_bmc_refuse(ret, 409, "ResourceInStandby",
				   "The system is already in that power state.");
	} else {
		power_do(bmc, action, request->now_ms);
		ret->status = 204;
	}
}

static void redfish_bmc_post(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
			     const char *path, struct redfish_bmc_answer *ret)
{
	char system[128];
	size_t size;

	system_path(bmc, system, sizeof(system));
	size = strlen(system);
	if (strncmp(path, system, size) == 0 &&
	    strcmp(path + size, "/Actions/ComputerSystem.Reset") == 0) {
		reset_system(bmc, request, ret);
	} else if (strstr(path, "/Actions/LogService.ClearLog")) {
		bmc->log_count = 0;
		ret->status = 204;
	} else {
		redfish_bmc_refuse(ret, 404, "ResourceMissingAtURI", "There is no such action.");
	}
}

/* DSP2046: Password is written by PATCH, and is null when it is read. The sessions of the account
 * end. */
static void patch_account(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
			  struct redfish_bmc_answer *ret)
{
	CLEANUP(json_decrefp) json_t *body = NULL;
	struct problem problem = {0};
	const char *password;

	if (!etag_fits(bmc, request, ret))
		return;
	if (json_read(request->body ? request->body : "", request->size, BODY_LIMIT, &body,
		      &problem) != 0) {
		redfish_bmc_refuse(ret, 400, "MalformedJSON",
				   "The request body was malformed JSON.");
		return;
	}
	password = json_string_value(json_object_get(body, "Password"));
	if (!password || strlen(password) < 8) {
		redfish_bmc_refuse(ret, 400, "PropertyValueError", "The password is too short.");
		return;
	}
	if (!(bmc->faults & REDFISH_BMC_IGNORES_PASSWORD))
		redfish_bmc_set_password(bmc, password);
	redfish_bmc_forget_sessions(bmc);
	bmc->version++;
	ret->status = 204;
}

static void redfish_bmc_dispatch(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
				 const char *path, struct redfish_bmc_answer *ret)
{
	char system[128];

	system_path(bmc, system, sizeof(system));
	if (strcmp(request->method, "GET") == 0) {
		ret->status = 200;
		if (!resource_body(bmc, path, request->now_ms, &ret->body, ret->etag))
			redfish_bmc_refuse(ret, 404, "ResourceMissingAtURI",
					   "There is no such resource.");
	} else if (strcmp(request->method, "DELETE") == 0 &&
		   strncmp(path, SESSIONS_PATH "/", strlen(SESSIONS_PATH "/")) == 0) {
		redfish_bmc_session_end(bmc, path, ret);
	} else if (strcmp(request->method, "PATCH") == 0 && strcmp(path, system) == 0) {
		patch_system(bmc, request, ret);
	} else if (strcmp(request->method, "PATCH") == 0 && strcmp(path, ACCOUNT_PATH) == 0) {
		patch_account(bmc, request, ret);
	} else if (strcmp(request->method, "POST") == 0) {
		redfish_bmc_post(bmc, request, path, ret);
	} else {
		redfish_bmc_refuse(ret, 405, "OperationNotAllowed",
				   "The method is not allowed here.");
	}
}

/* --- faults --- */

static void redfish_bmc_bomb(struct redfish_bmc *bmc, struct redfish_bmc_answer *ret)
{
	char block[1024];

	text_clear(&ret->body);
	if (bmc->faults & REDFISH_BMC_BOMB_DEEP) {
		memset(block, '[', sizeof(block));
		for (int i = 0; i < 1024; i++)
			text_add_bytes(&ret->body, block, sizeof(block));
	} else if (bmc->faults & REDFISH_BMC_BOMB_WIDE) {
		text_add(&ret->body, "[{}");
		for (int i = 0; i < 1 << 18; i++)
			text_add(&ret->body, ",{}");
		text_add(&ret->body, "]");
	} else {
		memset(block, 'A', sizeof(block));
		text_add(&ret->body, "{\"Name\":\"");
		for (int i = 0; i < 20 << 10; i++) /* 20 MiB: more than a client takes */
			text_add_bytes(&ret->body, block, sizeof(block));
		text_add(&ret->body, "\"}");
	}
}

/* What a broken BMC makes of a good answer. */
static void redfish_bmc_spoil(struct redfish_bmc *bmc, const char *path,
			      struct redfish_bmc_answer *ret)
{
	const uint32_t bombs =
		REDFISH_BMC_BOMB_DEEP | REDFISH_BMC_BOMB_WIDE | REDFISH_BMC_BOMB_LONG;

	if (bmc->faults & REDFISH_BMC_SLOW &&
	    strncmp(path, bmc->slow_path, strlen(bmc->slow_path)) == 0)
		ret->delay_ms = bmc->hold_ms;
	if (ret->status != 200)
		return;
	if (bmc->faults & REDFISH_BMC_TRUNCATED) {
		ret->body.size /= 2;
		if (ret->body.data)
			ret->body.data[ret->body.size] = '\0';
	} else if (bmc->faults & REDFISH_BMC_DUPLICATES) {
		struct text twice = {0};

		text_addf(&twice, "{\"PowerState\":\"Off\",%s", text_get(&ret->body) + 1);
		twice.size -= 1;
		text_add(&twice, ",\"PowerState\":\"On\"}");
		text_done(&ret->body);
		ret->body = twice;
	} else if (bmc->faults & bombs) {
		redfish_bmc_bomb(bmc, ret);
	}
	ret->cut = bmc->faults & REDFISH_BMC_CUT;
}

static void redfish_bmc_answer_request(struct redfish_bmc *bmc,
				       const struct redfish_bmc_request *request,
				       struct redfish_bmc_answer *ret)
{
	bool public_path;
	char path[160];
	size_t size = strcspn(request->path, "?#");

	*ret = (struct redfish_bmc_answer){0};
	while (size > 1 && request->path[size - 1] == '/')
		size--;
	(void)text_format(path, sizeof(path), "%.*s", (int)size, request->path);
	bmc->seen.requests++;
	if (bmc->faults & REDFISH_BMC_HANG) {
		ret->delay_ms = -1;
		return;
	}
	sessions_expire(bmc, request->now_ms);
	public_path = strcmp(path, "/redfish") == 0 || strcmp(path, "/redfish/v1") == 0;
	if (bmc->faults & REDFISH_BMC_UNAVAILABLE) {
		redfish_bmc_refuse(ret, 503, "ServiceTemporarilyUnavailable",
				   "The service is starting.");
		ret->retry_s = RETRY_S;
	} else if (strcmp(request->method, "POST") == 0 && strcmp(path, SESSIONS_PATH) == 0) {
		session_make(bmc, request, ret);
	} else if (!public_path && !redfish_bmc_is_allowed(bmc, request)) {
		bmc->seen.refused++;
		redfish_bmc_refuse(ret, 401, "NoValidSession",
				   "There is no valid session for this request.");
		ret->authenticate = true;
	} else {
		redfish_bmc_dispatch(bmc, request, path, ret);
	}
	redfish_bmc_spoil(bmc, path, ret);
}

void redfish_bmc_serve(struct redfish_bmc *bmc, const struct redfish_bmc_request *request,
		       struct redfish_bmc_answer *ret)
{
	uint32_t lasting = bmc->faults;

	bmc->faults |= request->faults;
	redfish_bmc_answer_request(bmc, request, ret);
	bmc->faults = lasting;
}

/* --- life --- */

static void copy_or(char *ret, size_t room, const char *value, const char *fallback)
{
	(void)text_copy(ret, room, value && value[0] ? value : fallback);
}

int redfish_bmc_new(const struct redfish_bmc_options *options, struct redfish_bmc **ret)
{
	struct redfish_bmc *bmc = calloc(1, sizeof(*bmc));

	if (!bmc)
		return -ENOMEM;
	bmc->vendor = options->vendor;
	bmc->session_limit = options->session_limit ? options->session_limit : SESSIONS_DEFAULT;
	if (bmc->session_limit > SESSIONS_MAX)
		bmc->session_limit = SESSIONS_MAX;
	bmc->power_delay_ms = options->power_delay_ms;
	bmc->node = options->node;
	copy_or(bmc->name, sizeof(bmc->name), options->name, "n1");
	copy_or(bmc->serial, sizeof(bmc->serial), options->serial, bmc->name);
	copy_or(bmc->uuid, sizeof(bmc->uuid), options->uuid,
		"68616173-6c61-4000-8000-000000000001");
	copy_or(bmc->username, sizeof(bmc->username), options->username, "admin");
	copy_or(bmc->password, sizeof(bmc->password), options->password, "");
	bmc->seen.boot = (struct redfish_bmc_boot){"None", "Disabled", "UEFI"};
	bmc->shown = bmc->seen.boot;
	log_add(bmc, "OK", "The BMC was started.");
	log_add(bmc, "Warning", "Fan 1A is below its lower warning threshold.");
	*ret = bmc;
	return 0;
}

void redfish_bmc_free(struct redfish_bmc *bmc)
{
	free(bmc);
}

void redfish_bmc_set_faults(struct redfish_bmc *bmc, uint32_t faults, int64_t hold_ms,
			    const char *slow_path)
{
	bmc->faults = faults;
	bmc->hold_ms = hold_ms;
	bmc->collection_read = false;
	bmc->shown = bmc->seen.boot;
	(void)text_copy(bmc->slow_path, sizeof(bmc->slow_path), slow_path ? slow_path : "");
}

void redfish_bmc_forget_sessions(struct redfish_bmc *bmc)
{
	memset(bmc->sessions, 0, sizeof(bmc->sessions));
	bmc->seen.sessions = 0;
}

void redfish_bmc_set_password(struct redfish_bmc *bmc, const char *password)
{
	(void)text_copy(bmc->password, sizeof(bmc->password), password);
}

void redfish_bmc_state(struct redfish_bmc *bmc, int64_t now_ms, struct redfish_bmc_state *ret)
{
	*ret = bmc->seen;
	ret->on = bmc_is_on(bmc, now_ms);
}
