/* Engine ids and keys of SNMPv3 (RFC 3411 section 5, RFC 3414). */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/text.h"

#include "peregrine/switch/snmp/snmp_peer_private.h"

static size_t snmp_engine_slot_of(const char *peer)
{
	return hash_bytes(HASH_START, peer, strlen(peer)) % ENGINE_CACHE;
}

static struct snmp_engine *slot_get(const struct snmp_client *client, const char *peer)
{
	size_t slot = snmp_engine_slot_of(peer);

	/* The table is never full, so a free slot ends the search. */
	while (client->engines[slot].size && strcmp(client->engines[slot].peer, peer) != 0)
		slot = (slot + 1) % ENGINE_CACHE;
	return &client->engines[slot];
}

const struct snmp_engine *snmp_engine_find(const struct snmp_client *client, const char *peer)
{
	const struct snmp_engine *engine = slot_get(client, peer);

	return engine->size ? engine : NULL;
}

void snmp_engine_put(struct snmp_client *client, const char *peer, const uint8_t *id, size_t size)
{
	struct snmp_engine *engine = slot_get(client, peer);

	if (size == 0 || size > ENGINE_ID_LIMIT)
		return;
	if (!engine->size && client->engine_count + 1 >= ENGINE_CACHE / 2) {
		/* More switches than we keep: forgetting costs one probe each. */
		memset(client->engines, 0, ENGINE_CACHE * sizeof(*client->engines));
		client->engine_count = 0;
		engine = slot_get(client, peer);
	}
	client->engine_count += !engine->size;
	text_copy(engine->peer, sizeof(engine->peer), peer);
	memcpy(engine->id, id, size);
	engine->size = size;
}

static const struct {
	const oid *protocol;
	size_t length;
} auth_protocols[] = {
	[SNMP_AUTH_NONE] = {usmNoAuthProtocol, TRANSFORM_LENGTH},
	[SNMP_AUTH_SHA] = {usmHMACSHA1AuthProtocol, TRANSFORM_LENGTH},
	[SNMP_AUTH_SHA256] = {usmHMAC192SHA256AuthProtocol, TRANSFORM_LENGTH},
};

static const struct snmp_key *snmp_engine_key_of(struct snmp_client *client, enum snmp_auth auth,
						 const char *secret)
{
	struct snmp_key *key;

	for (size_t i = 0; i < KEY_CACHE; i++) {
		key = &client->keys[i];
		if (key->size && key->auth == auth && strcmp(key->secret, secret) == 0)
			return key;
	}
	key = &client->keys[client->key_next++ % KEY_CACHE];
	sodium_memzero(key, sizeof(*key));
	key->auth = auth;
	text_copy(key->secret, sizeof(key->secret), secret);
	key->size = sizeof(key->key);
	/* Fails for what is shorter than eight characters. */
	if (generate_Ku(auth_protocols[auth].protocol, (u_int)auth_protocols[auth].length,
			(const u_char *)secret, strlen(secret), key->key, &key->size)) {
		sodium_memzero(key, sizeof(*key));
		return NULL;
	}
	return key;
}

static oid *protocol_copy(const oid *protocol, size_t length)
{
	return snmp_duplicate_objid(protocol, length);
}

int snmp_engine_credentials(struct snmp_client *client, const struct switch_endpoint *endpoint,
			    netsnmp_session *ret)
{
	const struct snmp_key *key;

	ret->securityModel = SNMP_SEC_MODEL_USM;
	ret->securityLevel = endpoint->snmp_auth == SNMP_AUTH_NONE   ? SNMP_SEC_LEVEL_NOAUTH
			     : endpoint->snmp_priv == SNMP_PRIV_NONE ? SNMP_SEC_LEVEL_AUTHNOPRIV
								     : SNMP_SEC_LEVEL_AUTHPRIV;
	ret->securityAuthProto = protocol_copy(auth_protocols[endpoint->snmp_auth].protocol,
					       auth_protocols[endpoint->snmp_auth].length);
	ret->securityAuthProtoLen = auth_protocols[endpoint->snmp_auth].length;
	ret->securityPrivProto = ret->securityLevel == SNMP_SEC_LEVEL_AUTHPRIV
					 ? protocol_copy(usmAESPrivProtocol, TRANSFORM_LENGTH)
					 : protocol_copy(usmNoPrivProtocol, TRANSFORM_LENGTH);
	ret->securityPrivProtoLen = TRANSFORM_LENGTH;
	if (!ret->securityAuthProto || !ret->securityPrivProto)
		return -ENOMEM;
	if (ret->securityLevel == SNMP_SEC_LEVEL_NOAUTH)
		return 0;
	key = snmp_engine_key_of(client, endpoint->snmp_auth, endpoint->snmp_auth_secret);
	if (!key)
		return -EINVAL;
	memcpy(ret->securityAuthKey, key->key, key->size);
	ret->securityAuthKeyLen = key->size;
	if (ret->securityLevel != SNMP_SEC_LEVEL_AUTHPRIV)
		return 0;
	key = snmp_engine_key_of(client, endpoint->snmp_auth, endpoint->snmp_priv_secret);
	if (!key)
		return -EINVAL;
	memcpy(ret->securityPrivKey, key->key, key->size);
	ret->securityPrivKeyLen = key->size;
	return 0;
}

