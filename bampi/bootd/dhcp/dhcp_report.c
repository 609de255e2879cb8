#include "bampi/bootd/dhcp/dhcp_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "common/io/log.h"
#include "common/net/ipv4.h"

#include "bampi/bootd/dhcp/event_store.h"
#include "bampi/bootd/identify/identity_text.h"

#define DHCP_REPORT_SUBJECT "dhcp"
#define SUBJECT_SIZE        96
#define TOLD_MAX            256
#define TOLD_MS             3600000
#define DROPPED_MS          60000

/* What is told of beside the reasons for silence: a node that gets no boot file. */
#define TOLD_NO_FILE DHCP_REASONS

/* A client that gets no answer asks for ever: it is told of once an hour. */
struct told {
	struct mac mac;
	int what;      /* enum dhcp_reason or TOLD_NO_FILE */
	int64_t at_ms; /* 0 = free */
};

/* What was dropped for one reason since it was last told. */
struct dropped {
	int64_t told_ms;
	uint64_t count;
};

struct dhcp_report {
	struct loop *loop;
	const struct inventory *inventory;
	struct observations *observations;
	struct event_store *events;
	struct log_limit strangers;  /* log lines about clients that are no nodes */
	struct log_limit identities; /* who asked: line and event */
	struct log_limit conflicts;
	struct log_limit by_reason[DHCP_REASONS]; /* refusals: line and event */
	struct log_limit stranger_events;         /* bindings of clients that are no nodes */
	struct dropped dropped[DHCP_REASONS];
	struct told told[TOLD_MAX];
	size_t told_next; /* the oldest, which makes room */
	int64_t away_since_ms;
	uint64_t postponed; /* refused because the database was away */
};

/* A client in words; the texts live as long as the struct. */
struct naming {
	char subject[SUBJECT_SIZE];
	char mac[MAC_TEXT_SIZE];
	char address[IPV4_TEXT_SIZE];
	const struct inventory_node *node;
	int64_t deployment_id;
};

static struct naming name_client(const struct dhcp_report *report, const struct dhcp_client *client,
				 uint32_t address)
{
	struct naming naming = {
		.node = client->node_id ? inventory_by_id(report->inventory, client->node_id)
					: NULL};

	(void)mac_text(client->mac, naming.mac);
	(void)ipv4_text(address, naming.address);
	if (naming.node) {
		(void)text_format(naming.subject, sizeof(naming.subject), "node %s",
				  naming.node->name);
		naming.deployment_id = naming.node->intent.deployment_id;
	} else {
		(void)text_copy(naming.subject, sizeof(naming.subject), DHCP_REPORT_SUBJECT);
	}
	return naming;
}

/* The line of one exchange. Nodes are as many as we have; strangers may be any number. */
static void dhcp_report_say(struct dhcp_report *report, enum log_level level,
			    const struct naming *naming, const struct dhcp_client *client,
			    const char *what)
{
	if (!log_enabled(level) ||
	    (!naming->node && !log_allowed(&report->strangers, loop_now_ms(report->loop))))
		return;
	if (naming->deployment_id)
		log_line(level, naming->subject, "%s (mac=%s client=%s deployment=%" PRId64 ")",
			 what, naming->mac, client_kind_text(client->kind), naming->deployment_id);
	else
		log_line(level, naming->subject, "%s (mac=%s client=%s)", what, naming->mac,
			 client_kind_text(client->kind));
}

/* {"mac":..,"address":..,"client":..}: all of them texts without anything to escape. */
static void add_event(struct dhcp_report *report, const char *kind, const struct naming *naming,
		      const struct dhcp_client *client, const char *message)
{
	char detail[256];

	(void)text_format(
		detail, sizeof(detail),
		"{\"mac\":\"%s\",\"address\":\"%s\",\"client\":\"%s\",\"vendor_class\":\"%s\"}",
		naming->mac, naming->address, client_kind_text(client->kind), client->text);
	event_store_add(report->events, kind, naming->node ? "node" : "mac",
			naming->node ? naming->node->name : naming->mac, message, detail);
}

