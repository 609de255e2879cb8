/* bampi-agent: in memory on a node being worked on. Wiring only. */
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/text.h"
#include "common/http/tls.h"
#include "common/io/log.h"
#include "common/io/loop.h"

#include "bampi/agent/agent.h"
#include "bampi/agent/boot_script.h"
#include "bampi/agent/neighbor.h"
#include "bampi/agent/options.h"
#include "bampi/agent/random_source.h"

static void agent_on_stop(void *context)
{
	loop_stop(context);
}

/* A ramdisk with the site's CA speaks HTTPS alone, whatever its kernel's command line says: that came
 * over the same wire. -1: it was told why not. */
static int agent_trust(const struct options *options, const char *url, struct tls **ret)
{
	bool safe = strncmp(url, "https:", 6) == 0;
	struct problem problem = {0};
	char path[sizeof(options->root) + sizeof(OPTIONS_SITE_CA)];
	bool known;

	(void)text_format(path, sizeof(path), "%s" OPTIONS_SITE_CA, options->root);
	known = access(path, F_OK) == 0;
	if (known && safe) {
		const struct tls_files files = {.ca = path};

		if (*ret || tls_new(TLS_CLIENT, &files, ret, &problem) == 0)
			return 0;
	} else if (known) {
		(void)problem_set(&problem, E_DENIED, "%s is not asked: it is no HTTPS", url);
		problem_detail(&problem, "this ramdisk knows the site's CA (%s)", path);
		problem_hint(&problem, "set tls.certificate in bampi-bootd.conf");
	} else if (safe) {
		(void)problem_set(&problem, E_NOT_FOUND,
				  "%s cannot be trusted: this ramdisk knows no CA", url);
		problem_hint(&problem, "bampi/agent/ramdisk/build --site-ca FILE");
	} else {
		return 0;
	}
	log_problem(LOG_LEVEL_ERROR, "agent", &problem);
	return -1;
}

static int agent_begin(struct loop *loop, struct agent_env *env, struct agent **ret)
{
	int rc = loop_on_signal(loop, SIGTERM, agent_on_stop, loop);

	if (!rc)
		rc = loop_on_signal(loop, SIGINT, agent_on_stop, loop);
	if (rc)
		return rc;
	/* Without the right to listen (tests) an inventory has no neighbours; all else works. */
	rc = neighbor_table_new(loop, &env->neighbors);
	if (rc)
		log_warn("agent", "no LLDP: %s", error_text(rc));
	rc = agent_new(loop, env, ret);
	if (rc)
		return rc;
	agent_start(*ret);
	return 0;
}

int main(int argc, char **argv)
{
	struct options options;
	struct agent_env env = {0};
	struct agent *agent = NULL;
	struct loop *loop = NULL;
	struct tls *tls = NULL;
	int rc = options_read(argc, argv, &options);

	if (rc >= 0)
		return rc;
	log_setup(LOG_LEVEL_INFO);
	(void)signal(SIGPIPE, SIG_IGN);
	random_source_set();
	if (sodium_init() < 0 || loop_new(&loop)) {
		log_error("agent", "cannot start");
		return EXIT_FAILURE;
	}
	if (agent_trust(&options, options.script[0] ? options.script : options.url, &tls)) {
		loop_free(loop);
		return EXIT_FAILURE;
	}
	rc = options.script[0] ? boot_script_ask(loop, &options, tls) : -1;
	if (rc < 0 && agent_trust(&options, options.url, &tls))
		rc = EXIT_FAILURE;
	if (rc >= 0) {
		tls_free(tls);
		loop_free(loop);
		return rc;
	}
	env = (struct agent_env){.root = options.root,
				 .url = options.url,
				 .tls = tls,
				 .token = options.token,
				 .silence_ms = options.silence_ms,
				 .sandbox = options.sandbox};
	log_info("agent", "bampi-agent " HAAS_VERSION " works for %s (mac=%s)", options.url,
		 options.mac);
	rc = agent_begin(loop, &env, &agent);
	if (rc)
		log_error("agent", "cannot start: %s", error_text(rc));
	else
		loop_run(loop);
	agent_free(agent);
	neighbor_table_free(env.neighbors);
	agent_key_free(env.key);
	loop_free(loop);
	tls_free(tls);
	sodium_memzero(options.token, sizeof(options.token));
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