/* The user without a name that a probe is sent as. */
static bool nobody_exists(void)
{
	struct usmUser *user = usm_get_user(NULL, 0, "");

	if (user)
		return true;
	user = calloc(1, sizeof(*user));
	if (!user)
		return false;
	user->name = strdup("");
	user->secName = strdup("");
	user->authProtocol = protocol_copy(usmNoAuthProtocol, TRANSFORM_LENGTH);
	user->authProtocolLen = TRANSFORM_LENGTH;
	user->privProtocol = protocol_copy(usmNoPrivProtocol, TRANSFORM_LENGTH);
	user->privProtocolLen = TRANSFORM_LENGTH;
	if (!user->name || !user->secName || !user->authProtocol || !user->privProtocol) {
		usm_free_user(user);
		return false;
	}
	usm_add_user(user);
	return true;
}

netsnmp_pdu *snmp_engine_probe(void)
{
	netsnmp_pdu *pdu = nobody_exists() ? snmp_pdu_create(SNMP_MSG_GET) : NULL;

	if (!pdu)
		return NULL;
	pdu->version = SNMP_VERSION_3;
	pdu->securityName = strdup("");
	pdu->securityLevel = SNMP_SEC_LEVEL_NOAUTH;
	pdu->securityModel = SNMP_SEC_MODEL_USM;
	if (!pdu->securityName) {
		snmp_free_pdu(pdu);
		return NULL;
	}
	return pdu;
}

/* --- engine ids that several switches have --- */

static struct snmp_peer **holder_of(const struct snmp_peer *peer)
{
	uint64_t hash = hash_bytes(HASH_START, peer->engine_id, peer->engine_size);
	struct snmp_peer **at = &peer->client->holders[hash % ENGINE_CACHE];

	while (*at && ((*at)->engine_size != peer->engine_size ||
		       memcmp((*at)->engine_id, peer->engine_id, peer->engine_size) != 0))
		at = &(*at)->next_holder;
	return at;
}

/* Takes the user out of Net-SNMP's list; NULL when it is not there. */
static struct usmUser *user_take(const struct snmp_peer *peer)
{
	struct usmUser *user =
		usm_get_user(peer->engine_id, peer->engine_size, peer->endpoint.snmp_user);

	if (!user)
		return NULL;
	(void)usm_remove_user(user); /* returns the rest of the list, which may be nobody */
	user->next = NULL;
	user->prev = NULL;
	return user;
}

static void snmp_engine_let_go(struct snmp_peer *peer)
{
	struct snmp_peer **at = holder_of(peer);

	if (*at == peer)
		*at = peer->next_holder;
	peer->next_holder = NULL;
	peer->holds = false;
	if (get_enginetime(peer->engine_id, (u_int)peer->engine_size, &peer->boots, &peer->time_s,
			   TRUE))
		peer->boots = peer->time_s = 0;
	peer->time_ms = clock_monotonic_ms();
}

void snmp_engine_take(struct snmp_peer *peer)
{
	struct snmp_peer *other;
	struct snmp_peer **at;
	int64_t passed_s;

	if (peer->holds || !peer->engine_size)
		return;
	other = *holder_of(peer);
	if (other) {
		other->user = user_take(other);
		snmp_engine_let_go(other);
	}
	at = holder_of(peer);
	*at = peer;
	peer->holds = true;
	if (peer->user)
		usm_add_user(peer->user);
	peer->user = NULL;
	/* Nothing known: the look for the engine told Net-SNMP what the agent's clock says. */
	if (!peer->boots && !other)
		return;
	/* 0 and 0: the agent's next authentic message is believed (RFC 3414 3.2 7b). */
	passed_s = peer->boots ? (clock_monotonic_ms() - peer->time_ms) / 1000 : 0;
	(void)set_enginetime(peer->engine_id, (u_int)peer->engine_size, peer->boots,
			     peer->boots ? peer->time_s + (u_int)passed_s : 0, TRUE);
}

/* Two ways to one switch are no twins. */
const char *snmp_peer_twin(const struct snmp_peer *peer)
{
	for (const struct snmp_peer *other = peer->client->peers; other; other = other->next_peer) {
		if (peer->engine_size && other != peer && other->engine_size == peer->engine_size &&
		    memcmp(other->engine_id, peer->engine_id, peer->engine_size) == 0 &&
		    strcmp(other->where, peer->where) != 0)
			return other->endpoint.name;
	}
	return "";
}

void snmp_engine_enter(struct snmp_peer *peer, const struct snmp_engine *engine, bool anew)
{
	bool same = peer->engine_size == engine->size &&
		    memcmp(peer->engine_id, engine->id, engine->size) == 0;

	memcpy(peer->engine_id, engine->id, engine->size);
	peer->engine_size = engine->size;
	/* An agent that lost its count of boots would be taken for a replay for ever. */
	if (!same || anew)
		peer->boots = peer->time_s = 0;
	snmp_engine_take(peer);
	if (anew)
		(void)set_enginetime(peer->engine_id, (u_int)peer->engine_size, 0, 0, TRUE);
	usm_free_user(user_take(peer));
}

void snmp_engine_leave(struct snmp_peer *peer)
{
	if (peer->holds) {
		usm_free_user(user_take(peer));
		snmp_engine_let_go(peer);
	}
	usm_free_user(peer->user);
	peer->user = NULL;
}