static bool told_lately(const struct dhcp_report *report, struct mac mac, int what, int64_t now_ms)
{
	for (size_t i = 0; i < TOLD_MAX; i++) {
		const struct told *told = &report->told[i];

		if (told->at_ms > 0 && now_ms - told->at_ms < TOLD_MS && told->what == what &&
		    mac_equal(told->mac, mac))
			return true;
	}
	return false;
}

static void note_told(struct dhcp_report *report, struct mac mac, int what, int64_t now_ms)
{
	report->told[report->told_next] = (struct told){mac, what, now_ms};
	report->told_next = (report->told_next + 1) % TOLD_MAX;
}

/* Firmware without a boot file turns an offer down and says nothing. */
static void report_no_file(struct dhcp_report *report, const struct dhcp_client *client)
{
	int64_t now_ms = loop_now_ms(report->loop);
	struct naming naming;

	if (!client->without_file || !client->node_id ||
	    told_lately(report, client->mac, TOLD_NO_FILE, now_ms))
		return;
	note_told(report, client->mac, TOLD_NO_FILE, now_ms);
	naming = name_client(report, client, 0);
	if (client->architecture == ARCHITECTURE_UNTOLD)
		log_warn(naming.subject,
			 "no boot file: its firmware names no architecture (mac=%s class=%s)",
			 naming.mac, client->text);
	else
		log_warn(naming.subject,
			 "no boot file for architecture %" PRIu32
			 " (%s): boot_files of bampi-bootd may name one (mac=%s class=%s)",
			 client->architecture, architecture_text(client->architecture), naming.mac,
			 client->text);
}

void dhcp_report_offer(struct dhcp_report *report, const struct dhcp_client *client,
		       uint32_t address)
{
	struct naming naming;
	char what[64];

	report_no_file(report, client);
	if (!log_enabled(LOG_LEVEL_DEBUG))
		return;
	naming = name_client(report, client, address);
	(void)text_format(what, sizeof(what), "offer %s", naming.address);
	dhcp_report_say(report, LOG_LEVEL_DEBUG, &naming, client, what);
}

void dhcp_report_ack(struct dhcp_report *report, const struct dhcp_client *client, uint32_t address,
		     bool fresh)
{
	struct naming naming = name_client(report, client, address);
	char what[64];

	report_no_file(report, client);
	(void)text_format(what, sizeof(what), "ack %s", naming.address);
	dhcp_report_say(report, LOG_LEVEL_INFO, &naming, client, what);
	if (naming.node) {
		(void)text_format(what, sizeof(what), "%s %s", naming.address,
				  client_kind_text(client->kind));
		observation_record(report->observations, naming.node, OBSERVATION_DHCP, what, 0);
	}
	if (fresh &&
	    (naming.node || log_allowed(&report->stranger_events, loop_now_ms(report->loop)))) {
		(void)text_format(what, sizeof(what), "bound to %s", naming.address);
		add_event(report, "lease.bound", &naming, client, what);
	}
}

void dhcp_report_nak(struct dhcp_report *report, const struct dhcp_client *client, uint32_t address,
		     enum dhcp_reason reason)
{
	struct naming naming = name_client(report, client, address);
	char what[96];

	(void)text_format(what, sizeof(what), "nak %s: %s", naming.address,
			  dhcp_reason_text(reason));
	dhcp_report_say(report, LOG_LEVEL_INFO, &naming, client, what);
}

/* Somebody else is where this client was to be. */
static void report_trouble(struct dhcp_report *report, const struct dhcp_client *client,
			   uint32_t address, const char *kind, const char *trouble)
{
	struct naming naming = name_client(report, client, address);
	char what[96];

	(void)text_format(what, sizeof(what), "%s %s", naming.address, trouble);
	dhcp_report_say(report, LOG_LEVEL_WARN, &naming, client, what);
	add_event(report, kind, &naming, client, what);
}

