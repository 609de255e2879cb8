#include "bampi/bmc/rmcp_wire.h"

#include <errno.h>
#include <freeipmi/freeipmi.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/net/wire.h"

/* The default of FreeIPMI's tools, too: user names are looked up without regard to the privilege.
 */
enum { LOOKUP = IPMI_NAME_ONLY_LOOKUP };

struct rmcp_wire {
	fiid_obj_t rmcp_header, session_header, session_trailer, payload;
	fiid_obj_t request_header, answer_header, message_trailer, data;
	fiid_obj_t open_request, rakp1, rakp3, open_answer, rakp2, rakp4;
};

/* --- objects --- */

void rmcp_wire_free(struct rmcp_wire *wire)
{
	if (!wire)
		return;
	fiid_obj_destroy(wire->rmcp_header);
	fiid_obj_destroy(wire->session_header);
	fiid_obj_destroy(wire->session_trailer);
	fiid_obj_destroy(wire->payload);
	fiid_obj_destroy(wire->request_header);
	fiid_obj_destroy(wire->answer_header);
	fiid_obj_destroy(wire->message_trailer);
	fiid_obj_destroy(wire->data);
	fiid_obj_destroy(wire->open_request);
	fiid_obj_destroy(wire->rakp1);
	fiid_obj_destroy(wire->rakp3);
	fiid_obj_destroy(wire->open_answer);
	fiid_obj_destroy(wire->rakp2);
	fiid_obj_destroy(wire->rakp4);
	free(wire);
}

int rmcp_wire_new(struct rmcp_wire **ret)
{
	/* Any command: FreeIPMI's own template of this shape is not exported. */
	fiid_template_t any = {
		{RMCP_DATA_MAX * 8, "raw_data", FIID_FIELD_OPTIONAL | FIID_FIELD_LENGTH_VARIABLE},
		{0, "", 0},
	};
	struct rmcp_wire *wire = calloc(1, sizeof(*wire));

	if (!wire)
		return -ENOMEM;
	wire->rmcp_header = fiid_obj_create(tmpl_rmcp_hdr);
	wire->session_header = fiid_obj_create(tmpl_rmcpplus_session_hdr);
	wire->session_trailer = fiid_obj_create(tmpl_rmcpplus_session_trlr);
	wire->payload = fiid_obj_create(tmpl_rmcpplus_payload);
	wire->request_header = fiid_obj_create(tmpl_lan_msg_hdr_rq);
	wire->answer_header = fiid_obj_create(tmpl_lan_msg_hdr_rs);
	wire->message_trailer = fiid_obj_create(tmpl_lan_msg_trlr);
	wire->data = fiid_obj_create(any);
	wire->open_request = fiid_obj_create(tmpl_rmcpplus_open_session_request);
	wire->rakp1 = fiid_obj_create(tmpl_rmcpplus_rakp_message_1);
	wire->rakp3 = fiid_obj_create(tmpl_rmcpplus_rakp_message_3);
	wire->open_answer = fiid_obj_create(tmpl_rmcpplus_open_session_response);
	wire->rakp2 = fiid_obj_create(tmpl_rmcpplus_rakp_message_2);
	wire->rakp4 = fiid_obj_create(tmpl_rmcpplus_rakp_message_4);
	if (!wire->rmcp_header || !wire->session_header || !wire->session_trailer ||
	    !wire->payload || !wire->request_header || !wire->answer_header ||
	    !wire->message_trailer || !wire->data || !wire->open_request || !wire->rakp1 ||
	    !wire->rakp3 || !wire->open_answer || !wire->rakp2 || !wire->rakp4) {
		rmcp_wire_free(wire);
		return -ENOMEM;
	}
	*ret = wire;
	return 0;
}

/* A number of a decoded object; 0 where the packet was too short to have it. */
static uint64_t rmcp_wire_field(fiid_obj_t object, const char *name)
{
	uint64_t value = 0;

	return fiid_obj_get(object, name, &value) < 0 ? 0 : value;
}

