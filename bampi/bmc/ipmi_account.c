/* Users and LAN parameters of a BMC: a row of short exchanges. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "bampi/bmc/ipmi_session.h"

enum { USER_SLOTS = 64 };

static int read_user(struct ipmi_session *session, uint8_t id, struct bmc_user *ret,
		     uint8_t *ret_count, struct problem *problem)
{
	struct ipmi_frame frame = ipmi_user_access_request(id);
	struct problem no_name = {0};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	int rc = ipmi_exchange(session, "user access", &frame, data, &size, problem);

	if (rc)
		return rc;
	*ret = (struct bmc_user){.id = id};
	rc = ipmi_user_access_answer(data, size, ret, ret_count);
	if (rc)
		return problem_set(problem, rc,
				   "node %s: the BMC's answer about user %u is malformed",
				   session->endpoint.node, (unsigned)id);
	frame = ipmi_user_name_request(id);
	rc = ipmi_exchange(session, "user name", &frame, data, &size, &no_name);
	if (!session->context) {
		*problem = no_name;
		return rc;
	}
	/* User 1 is the nameless one; some BMCs refuse its name. */
	if (rc || ipmi_user_name_answer(data, size, ret->name))
		ret->name[0] = '\0';
	return 0;
}

int ipmi_user_list(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	struct bmc_user *users = calloc(USER_SLOTS, sizeof(*users));
	uint8_t slots = 1;
	size_t count = 0;
	int rc = 0;

	if (!users)
		return ipmi_no_memory(problem);
	for (uint8_t id = 1; id <= slots && rc == 0; id++) {
		rc = ipmi_session_check_deadline(session, "reading the users", problem);
		if (rc == 0)
			rc = read_user(session, id, &users[count], &slots, problem);
		/* Empty slots are not users. */
		if (rc == 0 && (users[count].name[0] || users[count].enabled))
			count++;
	}
	if (rc) {
		free(users);
		return rc;
	}
	*ret = (struct bmc_result){.op = BMC_USER_LIST, .users = {.rows = users, .count = count}};
	return 0;
}

int ipmi_user_set(struct ipmi_session *session, const struct bmc_request *request,
		  struct problem *problem)
{
	uint8_t id = request->user.id;
	const struct {
		bool wanted;
		const char *what;
		struct ipmi_frame frame;
	} steps[] = {
		{request->user.name[0] != '\0', "the user name",
		 ipmi_user_set_name_request(id, request->user.name)},
		{request->user.password[0] != '\0', "the user password",
		 ipmi_user_set_password_request(id, request->user.password)},
		{true, "the user access",
		 ipmi_user_set_access_request(id, request->user.privilege)},
		{true, "enabling the user", ipmi_user_enable_request(id, request->user.enabled)},
	};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;

	if (id < 1 || id > 63)
		return problem_set(problem, E_NOT_FOUND, "node %s: BMC users are numbered 1 to 63",
				   session->endpoint.node);
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		int rc = steps[i].wanted ? ipmi_exchange(session, steps[i].what, &steps[i].frame,
							 data, &size, problem)
					 : 0;

		if (rc)
			return rc;
	}
	return 0;
}

/* The slot of our own name. The nameless user is the first. */
static int own_user(struct ipmi_session *session, uint8_t *ret, struct problem *problem)
{
	struct bmc_result users = {0};
	int rc = ipmi_user_list(session, &users, problem);
	bool found = false;

	for (size_t i = 0; rc == 0 && i < users.users.count && !found; i++) {
		found = strcmp(users.users.rows[i].name, session->endpoint.username) == 0;
		if (found)
			*ret = users.users.rows[i].id;
	}
	bmc_result_done(&users);
	if (rc == 0 && !found)
		rc = problem_set(problem, E_NOT_FOUND, "node %s: the BMC does not list user '%s'",
				 session->endpoint.node, session->endpoint.username);
	return rc;
}

int ipmi_password_set(struct ipmi_session *session, const char *password, struct problem *problem)
{
	struct ipmi_frame frame;
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;
	uint8_t id = 0;
	int rc = own_user(session, &id, problem);

	if (rc)
		return rc;
	frame = ipmi_user_set_password_request(id, password);
	rc = ipmi_exchange(session, "the user password", &frame, data, &size, problem);
	sodium_memzero(&frame, sizeof(frame));
	return rc;
}

int ipmi_lan_get(struct ipmi_session *session, struct bmc_result *ret, struct problem *problem)
{
	static const struct {
		enum ipmi_lan_parameter parameter;
		bool required;
	} parameters[] = {
		{IPMI_LAN_ADDRESS, true},  {IPMI_LAN_SOURCE, false},  {IPMI_LAN_MAC, true},
		{IPMI_LAN_NETMASK, false}, {IPMI_LAN_GATEWAY, false}, {IPMI_LAN_VLAN, false},
	};
	struct bmc_result result = {.op = BMC_LAN_GET};
	uint8_t data[IPMI_WIRE_SIZE];
	size_t size;

	for (size_t i = 0; i < COUNT_OF(parameters); i++) {
		struct ipmi_frame frame = ipmi_lan_get_request(parameters[i].parameter);
		struct problem refused = {0};
		int rc = ipmi_exchange(session, "a LAN parameter", &frame, data, &size, &refused);

		if (rc == 0)
			rc = ipmi_lan_get_answer(parameters[i].parameter, data, size, &result);
		if (rc && (parameters[i].required || !session->context)) {
			*problem = refused;
			if (!problem_is_set(problem))
				problem_set(problem, rc,
					    "node %s: the BMC's LAN parameter %d is malformed",
					    session->endpoint.node, (int)parameters[i].parameter);
			return rc;
		}
	}
	*ret = result;
	return 0;
}