void dhcp_report_decline(struct dhcp_report *report, const struct dhcp_client *client,
			 uint32_t address)
{
	report_trouble(report, client, address, "lease.declined",
		       "is in use by something else; in quarantine");
}

void dhcp_report_conflict(struct dhcp_report *report, const struct dhcp_client *client,
			  uint32_t address)
{
	/* With several servers on one database that is how they agree: told when it is new. */
	if (log_allowed(&report->conflicts, loop_now_ms(report->loop)))
		report_trouble(report, client, address, "lease.conflict",
			       "is bound to another client in the database");
}

static void report_refusal(struct dhcp_report *report, const struct dhcp_client *client,
			   const struct inventory_subnet *subnet, const char *kind, const char *why)
{
	struct naming naming = name_client(report, client, 0);
	char what[192];

	naming.address[0] = '\0';
	(void)text_format(what, sizeof(what), "no answer in subnet %s: %s", subnet->name, why);
	log_line(LOG_LEVEL_WARN, naming.subject, "%s (mac=%s client=%s)", what, naming.mac,
		 client_kind_text(client->kind));
	if (kind)
		add_event(report, kind, &naming, client, what);
}

/* The kind of event for an address that could not be found. */
static const char *const refusal_events[] = {
	[ADDRESS_OK] = NULL,
	[ADDRESS_NO_POOL] = "lease.refused",
	[ADDRESS_EXHAUSTED] = "subnet.exhausted",
	[ADDRESS_HELD] = "lease.conflict",
	[ADDRESS_QUARANTINED] = "lease.conflict",
	[ADDRESS_RESTORED] = "lease.refused",
};

void dhcp_report_silence(struct dhcp_report *report, const struct dhcp_client *client,
			 const struct inventory_subnet *subnet, enum dhcp_reason reason,
			 enum address_refusal refusal)
{
	bool telling = reason == REASON_UNKNOWN_CLIENT || reason == REASON_NO_ADDRESS;
	int64_t now_ms = loop_now_ms(report->loop);

	if (reason == REASON_DATABASE_AWAY)
		report->postponed++;
	if (!subnet || !telling || told_lately(report, client->mac, (int)reason, now_ms) ||
	    !log_allowed(&report->by_reason[reason], now_ms))
		return;
	note_told(report, client->mac, (int)reason, now_ms);
	if (reason == REASON_UNKNOWN_CLIENT)
		report_refusal(report, client, subnet, "lease.refused",
			       "not a node, and nothing is reserved for it");
	else
		report_refusal(report, client, subnet, refusal_events[refusal],
			       address_refusal_text(refusal));
}

static const struct {
	const char *event;
	const char *what;
	const char *check;
} dhcp_report_drops[DHCP_REASONS] = {
	[REASON_RELAY_LOOP] = {"dhcp.loop", "passed more than 16 relays",
			       "two relays send to each other"},
	[REASON_UNKNOWN_RELAY] = {"dhcp.unknown_relay", "came by a relay that no subnet knows",
				  "add its address to a subnet, or look who forges it"},
	[REASON_FORGED_RELAY] = {"dhcp.forged_relay",
				 "name a relay and come from another address of ours",
				 "a node that plays relay; a router with several addresses has "
				 "them all in its subnet: haasctl subnet set --relay"},
	[REASON_CLIENT_RATE] = {"dhcp.limited", "were more than one client may send",
				"a client that asks without end"},
	[REASON_RELAY_RATE] = {"dhcp.limited",
			       "were more than a relay may bring of unknown clients",
			       "made-up MACs, or relay_rate is too low"},
};