static int field_bytes(fiid_obj_t object, const char *name, void *ret, unsigned room)
{
	return fiid_obj_get_data(object, name, ret, room);
}

int rmcp_suite_find(unsigned id, struct rmcp_suite *ret)
{
	struct rmcp_suite suite;

	if (id > IPMI_CIPHER_SUITE_ID_MAX ||
	    ipmi_cipher_suite_id_to_algorithms((uint8_t)id, &suite.authentication, &suite.integrity,
					       &suite.confidentiality) < 0 ||
	    !IPMI_CONFIDENTIALITY_ALGORITHM_SUPPORTED(suite.confidentiality))
		return E_UNSUPPORTED;
	*ret = suite;
	return 0;
}

/* --- any packet --- */

enum { RMCP_VERSION = 6, RMCP_CLASS_IPMI = 7, RMCP_AUTHENTICATION_RMCPPLUS = 6 };
enum { PAYLOAD_TYPE_AT = 5 }; /* its offset; bit 7 encrypted, bit 6 authenticated */

static int rmcp_wire_kind_of(uint8_t payload_type, enum rmcp_kind *ret)
{
	static const struct {
		uint8_t type;
		enum rmcp_kind kind;
	} rows[] = {
		{IPMI_PAYLOAD_TYPE_IPMI, RMCP_MESSAGE},
		{IPMI_PAYLOAD_TYPE_RMCPPLUS_OPEN_SESSION_RESPONSE, RMCP_OPEN},
		{IPMI_PAYLOAD_TYPE_RAKP_MESSAGE_2, RMCP_RAKP2},
		{IPMI_PAYLOAD_TYPE_RAKP_MESSAGE_4, RMCP_RAKP4},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].type == payload_type) {
			*ret = rows[i].kind;
			return 0;
		}
	}
	return E_PROTOCOL;
}

static uint32_t rmcp_wire_little32(struct wire_reader *reader)
{
	uint32_t low = wire_u8(reader);

	low |= (uint32_t)wire_u8(reader) << 8;
	low |= (uint32_t)wire_u8(reader) << 16;
	return low | (uint32_t)wire_u8(reader) << 24;
}

int rmcp_peek(const void *data, size_t size, enum rmcp_kind *ret_kind, uint32_t *ret_console_id)
{
	struct wire_reader packet = wire_reader(data, size);
	uint8_t version = wire_u8(&packet);
	uint8_t class;
	uint8_t authentication;
	uint8_t payload_type;
	uint32_t session_id;
	enum rmcp_kind kind;

	(void)wire_u16(&packet); /* reserved, RMCP sequence number */
	class = wire_u8(&packet);
	authentication = wire_u8(&packet) & 0x0f;
	payload_type = wire_u8(&packet) & 0x3f;
	session_id = rmcp_wire_little32(&packet);
	(void)wire_u32(&packet); /* session sequence number */
	(void)wire_u16(&packet); /* payload length */
	if (packet.bad || size > RMCP_PACKET_MAX || version != RMCP_VERSION ||
	    class != RMCP_CLASS_IPMI || authentication != RMCP_AUTHENTICATION_RMCPPLUS ||
	    rmcp_wire_kind_of(payload_type, &kind))
		return E_PROTOCOL;
	if (kind != RMCP_MESSAGE) {
		(void)wire_u32(&packet); /* tag, status, privilege or reserved */
		session_id = rmcp_wire_little32(&packet);
		if (packet.bad)
			session_id = 0; /* refusals of some BMCs end before it */
	}
	*ret_kind = kind;
	*ret_console_id = session_id;
	return 0;
}

/* --- set-up, out --- */

/* The intel20 workaround: those BMCs want the name padded, but not in RAKP 3 and 4. */
static unsigned name_size(const struct rmcp_login *login, bool padded)
{
	if (padded && login->workarounds & BMC_WORKAROUND_INTEL20)
		return RMCP_USER_MAX;
	return (unsigned)strnlen(login->username, RMCP_USER_MAX);
}

