/* Engine ids and keys of SNMPv3 (RFC 3411 section 5, RFC 3414). */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

#include "peregrine/control/driver/snmp/snmp_client_private.h"

/* FNV-1a. */
static size_t slot_of(const char *peer)
{
	uint32_t hash = 2166136261U;

	for (; *peer; peer++)
		hash = (hash ^ (uint8_t)*peer) * 16777619U;
	return hash % ENGINE_CACHE;
}

static struct snmp_engine *slot_get(const struct snmp_client *client, const char *peer)
{
	size_t slot = slot_of(peer);

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

static const struct snmp_key *key_of(struct snmp_client *client, enum snmp_auth auth,
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
	key = key_of(client, endpoint->snmp_auth, endpoint->snmp_auth_secret);
	if (!key)
		return -EINVAL;
	memcpy(ret->securityAuthKey, key->key, key->size);
	ret->securityAuthKeyLen = key->size;
	if (ret->securityLevel != SNMP_SEC_LEVEL_AUTHPRIV)
		return 0;
	key = key_of(client, endpoint->snmp_auth, endpoint->snmp_priv_secret);
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
