#include "bampi/bootd/identify/identity_policy.h"

#include "common/base/enum_text.h"
#include "common/base/macros.h"

static const char *const outcome_words[IDENTITY_OUTCOMES] = {
	[IDENTITY_NEW] = "new",           [IDENTITY_KNOWN] = "known",
	[IDENTITY_SWAPPED] = "swapped",   [IDENTITY_MOVED] = "moved",
	[IDENTITY_CONFLICT] = "conflict",
};

const char *identity_outcome_text(enum identity_outcome outcome)
{
	return enum_text(outcome_words, COUNT_OF(outcome_words), (int)outcome);
}

typedef struct identity_facts facts_t;

/* Another node than `node` must be thought behind this port. */
static bool identity_policy_crowded(const facts_t *f, int64_t node)
{
	return f->located && f->last_node && f->last_node != node && f->last_fresh;
}

static bool mac_on_foreign_port(const facts_t *f)
{
	return f->by_mac && f->port_node && f->port_node != f->by_mac;
}

/* Seen with another node it may be what all boards of that make say; declared for another it is
 * not, nor when the node was known with its own. */
static bool mac_with_foreign_uuid(const facts_t *f)
{
	return f->by_mac && f->by_uuid && f->by_uuid != f->by_mac &&
	       (f->uuid_declared || f->uuid_changed);
}

static bool mac_with_others_uuid(const facts_t *f)
{
	return f->by_mac && f->uuid_shared && f->uuid_declared && f->uuid_changed;
}

static bool mac_at_crowded_port(const facts_t *f)
{
	return f->by_mac && f->port_node != f->by_mac && identity_policy_crowded(f, f->by_mac);
}

static bool mac_in_stranger(const facts_t *f)
{
	return f->by_mac && f->seen_elsewhere && f->uuid_changed;
}

static bool mac_moved(const facts_t *f)
{
	return f->by_mac && f->seen_elsewhere;
}

static bool mac_on_new_board(const facts_t *f)
{
	return f->by_mac && f->uuid_changed;
}

static bool mac_with_common_uuid(const facts_t *f)
{
	return f->by_mac && (f->uuid_shared || (f->by_uuid && f->by_uuid != f->by_mac));
}

static bool mac_known(const facts_t *f)
{
	return f->by_mac != 0;
}

static bool uuid_of_many(const facts_t *f)
{
	return f->uuid_shared && !f->port_node;
}

static bool uuid_on_foreign_port(const facts_t *f)
{
	return f->by_uuid && f->port_node && f->port_node != f->by_uuid;
}

static bool uuid_at_crowded_port(const facts_t *f)
{
	return f->by_uuid && f->port_node != f->by_uuid && identity_policy_crowded(f, f->by_uuid);
}

static bool uuid_at_its_port(const facts_t *f)
{
	return f->by_uuid && f->located && f->uuid_node_nics &&
	       (f->port_node == f->by_uuid || f->last_node == f->by_uuid);
}

static bool uuid_without_nics(const facts_t *f)
{
	return f->by_uuid && !f->uuid_node_nics;
}

static bool uuid_alone(const facts_t *f)
{
	return f->by_uuid != 0;
}

static bool port_crowded(const facts_t *f)
{
	return f->port_node && !f->port_node_nics && identity_policy_crowded(f, f->port_node);
}

static bool port_without_nics(const facts_t *f)
{
	return f->port_node && !f->port_node_nics;
}

static bool port_of_node(const facts_t *f)
{
	return f->port_node != 0;
}

static bool port_seen_with_node(const facts_t *f)
{
	return f->located && f->last_node;
}

static bool identity_policy_nobody(const facts_t *f)
{
	(void)f;
	return true;
}

enum who { NOBODY, IDENTITY_POLICY_BY_MAC, BY_UUID, UUID_OTHER, IDENTITY_POLICY_BY_PORT, LAST };

static int64_t identity_policy_id_of(const facts_t *facts, enum who who)
{
	const int64_t ids[] = {[NOBODY] = 0,
			       [IDENTITY_POLICY_BY_MAC] = facts->by_mac,
			       [BY_UUID] = facts->by_uuid,
			       [UUID_OTHER] = facts->uuid_other,
			       [IDENTITY_POLICY_BY_PORT] = facts->port_node,
			       [LAST] = facts->last_node};

	return ids[who];
}