static const char *rmcp_wire_name_of(const struct rmcp_login *login, unsigned size)
{
	return size ? login->username : NULL;
}

static unsigned password_size(const struct rmcp_login *login)
{
	unsigned size = (unsigned)strnlen(login->password, sizeof(login->password) - 1);

	if (login->workarounds & BMC_WORKAROUND_INTEL20 && size > IPMI_1_5_MAX_PASSWORD_LENGTH &&
	    login->suite.authentication == IPMI_AUTHENTICATION_ALGORITHM_RAKP_HMAC_MD5)
		return IPMI_1_5_MAX_PASSWORD_LENGTH;
	return size;
}

static const char *password_of(const struct rmcp_login *login)
{
	return password_size(login) ? login->password : NULL;
}

static int setup_encode(struct rmcp_wire *wire, uint8_t payload_type, fiid_obj_t body,
			uint8_t ret[RMCP_PACKET_MAX])
{
	int size;

	if (fill_rmcp_hdr_ipmi(wire->rmcp_header) < 0 ||
	    fill_rmcpplus_session_hdr(payload_type, IPMI_PAYLOAD_FLAG_UNAUTHENTICATED,
				      IPMI_PAYLOAD_FLAG_UNENCRYPTED, 0, 0, 0, 0,
				      wire->session_header) < 0 ||
	    fill_lan_msg_hdr(IPMI_SLAVE_ADDRESS_BMC, IPMI_NET_FN_APP_RQ, IPMI_BMC_IPMB_LUN_BMC, 0,
			     wire->request_header) < 0 ||
	    fill_rmcpplus_session_trlr(wire->session_trailer) < 0)
		return E_PROTOCOL;
	size = assemble_ipmi_rmcpplus_pkt(
		IPMI_AUTHENTICATION_ALGORITHM_RAKP_NONE, IPMI_INTEGRITY_ALGORITHM_NONE,
		IPMI_CONFIDENTIALITY_ALGORITHM_NONE, NULL, 0, NULL, 0, NULL, 0, wire->rmcp_header,
		wire->session_header, wire->request_header, body, wire->session_trailer, ret,
		RMCP_PACKET_MAX, IPMI_INTERFACE_FLAGS_DEFAULT);
	return size > 0 ? size : E_PROTOCOL;
}

int rmcp_open_encode(struct rmcp_wire *wire, const struct rmcp_login *login, uint8_t tag,
		     uint32_t console_id, uint8_t ret[RMCP_PACKET_MAX])
{
	if (fill_rmcpplus_open_session(tag, login->privilege, console_id,
				       login->suite.authentication, login->suite.integrity,
				       login->suite.confidentiality, wire->open_request) < 0)
		return E_PROTOCOL;
	return setup_encode(wire, IPMI_PAYLOAD_TYPE_RMCPPLUS_OPEN_SESSION_REQUEST,
			    wire->open_request, ret);
}

int rmcp_rakp1_encode(struct rmcp_wire *wire, const struct rmcp_login *login, uint8_t tag,
		      const struct rmcp_exchange *exchange, uint8_t ret[RMCP_PACKET_MAX])
{
	unsigned size = name_size(login, true);

	if (fill_rmcpplus_rakp_message_1(tag, exchange->bmc_id, exchange->console_random,
					 RMCP_RANDOM_SIZE, login->privilege, LOOKUP,
					 rmcp_wire_name_of(login, size), size, wire->rakp1) < 0)
		return E_PROTOCOL;
	return setup_encode(wire, IPMI_PAYLOAD_TYPE_RAKP_MESSAGE_1, wire->rakp1, ret);
}

