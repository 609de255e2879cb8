/* The other side of RMCP+, for tests: a BMC as bytes in, bytes out, written from the specification
 * (IPMI 2.0 rev 1.1, 13.17-13.32) on OpenSSL, so that it shares nothing with the code under test.
 * Suites 0, 3 and 17; a few sessions; power and whatever `command` answers. */
#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BMC_SLOTS = 4, BMC_PACKET = 512 };

struct rmcp_bmc_session {
	bool used, active;
	uint32_t bmc_id, console_id, sequence;
	uint8_t suite, role, privilege;
	uint8_t console_random[16], bmc_random[16];
	uint8_t sik[32], k1[32], k2[32];
	char name[17];
};

struct rmcp_bmc {
	char username[17], password[21];
	uint8_t guid[16];
	uint8_t privilege; /* of the user; 0 = administrator */
	bool power_on;
	unsigned slots; /* 0 = BMC_SLOTS */
	struct rmcp_bmc_session sessions[BMC_SLOTS];
	uint32_t next_id;

	/* faults */
	uint8_t open_status, rakp2_status, rakp4_status; /* answered instead of the truth */
	bool short_refusals;                             /* two bytes, as ipmi_sim's */
	bool new_random_each_time;                       /* a repeated RAKP 1 is a new one to it */

	/* what was seen */
	unsigned opens, aborts, closes, commands, privileges, controls;
	uint8_t last_open_privilege;

	/* Other commands: the answer behind the command byte, completion code first; 0 = c1h. */
	size_t (*command)(struct rmcp_bmc *bmc, uint8_t netfn, const uint8_t *data, size_t size,
			  uint8_t *ret);
	void *context;
};

static inline void bmc_put32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t bmc_get32(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static inline const EVP_MD *bmc_digest(uint8_t suite)
{
	return suite == 17 ? EVP_sha256() : EVP_sha1();
}

/* Bytes of a whole digest, and of those sent behind a packet or in RAKP 4. */
static inline size_t bmc_whole(uint8_t suite)
{
	return suite == 0 ? 0 : suite == 17 ? 32 : 20;
}

static inline size_t bmc_cut(uint8_t suite)
{
	return suite == 0 ? 0 : suite == 17 ? 16 : 12;
}

static inline void bmc_hmac(uint8_t suite, const void *key, size_t key_size, const uint8_t *data,
			    size_t size, uint8_t ret[32])
{
	unsigned length = 32;

	memset(ret, 0, 32);
	if (suite != 0)
		(void)HMAC(bmc_digest(suite), key, (int)key_size, data, size, ret, &length);
}

static inline size_t bmc_crypt(const uint8_t *key, const uint8_t *iv, uint8_t *data, size_t size,
			       bool encrypt)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	uint8_t out[BMC_PACKET];
	int length = 0;

	(void)EVP_CipherInit_ex(context, EVP_aes_128_cbc(), NULL, key, iv, encrypt);
	(void)EVP_CIPHER_CTX_set_padding(context, 0);
	(void)EVP_CipherUpdate(context, out, &length, data, (int)size);
	memcpy(data, out, (size_t)length);
	EVP_CIPHER_CTX_free(context);
	return (size_t)length;
}

static inline struct rmcp_bmc_session *bmc_session(struct rmcp_bmc *bmc, uint32_t id)
{
	for (unsigned i = 0; i < BMC_SLOTS; i++) {
		if (bmc->sessions[i].used && bmc->sessions[i].bmc_id == id)
			return &bmc->sessions[i];
	}
	return NULL;
}

static inline size_t bmc_setup_packet(uint8_t type, const uint8_t *body, size_t size, uint8_t *ret)
{
	static const uint8_t head[] = {6, 0, 0xff, 7, 6};

	memset(ret, 0, 16);
	memcpy(ret, head, sizeof(head));
	ret[5] = type;
	ret[14] = (uint8_t)size;
	memcpy(ret + 16, body, size);
	return 16 + size;
}

static inline size_t bmc_refuse(const struct rmcp_bmc *bmc, uint8_t type, uint8_t tag,
				uint8_t status, uint32_t console_id, uint8_t *ret)
{
	uint8_t body[8] = {tag, status};

	bmc_put32(body + 4, console_id);
	return bmc_setup_packet(type, body, bmc->short_refusals ? 2 : sizeof(body), ret);
}

