#include "common/io/daemon.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/io/log.h"
#include "common/io/process.h"

enum { STATUS_CLEAN = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

enum daemon_mode { MODE_RUN, MODE_CHECK, MODE_PRINT, MODE_VERSION, MODE_HELP };

struct daemon_arguments {
	enum daemon_mode mode;
	const char *conf_path; /* NULL: the default, when there is one */
	int log_level;
};

struct daemon_run {
	const struct daemon_spec *spec;
	struct loop *loop;
	void *state;
	struct loop_timer *watchdog; /* NULL: nobody watches */
	int64_t watchdog_ms;
	bool draining;
};

/* The short letters are not announced; getopt wants a value per row. */
static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'}, {"check-config", no_argument, NULL, 'k'},
	{"print-config", no_argument, NULL, 'p'}, {"log-level", required_argument, NULL, 'l'},
	{"foreground", no_argument, NULL, 'f'},   {"version", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
};

static void print_usage(const struct daemon_spec *spec, FILE *out)
{
	(void)fprintf(out,
		      "%s - %s\n\n"
		      "usage: %s [option...]\n\n"
		      "  --config FILE      configuration (default %s)\n"
		      "  --check-config     check the configuration and exit (0 good, 2 not)\n"
		      "  --print-config     print a commented sample configuration and exit\n"
		      "  --log-level LEVEL  error, warn, info (default) or debug\n"
		      "  --foreground       stay in the foreground (the only mode)\n"
		      "  --version          print the version and exit\n"
		      "  --help             print this and exit\n\n"
		      "SIGTERM and SIGINT stop cleanly%s. Log lines go to stderr.\n",
		      spec->name, spec->summary, spec->name, spec->default_conf,
		      spec->reload ? ", SIGHUP reloads what can be reloaded" : "");
}

static int parse_arguments(const struct daemon_spec *spec, int argc, char **argv,
			   struct daemon_arguments *ret)
{
	struct daemon_arguments arguments = {.log_level = LOG_LEVEL_INFO};
	int option;

	optind = 1;
	// NOLINTNEXTLINE(concurrency-mt-unsafe): main() has one thread here
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (option) {
		case 'c': arguments.conf_path = optarg; break;
		case 'k': arguments.mode = MODE_CHECK; break;
		case 'p': arguments.mode = MODE_PRINT; break;
		case 'v': arguments.mode = MODE_VERSION; break;
		case 'h': arguments.mode = MODE_HELP; break;
		case 'l': arguments.log_level = log_level_parse(optarg); break;
		case 'f': break;
		default: return E_MALFORMED; /* getopt said what is wrong */
		}
	}
	if (optind < argc) {
		(void)fprintf(stderr, "%s: unexpected argument %s\n", spec->name, argv[optind]);
		return E_MALFORMED;
	}
	if (arguments.log_level < 0) {
		(void)fprintf(stderr, "%s: --log-level takes error, warn, info or debug\n",
			      spec->name);
		return E_MALFORMED;
	}
	*ret = arguments;
	return 0;
}

static int daemon_load(const struct daemon_spec *spec, const char *path, void *ret)
{
	struct problem problem = {0};
	int rc;

	if (!path && access(spec->default_conf, F_OK) == 0)
		path = spec->default_conf;
	rc = conf_load(path, spec->conf->rows, spec->conf->count, ret, &problem);
	if (rc == 0 && spec->conf->check) {
		rc = spec->conf->check(ret, &problem);
		if (rc != 0)
			conf_done(spec->conf->rows, spec->conf->count, ret);
	}
	if (rc != 0)
		log_problem(LOG_LEVEL_ERROR, "configuration", &problem);
	else if (!path)
		log_info("configuration", "%s does not exist, using defaults", spec->default_conf);
	return rc;
}

static void daemon_on_stop(void *context)
{
	struct daemon_run *run = context;

	if (!run->spec->drain || !run->state || run->draining) {
		loop_stop(run->loop);
		return;
	}
	run->draining = true;
	process_notify("STOPPING=1");
	run->spec->drain(run->state);
}

static void daemon_on_reload(void *context)
{
	const struct daemon_run *run = context;

	if (!run->spec->reload) {
		log_info(run->spec->name, "nothing here can be reloaded; restart instead");
		return;
	}
	log_info(run->spec->name, "reloading");
	run->spec->reload(run->state);
}