int rmcp_rakp3_encode(struct rmcp_wire *wire, const struct rmcp_login *login, uint8_t tag,
		      uint8_t status, const struct rmcp_exchange *exchange,
		      uint8_t ret[RMCP_PACKET_MAX])
{
	uint8_t lookup = login->workarounds & BMC_WORKAROUND_INTEL20
				 ? IPMI_USER_NAME_PRIVILEGE_LOOKUP
				 : LOOKUP;
	unsigned size = name_size(login, false);
	uint8_t proof[64];
	int proof_size = 0;

	if (status == RMCPPLUS_STATUS_NO_ERRORS)
		proof_size = ipmi_calculate_rakp_3_key_exchange_authentication_code(
			login->suite.authentication, password_of(login), password_size(login),
			exchange->bmc_random, RMCP_RANDOM_SIZE, exchange->console_id, lookup,
			login->privilege, rmcp_wire_name_of(login, size), size, proof,
			sizeof(proof));
	if (proof_size < 0 || fill_rmcpplus_rakp_message_3(tag, status, exchange->bmc_id, proof,
							   (unsigned)proof_size, wire->rakp3) < 0)
		return E_PROTOCOL;
	return setup_encode(wire, IPMI_PAYLOAD_TYPE_RAKP_MESSAGE_3, wire->rakp3, ret);
}

/* --- set-up, in --- */

static int setup_decode(struct rmcp_wire *wire, enum rmcp_kind wanted, fiid_obj_t body,
			const void *data, size_t size)
{
	enum rmcp_kind kind;
	uint32_t console_id;

	if (rmcp_peek(data, size, &kind, &console_id) || kind != wanted)
		return E_PROTOCOL;
	if (unassemble_ipmi_rmcpplus_pkt(
		    IPMI_AUTHENTICATION_ALGORITHM_RAKP_NONE, IPMI_INTEGRITY_ALGORITHM_NONE,
		    IPMI_CONFIDENTIALITY_ALGORITHM_NONE, NULL, 0, NULL, 0, data, (unsigned)size,
		    wire->rmcp_header, wire->session_header, wire->payload, wire->answer_header,
		    body, wire->message_trailer, wire->session_trailer,
		    IPMI_INTERFACE_FLAGS_DEFAULT) != 1)
		return E_PROTOCOL;
	return 0;
}

int rmcp_open_decode(struct rmcp_wire *wire, const void *data, size_t size,
		     struct rmcp_open_answer *ret)
{
	fiid_obj_t body = wire->open_answer;
	struct rmcp_open_answer answer;

	if (setup_decode(wire, RMCP_OPEN, body, data, size))
		return E_PROTOCOL;
	answer = (struct rmcp_open_answer){
		.tag = (uint8_t)rmcp_wire_field(body, "message_tag"),
		.status = (uint8_t)rmcp_wire_field(body, "rmcpplus_status_code"),
		.privilege = (uint8_t)rmcp_wire_field(body, "maximum_privilege_level"),
		.console_id = (uint32_t)rmcp_wire_field(body, "remote_console_session_id"),
		.bmc_id = (uint32_t)rmcp_wire_field(body, "managed_system_session_id"),
		.suite = {
			(uint8_t)rmcp_wire_field(body,
						 "authentication_payload.authentication_algorithm"),
			(uint8_t)rmcp_wire_field(body, "integrity_payload.integrity_algorithm"),
			(uint8_t)rmcp_wire_field(
				body, "confidentiality_payload.confidentiality_algorithm"),
		}};
	if (answer.status == RMCPPLUS_STATUS_NO_ERRORS &&
	    (fiid_obj_packet_valid(body) != 1 || answer.bmc_id == 0))
		return E_PROTOCOL;
	*ret = answer;
	return 0;
}

static unsigned digest_size(uint8_t authentication)
{
	switch (authentication) {
	case IPMI_AUTHENTICATION_ALGORITHM_RAKP_HMAC_SHA1: return IPMI_HMAC_SHA1_DIGEST_LENGTH;
	case IPMI_AUTHENTICATION_ALGORITHM_RAKP_HMAC_MD5: return IPMI_HMAC_MD5_DIGEST_LENGTH;
	case IPMI_AUTHENTICATION_ALGORITHM_RAKP_HMAC_SHA256: return IPMI_HMAC_SHA256_DIGEST_LENGTH;
	default: return 0;
	}
}