static inline size_t bmc_open(struct rmcp_bmc *bmc, const uint8_t *body, size_t size, uint8_t *ret)
{
	uint8_t answer[36] = {0};
	uint32_t console_id = bmc_get32(body + 4);
	uint8_t status = bmc->open_status;
	uint8_t algorithm = body[12] & 0x3f;
	uint8_t suite = algorithm == 3 ? 17 : algorithm == 1 ? 3 : 0;
	unsigned slots = bmc->slots ? bmc->slots : BMC_SLOTS;
	unsigned slot = 0;

	if (size != 32)
		return 0;
	bmc->opens++;
	bmc->last_open_privilege = body[1] & 0x0f;
	while (slot < slots && bmc->sessions[slot].used)
		slot++;
	if (slot == slots && status == 0)
		status = 1;
	if (status)
		return bmc_refuse(bmc, 0x11, body[0], status, console_id, ret);
	bmc->sessions[slot] = (struct rmcp_bmc_session){.used = true,
							.console_id = console_id,
							.bmc_id = ++bmc->next_id * 0x01010101,
							.suite = suite};
	answer[0] = body[0];
	answer[2] = body[1];
	bmc_put32(answer + 4, console_id);
	bmc_put32(answer + 8, bmc->sessions[slot].bmc_id);
	memcpy(answer + 12, body + 8, 24);
	return bmc_setup_packet(0x11, answer, sizeof(answer), ret);
}

/* What RAKP 2 and 3 and the session key are made of. */
static inline size_t bmc_role_and_name(const struct rmcp_bmc_session *session, uint8_t *ret)
{
	size_t length = strlen(session->name);

	ret[0] = session->role;
	ret[1] = (uint8_t)length;
	memcpy(ret + 2, session->name, length);
	return 2 + length;
}

static inline size_t bmc_rakp1(struct rmcp_bmc *bmc, const uint8_t *body, size_t size, uint8_t *ret)
{
	struct rmcp_bmc_session *session = bmc_session(bmc, bmc_get32(body + 4));
	uint8_t wanted = body[24] & 0x0f;
	uint8_t status = bmc->rakp2_status;
	uint8_t answer[72] = {0};
	uint8_t text[128];
	uint8_t code[32];
	size_t at;

	if (size < 28 || body[27] > 16 || size < 28U + body[27] || !session)
		return size < 28 ? 0 : bmc_refuse(bmc, 0x13, body[0], 2, 0, ret);
	memcpy(session->console_random, body + 8, 16);
	memset(session->name, 0, sizeof(session->name));
	memcpy(session->name, body + 28, body[27]);
	session->role = body[24];
	if (status == 0 && strcmp(session->name, bmc->username) != 0)
		status = 0x0d;
	if (status == 0 && bmc->privilege && wanted > bmc->privilege)
		status = 0x0a;
	if (status) {
		session->used = false;
		return bmc_refuse(bmc, 0x13, body[0], status, session->console_id, ret);
	}
	for (unsigned i = 0; i < 16; i++) {
		if (bmc->new_random_each_time || !session->active)
			session->bmc_random[i] = (uint8_t)(rand() >> 8); /* NOLINT */
	}
	session->active = !bmc->new_random_each_time; /* the same from now on */
	bmc_put32(text, session->console_id);
	bmc_put32(text + 4, session->bmc_id);
	memcpy(text + 8, session->console_random, 16);
	memcpy(text + 24, session->bmc_random, 16);
	memcpy(text + 40, bmc->guid, 16);
	at = 56 + bmc_role_and_name(session, text + 56);
	bmc_hmac(session->suite, bmc->password, strlen(bmc->password), text, at, code);
	answer[0] = body[0];
	bmc_put32(answer + 4, session->console_id);
	memcpy(answer + 8, session->bmc_random, 16);
	memcpy(answer + 24, bmc->guid, 16);
	memcpy(answer + 40, code, bmc_whole(session->suite));
	return bmc_setup_packet(0x13, answer, 40 + bmc_whole(session->suite), ret);
}