/* clang-format off */
static const struct {
	bool (*fits)(const facts_t *facts);
	enum identity_outcome outcome;
	enum identity_reason reason;
	enum identity_answer answer;
	enum who node, other;
} identity_policy_rows[] = {
	{mac_on_foreign_port,   IDENTITY_CONFLICT, IDENTITY_PORT_OF_OTHER,   IDENTITY_ANSWER_NOTHING, IDENTITY_POLICY_BY_MAC,  IDENTITY_POLICY_BY_PORT},
	{mac_with_foreign_uuid, IDENTITY_CONFLICT, IDENTITY_UUID_OF_OTHER,   IDENTITY_ANSWER_NOTHING, IDENTITY_POLICY_BY_MAC,  BY_UUID},
	{mac_with_others_uuid,  IDENTITY_CONFLICT, IDENTITY_UUID_OF_OTHER,   IDENTITY_ANSWER_NOTHING, IDENTITY_POLICY_BY_MAC,  UUID_OTHER},
	{mac_at_crowded_port,   IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT,     IDENTITY_ANSWER_NOTHING, IDENTITY_POLICY_BY_MAC,  LAST},
	{mac_in_stranger,       IDENTITY_CONFLICT, IDENTITY_NIC_IN_STRANGER, IDENTITY_ANSWER_NOTHING, IDENTITY_POLICY_BY_MAC,  NOBODY},
	{mac_moved,             IDENTITY_MOVED,    IDENTITY_NEW_PORT,        IDENTITY_ANSWER_NODE,    IDENTITY_POLICY_BY_MAC,  NOBODY},
	{mac_on_new_board,      IDENTITY_KNOWN,    IDENTITY_NEW_BOARD,       IDENTITY_ANSWER_NODE,    IDENTITY_POLICY_BY_MAC,  NOBODY},
	{mac_with_common_uuid,  IDENTITY_KNOWN,    IDENTITY_UUID_NO_EVIDENCE, IDENTITY_ANSWER_NODE,   IDENTITY_POLICY_BY_MAC,  UUID_OTHER},
	{mac_known,             IDENTITY_KNOWN,    IDENTITY_BY_MAC,          IDENTITY_ANSWER_NODE,    IDENTITY_POLICY_BY_MAC,  NOBODY},
	{uuid_of_many,          IDENTITY_CONFLICT, IDENTITY_UUID_SHARED,     IDENTITY_ANSWER_NOTHING, NOBODY,  NOBODY},
	{uuid_on_foreign_port,  IDENTITY_CONFLICT, IDENTITY_PORT_OF_OTHER,   IDENTITY_ANSWER_NOTHING, BY_UUID, IDENTITY_POLICY_BY_PORT},
	{uuid_at_crowded_port,  IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT,     IDENTITY_ANSWER_NOTHING, BY_UUID, LAST},
	{uuid_at_its_port,      IDENTITY_SWAPPED,  IDENTITY_NEW_NIC,         IDENTITY_ANSWER_ADDRESS, BY_UUID, NOBODY},
	{uuid_without_nics,     IDENTITY_KNOWN,    IDENTITY_BY_UUID,         IDENTITY_ANSWER_NODE,    BY_UUID, NOBODY},
	{uuid_alone,            IDENTITY_NEW,      IDENTITY_UNDECLARED_NIC,  IDENTITY_ANSWER_ADDRESS, BY_UUID, NOBODY},
	{port_crowded,          IDENTITY_CONFLICT, IDENTITY_TWO_AT_PORT,     IDENTITY_ANSWER_NOTHING, IDENTITY_POLICY_BY_PORT, LAST},
	{port_without_nics,     IDENTITY_KNOWN,    IDENTITY_BY_PORT,         IDENTITY_ANSWER_NODE,    IDENTITY_POLICY_BY_PORT, NOBODY},
	{port_of_node,          IDENTITY_NEW,      IDENTITY_UNKNOWN_AT_PORT, IDENTITY_ANSWER_ADDRESS, IDENTITY_POLICY_BY_PORT, NOBODY},
	{port_seen_with_node,   IDENTITY_NEW,      IDENTITY_UNKNOWN_AT_PORT, IDENTITY_ANSWER_ADDRESS, LAST,    NOBODY},
	{identity_policy_nobody,                IDENTITY_NEW,      IDENTITY_STRANGER,        IDENTITY_ANSWER_ADDRESS, NOBODY,  NOBODY},
};
/* clang-format on */

struct identity_decision identity_policy(const struct identity_facts *facts)
{
	struct identity_decision decision;
	size_t row = 0;

	while (!identity_policy_rows[row].fits(facts)) /* the last row fits everything */
		row++;
	decision = (struct identity_decision){
		.outcome = identity_policy_rows[row].outcome,
		.reason = identity_policy_rows[row].reason,
		.answer = identity_policy_rows[row].answer,
		.node_id = identity_policy_id_of(facts, identity_policy_rows[row].node),
		.other_id = identity_policy_id_of(facts, identity_policy_rows[row].other),
	};
	/* A port that an operator gave to the node is where it was meant to go. */
	if ((decision.outcome == IDENTITY_MOVED && facts->moved_silent &&
	     facts->port_node != decision.node_id) ||
	    (decision.outcome == IDENTITY_SWAPPED && facts->swapped_silent))
		decision.answer = IDENTITY_ANSWER_NOTHING;
	return decision;
}