/* The supermicro20 and sun20 workarounds: their authentication codes come with a byte too many. */
static int trim_code(const struct rmcp_login *login, fiid_obj_t body)
{
	static const char name[] = "key_exchange_authentication_code";
	uint8_t code[64];
	unsigned wanted = digest_size(login->suite.authentication);
	int size;

	if (!(login->workarounds & (BMC_WORKAROUND_SUPERMICRO20 | BMC_WORKAROUND_SUN20)))
		return 0;
	size = field_bytes(body, name, code, sizeof(code));
	if (size < 0)
		return E_PROTOCOL;
	if ((unsigned)size != wanted + 1)
		return 0;
	if (fiid_obj_clear_field(body, name) < 0 ||
	    (wanted && fiid_obj_set_data(body, name, code, wanted) < 0))
		return E_PROTOCOL;
	return 0;
}

/* What RAKP 2 and 4 begin with. */
static int rmcp_wire_rakp(struct rmcp_wire *wire, enum rmcp_kind wanted, fiid_obj_t body,
			  const void *data, size_t size, struct rmcp_rakp_answer *ret)
{
	if (setup_decode(wire, wanted, body, data, size))
		return E_PROTOCOL;
	*ret = (struct rmcp_rakp_answer){
		.tag = (uint8_t)rmcp_wire_field(body, "message_tag"),
		.status = (uint8_t)rmcp_wire_field(body, "rmcpplus_status_code"),
		.console_id = (uint32_t)rmcp_wire_field(body, "remote_console_session_id"),
	};
	return 0;
}

int rmcp_rakp2_decode(struct rmcp_wire *wire, const struct rmcp_login *login,
		      const struct rmcp_exchange *exchange, const void *data, size_t size,
		      struct rmcp_rakp_answer *ret)
{
	fiid_obj_t body = wire->rakp2;
	unsigned name = name_size(login, true);
	struct rmcp_rakp_answer answer;

	if (rmcp_wire_rakp(wire, RMCP_RAKP2, body, data, size, &answer))
		return E_PROTOCOL;
	if (answer.status == RMCPPLUS_STATUS_NO_ERRORS) {
		if (field_bytes(body, "managed_system_random_number", answer.bmc_random,
				sizeof(answer.bmc_random)) != RMCP_RANDOM_SIZE ||
		    field_bytes(body, "managed_system_guid", answer.guid, sizeof(answer.guid)) !=
			    RMCP_GUID_SIZE ||
		    trim_code(login, body))
			return E_PROTOCOL;
		answer.genuine =
			ipmi_rmcpplus_check_rakp_2_key_exchange_authentication_code(
				login->suite.authentication, password_of(login),
				password_size(login), exchange->console_id, exchange->bmc_id,
				exchange->console_random, RMCP_RANDOM_SIZE, answer.bmc_random,
				RMCP_RANDOM_SIZE, answer.guid, RMCP_GUID_SIZE, LOOKUP,
				login->privilege, rmcp_wire_name_of(login, name), name, body) == 1;
	}
	*ret = answer;
	return 0;
}

/* The intel20 workaround: those BMCs compute RAKP 4 by the integrity algorithm. */
static uint8_t rakp4_algorithm(const struct rmcp_login *login)
{
	if (!(login->workarounds & BMC_WORKAROUND_INTEL20))
		return login->suite.authentication;
	switch (login->suite.integrity) {
	case IPMI_INTEGRITY_ALGORITHM_NONE: return IPMI_AUTHENTICATION_ALGORITHM_RAKP_NONE;
	case IPMI_INTEGRITY_ALGORITHM_HMAC_SHA1_96:
		return IPMI_AUTHENTICATION_ALGORITHM_RAKP_HMAC_SHA1;
	case IPMI_INTEGRITY_ALGORITHM_HMAC_MD5_128:
		return IPMI_AUTHENTICATION_ALGORITHM_RAKP_HMAC_MD5;
	default: return login->suite.authentication;
	}
}

int rmcp_rakp4_decode(struct rmcp_wire *wire, const struct rmcp_login *login,
		      const struct rmcp_exchange *exchange, const void *data, size_t size,
		      struct rmcp_rakp_answer *ret)
{
	fiid_obj_t body = wire->rakp4;
	struct rmcp_rakp_answer answer;