static inline void bmc_keys(const struct rmcp_bmc *bmc, struct rmcp_bmc_session *session)
{
	size_t whole = bmc_whole(session->suite);
	uint8_t text[64];
	size_t at = 32;

	memcpy(text, session->console_random, 16);
	memcpy(text + 16, session->bmc_random, 16);
	at += bmc_role_and_name(session, text + 32);
	bmc_hmac(session->suite, bmc->password, strlen(bmc->password), text, at, session->sik);
	memset(text, 1, 20);
	bmc_hmac(session->suite, session->sik, whole, text, 20, session->k1);
	memset(text, 2, 20);
	bmc_hmac(session->suite, session->sik, whole, text, 20, session->k2);
}

static inline size_t bmc_rakp3(struct rmcp_bmc *bmc, const uint8_t *body, size_t size, uint8_t *ret)
{
	struct rmcp_bmc_session *session = bmc_session(bmc, bmc_get32(body + 4));
	uint8_t answer[40] = {0};
	uint8_t text[64];
	uint8_t code[32];
	size_t at;

	if (size < 8 || !session)
		return size < 8 ? 0 : bmc_refuse(bmc, 0x15, body[0], 2, 0, ret);
	if (body[1] != 0) {
		bmc->aborts++;
		session->used = false;
		return 0;
	}
	memcpy(text, session->bmc_random, 16);
	bmc_put32(text + 16, session->console_id);
	at = 20 + bmc_role_and_name(session, text + 20);
	bmc_hmac(session->suite, bmc->password, strlen(bmc->password), text, at, code);
	if (bmc->rakp4_status || size != 8 + bmc_whole(session->suite) ||
	    memcmp(code, body + 8, bmc_whole(session->suite)) != 0) {
		session->used = false;
		return bmc_refuse(bmc, 0x15, body[0], bmc->rakp4_status ? bmc->rakp4_status : 0x0f,
				  session->console_id, ret);
	}
	bmc_keys(bmc, session);
	session->active = true;
	session->privilege = 2;
	memcpy(text, session->console_random, 16);
	bmc_put32(text + 16, session->bmc_id);
	memcpy(text + 20, bmc->guid, 16);
	bmc_hmac(session->suite, session->sik, bmc_whole(session->suite), text, 36, code);
	answer[0] = body[0];
	bmc_put32(answer + 4, session->console_id);
	memcpy(answer + 8, code, bmc_cut(session->suite));
	return bmc_setup_packet(0x15, answer, 8 + bmc_cut(session->suite), ret);
}

/* Into `ret` the answer behind the command byte; 0 = silence. */
static inline size_t bmc_execute(struct rmcp_bmc *bmc, struct rmcp_bmc_session *session,
				 uint8_t netfn, const uint8_t *data, size_t size, uint8_t *ret)
{
	size_t got = 0;

	bmc->commands++;
	ret[0] = 0;
	if (netfn == 6 && data[0] == 0x3b && size >= 2) {
		bmc->privileges++;
		ret[1] = data[1];
		if (data[1] > (session->role & 0x0f))
			ret[0] = 0x81;
		else
			session->privilege = data[1];
		return ret[0] ? 1 : 2;
	}
	if (netfn == 6 && data[0] == 0x3c) {
		bmc->closes++;
		session->used = false;
		return 1;
	}
	if (bmc->command)
		got = bmc->command(bmc, netfn, data, size, ret);
	if (got)
		return got;
	if (netfn == 0 && data[0] == 1) {
		static const uint8_t status[] = {0, 0, 0, 0};

		memcpy(ret, status, sizeof(status));
		ret[1] = bmc->power_on;
		return 4;
	}
	if (netfn == 0 && data[0] == 2 && size >= 2) {
		if (session->privilege < 3) {
			ret[0] = 0xd4;
			return 1;
		}
		bmc->controls++;
		bmc->power_on = data[1] == 1 || (data[1] == 3 && bmc->power_on);
		return 1;
	}
	if (netfn == 6 && data[0] == 1) {
		static const uint8_t id[] = {0, 0x20, 1, 2, 0x10, 2, 0x9f, 0x91, 0x12, 0, 2, 0x0f};

		memcpy(ret, id, sizeof(id));
		return sizeof(id);
	}
	ret[0] = 0xc1;
	return 1;
}