void dhcp_report_dropped(struct dhcp_report *report, const struct dhcp_client *client,
			 uint32_t giaddr, enum dhcp_reason reason)
{
	struct dropped *dropped = &report->dropped[reason];
	int64_t now_ms = loop_now_ms(report->loop);
	char relay[IPV4_TEXT_SIZE];
	char mac[MAC_TEXT_SIZE];
	char what[256];

	dropped->count++;
	if (dropped->told_ms > 0 && now_ms - dropped->told_ms < DROPPED_MS)
		return;
	(void)ipv4_text(giaddr, relay);
	(void)mac_text(client->mac, mac);
	(void)text_format(what, sizeof(what), "%" PRIu64 " messages %s; the last by %s from %s: %s",
			  dropped->count, dhcp_report_drops[reason].what,
			  giaddr ? relay : "no relay", mac, dhcp_report_drops[reason].check);
	log_warn(DHCP_REPORT_SUBJECT, "%s", what);
	event_store_add(report->events, dhcp_report_drops[reason].event, giaddr ? "relay" : "mac",
			giaddr ? relay : mac, what, NULL);
	*dropped = (struct dropped){.told_ms = now_ms};
}

static void tell_story(struct dhcp_report *report, struct identity_story *story)
{
	char subject[SUBJECT_SIZE];

	(void)text_format(subject, sizeof(subject), "%s %s", story->subject_kind, story->subject);
	log_line(LOG_LEVEL_WARN, subject, "%s (%s)", story->message, story->hint);
	event_store_add(report->events, story->kind, story->subject_kind, story->subject,
			story->message, text_get(&story->detail));
}

void dhcp_report_identity(struct dhcp_report *report, const struct identity *identity)
{
	int64_t now_ms = loop_now_ms(report->loop);
	CLEANUP(identity_story_done) struct identity_story story = {0};
	CLEANUP(identity_story_done) struct identity_story unknown = {0};

	if (identity->telling && log_allowed(&report->identities, now_ms)) {
		identity_story(identity, &story);
		tell_story(report, &story);
	}
	if (identity->unknown_circuit && log_allowed(&report->identities, now_ms)) {
		identity_story_unknown(identity, &unknown);
		tell_story(report, &unknown);
	}
}

void dhcp_report_database(struct dhcp_report *report, bool connected)
{
	char what[160];
	int64_t seconds;

	if (!connected) {
		report->away_since_ms = loop_now_ms(report->loop);
		log_warn(DHCP_REPORT_SUBJECT,
			 "database away: renewals and known bindings are answered, new ones wait");
		return;
	}
	if (report->away_since_ms == 0)
		return; /* the first connection */
	seconds = (loop_now_ms(report->loop) - report->away_since_ms) / 1000;
	(void)text_format(what, sizeof(what),
			  "database back after %" PRId64
			  " s; requests for new addresses left unanswered: %" PRIu64,
			  seconds, report->postponed);
	log_info(DHCP_REPORT_SUBJECT, "%s", what);
	if (report->postponed > 0)
		event_store_add(report->events, "lease.postponed", "program", "bampi-bootd", what,
				NULL);
	report->postponed = 0;
}

int dhcp_report_new(struct loop *loop, struct db *db, const struct inventory *inventory,
		    struct observations *observations, struct dhcp_report **ret)
{
	struct dhcp_report *report = calloc(1, sizeof(*report));
	int rc;

	if (!report)
		return -ENOMEM;
	*report = (struct dhcp_report){
		.loop = loop,
		.inventory = inventory,
		.observations = observations,
		.strangers = {.burst = 50, .per_minute = 300},
		.identities = {.burst = 50, .per_minute = 60},
		.conflicts = {.burst = 3, .per_minute = 1},
		.stranger_events = {.burst = 50, .per_minute = 60},
	};
	for (size_t i = 0; i < DHCP_REASONS; i++)
		report->by_reason[i] = (struct log_limit){.burst = 5, .per_minute = 6};
	rc = event_store_new(loop, db, &report->events);
	if (rc) {
		free(report);
		return rc;
	}
	*ret = report;
	return 0;
}

void dhcp_report_free(struct dhcp_report *report)
{
	if (!report)
		return;
	event_store_free(report->events);
	free(report);
}

void dhcp_report_flush(struct dhcp_report *report)
{
	event_store_flush(report->events);
}