	if (rmcp_wire_rakp(wire, RMCP_RAKP4, body, data, size, &answer))
		return E_PROTOCOL;
	if (answer.status == RMCPPLUS_STATUS_NO_ERRORS) {
		/* The integritycheckvalue workaround: it should be empty with suite 0. */
		if (login->workarounds & BMC_WORKAROUND_INTEGRITYCHECKVALUE &&
		    login->suite_id == 0 && fiid_obj_clear_field(body, "integrity_check_value") < 0)
			return E_PROTOCOL;
		answer.genuine =
			ipmi_rmcpplus_check_rakp_4_integrity_check_value(
				rakp4_algorithm(login), exchange->keys.sik, exchange->keys.sik_size,
				exchange->console_random, RMCP_RANDOM_SIZE, exchange->bmc_id,
				exchange->guid, RMCP_GUID_SIZE, body) == 1;
	}
	*ret = answer;
	return 0;
}

int rmcp_keys_make(const struct rmcp_login *login, struct rmcp_exchange *exchange)
{
	struct rmcp_keys keys = {.sik_size = RMCP_KEY_MAX,
				 .integrity_size = RMCP_KEY_MAX,
				 .confidentiality_size = RMCP_KEY_MAX};
	void *sik = keys.sik;
	void *integrity = keys.integrity;
	void *confidentiality = keys.confidentiality;
	unsigned name = name_size(login, true);
	int rc = 0;

	if (ipmi_calculate_rmcpplus_session_keys(
		    login->suite.authentication, login->suite.integrity,
		    login->suite.confidentiality, password_of(login), password_size(login), NULL, 0,
		    exchange->console_random, RMCP_RANDOM_SIZE, exchange->bmc_random,
		    RMCP_RANDOM_SIZE, LOOKUP, login->privilege, rmcp_wire_name_of(login, name),
		    name, &sik, &keys.sik_size, &integrity, &keys.integrity_size, &confidentiality,
		    &keys.confidentiality_size) < 0 ||
	    keys.sik_size > RMCP_KEY_MAX || keys.integrity_size > RMCP_KEY_MAX ||
	    keys.confidentiality_size > RMCP_KEY_MAX)
		rc = E_PROTOCOL;
	else
		exchange->keys = keys;
	sodium_memzero(&keys, sizeof(keys));
	return rc;
}

/* --- messages --- */

static uint8_t authenticated_flag(const struct rmcp_login *login)
{
	return login->suite.integrity == IPMI_INTEGRITY_ALGORITHM_NONE
		       ? IPMI_PAYLOAD_FLAG_UNAUTHENTICATED
		       : IPMI_PAYLOAD_FLAG_AUTHENTICATED;
}

static uint8_t encrypted_flag(const struct rmcp_login *login)
{
	return login->suite.confidentiality == IPMI_CONFIDENTIALITY_ALGORITHM_NONE
		       ? IPMI_PAYLOAD_FLAG_UNENCRYPTED
		       : IPMI_PAYLOAD_FLAG_ENCRYPTED;
}