static inline uint8_t bmc_checksum(const uint8_t *data, size_t size)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + data[i]);
	return (uint8_t)-sum;
}

/* A message of this session as a packet. */
static inline size_t bmc_seal(struct rmcp_bmc_session *session, uint8_t *message, size_t size,
			      uint8_t *ret)
{
	static const uint8_t head[] = {6, 0, 0xff, 7, 6};
	uint8_t code[32];
	size_t at = 16;
	uint8_t pad = 0;

	memcpy(ret, head, sizeof(head));
	ret[5] = session->suite ? 0xc0 : 0;
	bmc_put32(ret + 6, session->console_id);
	bmc_put32(ret + 10, session->suite ? ++session->sequence : 0);
	if (session->suite) {
		while ((size + pad + 1) % 16) {
			message[size + pad] = (uint8_t)(pad + 1);
			pad++;
		}
		message[size + pad] = pad;
		size += pad + 1U;
		for (unsigned i = 0; i < 16; i++)
			ret[at + i] = (uint8_t)(rand() >> 8); /* NOLINT */
		size = bmc_crypt(session->k2, ret + at, message, size, true);
		at += 16;
	}
	memcpy(ret + at, message, size);
	at += size;
	ret[14] = (uint8_t)((at - 16) & 0xff);
	ret[15] = (uint8_t)((at - 16) >> 8);
	if (session->suite == 0)
		return at;
	for (pad = 0; (at - 4 + 2) % 4; pad++)
		ret[at++] = 0xff;
	ret[at++] = pad;
	ret[at++] = 7;
	bmc_hmac(session->suite, session->k1, bmc_whole(session->suite), ret + 4, at - 4, code);
	memcpy(ret + at, code, bmc_cut(session->suite));
	return at + bmc_cut(session->suite);
}

static inline size_t bmc_message(struct rmcp_bmc *bmc, const uint8_t *in, size_t size, uint8_t *ret)
{
	struct rmcp_bmc_session *session = bmc_session(bmc, bmc_get32(in + 6));
	size_t length = (size_t)in[14] | (size_t)in[15] << 8;
	uint8_t request[BMC_PACKET];
	uint8_t answer[BMC_PACKET];
	uint8_t code[32];
	size_t cut = session ? bmc_cut(session->suite) : 0;
	size_t got;

	if (!session || !session->active || 16 + length > size || size > BMC_PACKET)
		return 0;
	memcpy(request, in + 16, length);
	if (session->suite) {
		bmc_hmac(session->suite, session->k1, bmc_whole(session->suite), in + 4,
			 size - 4 - cut, code);
		if (length < 32 || memcmp(code, in + size - cut, cut) != 0)
			return 0;
		length = bmc_crypt(session->k2, in + 16, request + 16, length - 16, false);
		memmove(request, request + 16, length);
		length -= request[length - 1] + 1U;
	}
	if (length < 7)
		return 0;
	answer[0] = request[3]; /* requester's address */
	answer[1] = (uint8_t)((request[1] & 0xfc) + 4);
	answer[2] = bmc_checksum(answer, 2);
	answer[3] = request[0];
	answer[4] = request[4];
	answer[5] = request[5];
	got = bmc_execute(bmc, session, request[1] >> 2, request + 5, length - 6, answer + 6);
	if (got == 0)
		return 0;
	answer[6 + got] = bmc_checksum(answer + 3, 3 + got);
	return bmc_seal(session, answer, 7 + got, ret);
}

/* The answer to a packet; 0 = none. */
static inline size_t rmcp_bmc_answer(struct rmcp_bmc *bmc, const uint8_t *in, size_t size,
				     uint8_t ret[BMC_PACKET])
{
	size_t length;

	if (size < 23 || in[0] != 6 || in[3] != 7 || in[4] != 6)
		return 0;
	length = (size_t)in[14] | (size_t)in[15] << 8;
	if (16 + length > size)
		return 0;
	switch (in[5] & 0x3f) {
	case 0x10: return bmc_open(bmc, in + 16, length, ret);
	case 0x12: return bmc_rakp1(bmc, in + 16, length, ret);
	case 0x14: return bmc_rakp3(bmc, in + 16, length, ret);
	case 0x00: return bmc_message(bmc, in, size, ret);
	default: return 0;
	}
}