static void daemon_on_watchdog(void *context)
{
	const struct daemon_run *run = context;

	process_notify("WATCHDOG=1");
	loop_timer_arm(run->watchdog, run->watchdog_ms);
}

/* Twice in the time that the service manager allows: a loop that hangs is restarted. */
static int watch_the_loop(struct daemon_run *run)
{
	int rc = 0;

	run->watchdog_ms = process_watchdog_ms() / 2;
	if (run->watchdog_ms > 0)
		rc = loop_timer_new(run->loop, daemon_on_watchdog, run, &run->watchdog);
	if (run->watchdog)
		loop_timer_arm(run->watchdog, run->watchdog_ms);
	return rc;
}

static int watch_signals(struct daemon_run *run)
{
	int rc = loop_on_signal(run->loop, SIGTERM, daemon_on_stop, run);

	if (rc == 0)
		rc = loop_on_signal(run->loop, SIGINT, daemon_on_stop, run);
	if (rc == 0)
		rc = loop_on_signal(run->loop, SIGHUP, daemon_on_reload, run);
	return rc;
}

int daemon_begin(const struct daemon_spec *spec, struct loop *loop, const void *values,
		 void **ret_state, struct problem *problem)
{
	void *state = calloc(1, spec->state_size);
	int rc;

	if (!state)
		return problem_set(problem, -ENOMEM, "no memory");
	rc = spec->start(state, loop, values, problem);
	if (rc) {
		daemon_end(spec, state);
		return rc;
	}
	*ret_state = state;
	return 0;
}

void daemon_end(const struct daemon_spec *spec, void *state)
{
	spec->stop(state);
	free(state);
}

static int run_daemon(const struct daemon_spec *spec, const void *values)
{
	struct daemon_run run = {.spec = spec};
	struct problem problem = {0};
	int rc;

	process_raise_file_limit();
	rc = loop_new(&run.loop);

	if (rc == 0)
		rc = watch_signals(&run);
	if (rc == 0)
		rc = watch_the_loop(&run);
	if (rc != 0)
		(void)problem_set(&problem, rc, "no event loop: %s", error_text(rc));
	if (rc == 0)
		rc = daemon_begin(spec, run.loop, values, &run.state, &problem);
	if (rc != 0) {
		if (!problem_is_set(&problem))
			(void)problem_set(&problem, rc, "cannot start: %s", error_text(rc));
		log_problem(LOG_LEVEL_ERROR, spec->name, &problem);
		loop_timer_free(run.watchdog);
		loop_free(run.loop);
		return STATUS_FAILED;
	}
	log_info(spec->name, "started (version=%s pid=%d)", HAAS_VERSION, (int)getpid());
	process_notify("READY=1");
	loop_run(run.loop);
	process_notify("STOPPING=1");
	log_info(spec->name, "stopping");
	daemon_end(spec, run.state);
	loop_timer_free(run.watchdog);
	loop_free(run.loop);
	return STATUS_CLEAN;
}

static int load_and_run(const struct daemon_spec *spec, const struct daemon_arguments *arguments)
{
	void *values = calloc(1, spec->conf->values_size);
	int status = STATUS_CLEAN;

	if (!values)
		return STATUS_FAILED;
	if (daemon_load(spec, arguments->conf_path, values) != 0) {
		free(values);
		return STATUS_USAGE;
	}
	if (arguments->mode == MODE_RUN)
		status = run_daemon(spec, values);
	conf_done(spec->conf->rows, spec->conf->count, values);
	free(values);
	return status;
}

int daemon_main(const struct daemon_spec *spec, int argc, char **argv)
{
	struct daemon_arguments arguments;

	log_setup(LOG_LEVEL_INFO);
	if (parse_arguments(spec, argc, argv, &arguments) != 0) {
		(void)fprintf(stderr, "%s: see %s --help\n", spec->name, spec->name);
		return STATUS_USAGE;
	}
	log_setup((enum log_level)arguments.log_level);
	switch (arguments.mode) {
	case MODE_HELP: print_usage(spec, stdout); return STATUS_CLEAN;
	case MODE_VERSION: (void)printf("%s %s\n", spec->name, HAAS_VERSION); return STATUS_CLEAN;
	case MODE_PRINT:
		conf_print(spec->conf->rows, spec->conf->count, stdout);
		return STATUS_CLEAN;
	case MODE_CHECK:
	case MODE_RUN: break;
	}
	return load_and_run(spec, &arguments);
}