int rmcp_message_encode(struct rmcp_wire *wire, const struct rmcp_login *login,
			const struct rmcp_exchange *exchange, const struct rmcp_message *message,
			uint8_t ret[RMCP_PACKET_MAX])
{
	const struct rmcp_keys *keys = &exchange->keys;
	int size;

	if (message->size == 0 || message->size > RMCP_DATA_MAX)
		return -EINVAL;
	if (fiid_obj_clear(wire->data) < 0 ||
	    fiid_obj_set_data(wire->data, "raw_data", message->data, message->size) < 0 ||
	    fill_rmcp_hdr_ipmi(wire->rmcp_header) < 0 ||
	    fill_rmcpplus_session_hdr(IPMI_PAYLOAD_TYPE_IPMI, authenticated_flag(login),
				      encrypted_flag(login), 0, 0, exchange->bmc_id,
				      message->sequence, wire->session_header) < 0 ||
	    fill_lan_msg_hdr(IPMI_SLAVE_ADDRESS_BMC, message->netfn, message->lun, message->request,
			     wire->request_header) < 0 ||
	    fill_rmcpplus_session_trlr(wire->session_trailer) < 0)
		return E_PROTOCOL;
	size = assemble_ipmi_rmcpplus_pkt(
		login->suite.authentication, login->suite.integrity, login->suite.confidentiality,
		keys->integrity, keys->integrity_size, keys->confidentiality,
		keys->confidentiality_size, password_of(login), password_size(login),
		wire->rmcp_header, wire->session_header, wire->request_header, wire->data,
		wire->session_trailer, ret, RMCP_PACKET_MAX, IPMI_INTERFACE_FLAGS_DEFAULT);
	return size > 0 ? size : E_PROTOCOL;
}

/* What is sealed in this session must come sealed: FreeIPMI takes a packet apart by what its flags
 * say, and asserts on an encrypted session's packet that says it is not. */
static bool is_protected(const struct rmcp_login *login, const void *data)
{
	const uint8_t *bytes = data;

	return bytes[PAYLOAD_TYPE_AT] >> 7 == encrypted_flag(login) &&
	       (bytes[PAYLOAD_TYPE_AT] >> 6 & 1) == authenticated_flag(login);
}

static int message_open(struct rmcp_wire *wire, const struct rmcp_login *login,
			const struct rmcp_keys *keys, const void *data, size_t size)
{
	if (unassemble_ipmi_rmcpplus_pkt(
		    login->suite.authentication, login->suite.integrity,
		    login->suite.confidentiality, keys->integrity, keys->integrity_size,
		    keys->confidentiality, keys->confidentiality_size, data, (unsigned)size,
		    wire->rmcp_header, wire->session_header, wire->payload, wire->answer_header,
		    wire->data, wire->message_trailer, wire->session_trailer,
		    IPMI_INTERFACE_FLAGS_NO_LEGAL_CHECK) != 1)
		return E_PROTOCOL;
	if (login->suite.integrity != IPMI_INTEGRITY_ALGORITHM_NONE &&
	    ipmi_rmcpplus_check_packet_session_authentication_code(
		    login->suite.integrity, data, (unsigned)size, keys->integrity,
		    keys->integrity_size, password_of(login), password_size(login),
		    wire->session_trailer) != 1)
		return E_DENIED;
	if (!(login->workarounds & BMC_WORKAROUND_NOCHECKSUMCHECK) &&
	    ipmi_lan_check_checksum(wire->answer_header, wire->data, wire->message_trailer) != 1)
		return E_PROTOCOL;
	return 0;
}

int rmcp_message_decode(struct rmcp_wire *wire, const struct rmcp_login *login,
			const struct rmcp_exchange *exchange, const void *data, size_t size,
			struct rmcp_message *ret)
{
	struct rmcp_message message = {0};
	enum rmcp_kind kind;
	uint32_t session_id;
	int got;
	int rc;

	if (rmcp_peek(data, size, &kind, &session_id) || kind != RMCP_MESSAGE ||
	    session_id != exchange->console_id || session_id == 0 || !is_protected(login, data))
		return E_PROTOCOL;
	rc = message_open(wire, login, &exchange->keys, data, size);
	if (rc)
		return rc;
	got = field_bytes(wire->data, "raw_data", message.data, sizeof(message.data));
	if (got < 2) /* command and completion code */
		return E_PROTOCOL;
	message.size = (uint16_t)got;
	message.sequence =
		(uint32_t)rmcp_wire_field(wire->session_header, "session_sequence_number");
	message.request = (uint8_t)rmcp_wire_field(wire->answer_header, "rq_seq");
	message.netfn = (uint8_t)rmcp_wire_field(wire->answer_header, "net_fn");
	message.lun = (uint8_t)rmcp_wire_field(wire->answer_header, "rs_lun");
	*ret = message;
	return 0;
}
