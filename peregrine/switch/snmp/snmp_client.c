#include "peregrine/switch/snmp/snmp_client.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

#include "peregrine/switch/snmp/snmp_client_private.h"

static const struct {
	const char *text;
	int code;
} snmp_client_statuses[SNMP_STATUS_LAST + 1] = {
	{"noError", 0},
	{"tooBig", E_LIMIT},
	{"noSuchName", E_UNSUPPORTED},
	{"badValue", E_CONFLICT},
	{"readOnly", E_DENIED},
	{"genErr", E_CONFLICT},
	{"noAccess", E_DENIED},
	{"wrongType", E_UNSUPPORTED},
	{"wrongLength", E_UNSUPPORTED},
	{"wrongEncoding", E_UNSUPPORTED},
	{"wrongValue", E_CONFLICT},
	{"noCreation", E_CONFLICT},
	{"inconsistentValue", E_CONFLICT},
	{"resourceUnavailable", E_CONFLICT},
	{"commitFailed", E_CONFLICT},
	{"undoFailed", E_PROTOCOL},
	{"authorizationError", E_DENIED},
	{"notWritable", E_DENIED},
	{"inconsistentName", E_CONFLICT},
};

const char *snmp_status_text(int status)
{
	if (status < 0 || status > SNMP_STATUS_LAST)
		return "?";
	return snmp_client_statuses[status].text;
}

int snmp_status_code(int status)
{
	if (status < 0 || status > SNMP_STATUS_LAST)
		return E_PROTOCOL;
	return snmp_client_statuses[status].code;
}

/* Once per process: Net-SNMP's state is global. Nothing is read (configuration, MIB files), nothing
 * is kept, nothing is printed. */
static void library_start(void)
{
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_LOAD, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DISABLE_PERSISTENT_SAVE, 1);
	(void)setenv("MIBS", "", 1); // NOLINT(concurrency-mt-unsafe): before any thread is made
	(void)setenv("MIBDIRS", "/nonexistent", 1); // NOLINT(concurrency-mt-unsafe)
	snmp_disable_log();
	init_snmp("haas");
	snmp_disable_log();
}

int snmp_client_new(struct loop *loop, struct snmp_client **ret)
{
	struct snmp_client *client = calloc(1, sizeof(*client));

	if (client)
		client->engines = calloc(ENGINE_CACHE, sizeof(*client->engines));
	if (client && client->engines)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
		client->holders = calloc(ENGINE_CACHE, sizeof(*client->holders));
	if (!client || !client->engines || !client->holders) {
		free(client ? client->engines : NULL);
		free(client);
		return -ENOMEM;
	}
	client->loop = loop;
	library_start();
	*ret = client;
	return 0;
}

void snmp_client_free(struct snmp_client *client)
{
	if (!client)
		return;
	snmp_shutdown("haas");
	sodium_memzero(client->keys, sizeof(client->keys));
	free(client->holders);
	free(client->engines);
	free(client);
}
