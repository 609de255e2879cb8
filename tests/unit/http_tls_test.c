// links: portal_cli common_http
/* HTTPS: the client against the server, with certificates that fit and those that do not; handshakes that
 * are cut, slow, or none. */
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <time.h>

#include "common/http/client.h"
#include "common/http/tls.h"

#include "portal/cli/site_ca.h"
#include "tests/unit/http_tls_site.h"

static void test_served(void **state)
{
	struct site site;
	struct tls *tls;
	struct http_client *client;
	struct answer answer;
	uint32_t sum;

	site_start(&site, *state, "c1");
	write_file(site.f, "large", LARGE_SIZE, &sum);
	tls = tls_of(TLS_CLIENT, NULL, "ca/ca.crt");
	client = client_of(&site, tls);
	for (unsigned i = 0; i < 3; i++) { /* all on one connection */
		ask(&site, client, "/file/large", false, &answer);
		assert_int_equal(answer.rc, 0);
		assert_int_equal(answer.data_size, LARGE_SIZE);
		assert_int_equal(answer.data_sum, sum);
		ask(&site, client, "/peer", true, &answer);
		assert_string_equal(answer.body, "tls /");
	}
	assert_int_equal(site.counters.accepted, 1);
	ask(&site, client, "/nothing", true, &answer);
	assert_int_equal(answer.status, 404);
	ask(&site, client, "/parts", false, &answer); /* cut, and not taken for the whole */
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	http_client_free(client);
	assert_int_equal(http_client_new(site.f->loop, site.url, &client), E_MALFORMED);
	tls_free(tls);
	site_stop(&site);
}

/* The client refuses, before a byte of its request is out. */
static void refuses(void **state, const char *name, const char *ca, const char *why)
{
	struct site site;
	struct tls *tls = tls_of(TLS_CLIENT, NULL, ca);
	struct http_client *client;
	struct answer answer;

	site_start(&site, *state, name);
	client = client_of(&site, tls);
	site.f->handled = 0;
	ask(&site, client, "/nodes/secret", true, &answer);
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	assert_holds(answer.problem.message, "no trusted connection");
	assert_holds(answer.problem.detail, why);
	turn_for(site.f, 20);
	assert_int_equal(site.f->handled, 0);
	assert_int_equal(site.counters.failed_handshake, 1);
	http_client_free(client);
	site_stop(&site);
	tls_free(tls);
}

static void test_refused(void **state)
{
	refuses(state, "other", "ca/ca.crt", "IP address mismatch");
	refuses(state, "stranger", "ca/ca.crt", "unable to get local issuer certificate");
	refuses(state, "c1", "foreign/ca.crt", "unable to get local issuer certificate");
	issue("ca", "c1", SITE_CA_CONTROLLER, "127.0.0.1", -1);
	refuses(state, "c1", "ca/ca.crt", "certificate has expired");
	issue("ca", "c1", SITE_CA_CONTROLLER, "127.0.0.1", 30);
}

static struct http_client *client_to(struct site *site, const char *url, const struct tls *tls)
{
	const struct http_server_way way = {
		.url = url, .tls = tls, .address = "127.0.0.1", .bearer = "haas_s_x"};
	struct http_client *client = NULL;

	assert_int_equal(http_client_new_to(site->f->loop, &way, &client), 0);
	return client;
}

/* One exchange with a server that is known by its key or by the CAs of the machine. `pin` gets the key that it
 * has shown. */
static void known_by(void **state, const char *host, const struct tls_files *files, const char *why,
		     char pin[TLS_PIN_SIZE])
{
	struct problem problem = {0};
	struct site site;
	struct tls *tls = NULL;
	struct http_client *client;
	struct answer answer;
	char url[64];

	site_start(&site, *state, "c1");
	(void)text_format(url, sizeof(url), "https://%s:%u", host,
			  (unsigned)http_server_tls_port(site.server));
	assert_int_equal(tls_new(TLS_CLIENT, files, &tls, &problem), 0);
	client = client_to(&site, url, tls);
	site.f->handled = 0;
	ask(&site, client, "/nodes/secret", true, &answer);
	assert_int_equal(answer.rc, why ? E_UNAVAILABLE : 0);
	assert_int_equal(http_client_distrusts(client), why != NULL);
	assert_int_equal(http_client_has_connected(client), why == NULL);
	assert_int_equal(site.f->handled, why ? 0 : 1);
	if (why)
		assert_holds(answer.problem.detail, why);
	(void)text_copy(pin, TLS_PIN_SIZE, tls_shown_pin(tls));
	http_client_free(client);
	site_stop(&site);
	tls_free(tls);
}

static void test_pin(void **state)
{
	struct problem problem = {0};
	struct tls *tls = NULL;
	char pin[TLS_PIN_SIZE];
	char other[TLS_PIN_SIZE];

	known_by(state, "127.0.0.1", &(struct tls_files){.system = true},
		 "unable to get local issuer certificate", pin);
	assert_true(tls_pin_is_valid(pin));
	/* By its key a server may have any name. */
	known_by(state, "haas.example", &(struct tls_files){.pin = pin}, NULL, other);
	assert_string_equal(pin, other);
	other[10] = other[10] == 'A' ? 'B' : 'A';
	assert_true(tls_pin_is_valid(other));
	known_by(state, "127.0.0.1", &(struct tls_files){.pin = other, .ca = path_of("ca/ca.crt")},
		 "application verification failure", other);
	assert_string_equal(pin, other);
	known_by(state, "127.0.0.1", &(struct tls_files){.ca = path_of("ca/ca.crt")}, NULL, other);
	known_by(state, "haas.example", &(struct tls_files){.ca = path_of("ca/ca.crt")},
		 "hostname mismatch", other);
	for (size_t i = 0; i < strlen(pin); i++) {
		(void)text_copy(other, sizeof(other), pin);
		other[i] = '=' == other[i] ? 'A' : '=';
		assert_false(tls_pin_is_valid(other));
	}
	assert_int_equal(
		tls_new(TLS_CLIENT, &(struct tls_files){.pin = "sha256//x"}, &tls, &problem),
		E_MALFORMED);
}

/* While a CA takes the place of another both are believed. */
static void test_two_cas(void **state)
{
	struct problem problem = {0};
	struct site site;
	struct tls *tls;
	struct http_client *client;
	struct answer answer;

	assert_int_equal(site_ca_trust(path_of("bundle"), path_of("ca/ca.crt"), &problem), 0);
	assert_int_equal(site_ca_trust(path_of("bundle"), path_of("foreign/ca.crt"), &problem), 0);
	assert_int_equal(site_ca_trust(path_of("bundle"), path_of("ca/ca.crt"), &problem), 0);
	assert_int_equal(site_ca_trust(path_of("bundle"), path_of("c1.crt"), &problem), E_INVALID);
	tls = tls_of(TLS_CLIENT, NULL, "bundle");
	for (unsigned i = 0; i < 2; i++) {
		site_start(&site, *state, i == 0 ? "c1" : "stranger");
		client = client_of(&site, tls);
		ask(&site, client, "/peer", true, &answer);
		assert_int_equal(answer.rc, 0);
		http_client_free(client);
		site_stop(&site);
	}
	tls_free(tls);
}

static void test_client_certificate(void **state)
{
	struct site site;
	struct tls *relay = tls_of(TLS_CLIENT, "r1", "ca/ca.crt");
	struct tls *stranger = tls_of(TLS_CLIENT, "stranger", "ca/ca.crt");
	struct tls *controller = tls_of(TLS_CLIENT, "c1", "ca/ca.crt");
	struct http_client *client;
	struct answer answer;

	site_start(&site, *state, "c1");
	client = client_of(&site, relay);
	ask(&site, client, "/peer", true, &answer);
	assert_string_equal(answer.body, "tls relay/r1");
	http_client_free(client);
	/* Of another CA. */
	client = client_of(&site, stranger);
	ask(&site, client, "/peer", true, &answer);
	assert_int_equal(answer.rc, E_UNAVAILABLE);
	assert_holds(answer.problem.detail, "unknown ca");
	http_client_free(client);
	/* Controllers ask each other, too. */
	client = client_of(&site, controller);
	ask(&site, client, "/peer", true, &answer);
	assert_string_equal(answer.body, "tls controller/c1");
	http_client_free(client);
	assert_int_equal(site.counters.failed_handshake, 1);
	site_stop(&site);
	tls_free(relay);
	tls_free(stranger);
	tls_free(controller);
}

static int site_socket(const struct site *site, int receive_room)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(http_server_tls_port(site->server)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (receive_room)
		assert_int_equal(
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_room, sizeof(receive_room)),
			0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int site_connect(const struct site *site)
{
	return site_socket(site, 0);
}

static void test_handshakes(void **state)
{
	static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
	int64_t start_ms;
	struct site site;
	char answer[256];
	int fd;

	site_start(&site, *state, "c1");
	fd = site_connect(&site); /* no TLS at all */
	raw_send(fd, "GET /peer HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_true(raw_read(site.f, fd, NULL, answer, sizeof(answer)));
	assert_null(strstr(answer, "HTTP/1.1 200"));
	close(fd);
	assert_int_equal(site.counters.failed_handshake, 1);
	fd = site_connect(&site); /* cut in the middle */
	assert_int_equal(send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL), sizeof(hello) - 1);
	turn_for(site.f, 20);
	close(fd);
	turn_for(site.f, 20);
	assert_int_equal(site.counters.failed_handshake, 2);
	fd = site_connect(&site); /* a byte every now and then holds nothing for long */
	start_ms = clock_monotonic_ms();
	for (size_t i = 0; site.counters.late_handshake == 0 && i < 80; i++) {
		(void)send(fd, hello + i % (sizeof(hello) - 1), i < sizeof(hello) - 1,
			   MSG_NOSIGNAL);
		turn_for(site.f, 50);
	}
	assert_int_equal(site.counters.late_handshake, 1);
	assert_true(clock_monotonic_ms() - start_ms < 3000);
	close(fd);
	assert_int_equal(site.counters.open, 0);
	site_stop(&site);
}

/* Each handshake costs a signature: one source gets a burst of them, and then few. */
static void test_many_handshakes(void **state)
{
	struct site site;

	site_start(&site, *state, "c1");
	for (unsigned i = 0; i < 160; i++) {
		close(site_connect(&site));
		turn(site.f);
	}
	turn_for(site.f, 20);
	assert_int_equal(site.counters.accepted, 160);
	assert_true(site.counters.throttled_handshake > 20);
	assert_true(site.counters.throttled_handshake <= 60);
	assert_int_equal(site.counters.open, 0);
	site_stop(&site);
}

/* What waits for a slow client in several buffers comes whole and in order. */
static void test_slow_reader(void **state)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *session = SSL_new(context);
	static char answer[BLOCK_SIZE * BLOCK_COUNT + 1000];
	const int small = 4096;
	const char *body;
	size_t size = 0;
	struct site site;
	int fd;

	site_start(&site, *state, "c1");
	fd = site_socket(&site, small);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(SSL_set_fd(session, fd), 1);
	SSL_set_connect_state(session);
	while (SSL_do_handshake(session) != 1)
		turn(site.f);
	assert_int_equal(SSL_write(session,
				   "GET /blocks HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
				   52),
			 52);
	turn_for(site.f, 50);
	for (int64_t end = clock_monotonic_ms() + WAIT_MS; clock_monotonic_ms() < end;
	     turn(site.f)) {
		size_t got = 0;

		if (SSL_read_ex(session, answer + size, sizeof(answer) - size - 1, &got) == 1)
			size += got;
		else if (SSL_get_error(session, 0) != SSL_ERROR_WANT_READ)
			break;
	}
	answer[size] = '\0';
	body = strstr(answer, "\r\n\r\n");
	assert_non_null(body);
	body += 4;
	assert_int_equal(strlen(body), BLOCK_SIZE * BLOCK_COUNT);
	for (unsigned i = 0; i < BLOCK_COUNT * BLOCK_SIZE; i++) {
		unsigned block = i / BLOCK_SIZE;

		assert_int_equal(body[i], 'a' + (block * 7 + i % BLOCK_SIZE / 100) % 26);
	}
	SSL_free(session);
	SSL_CTX_free(context);
	close(fd);
	site_stop(&site);
}

/* A file that somebody makes shorter ends one answer, and not the process. */
static void test_shorter_file(void **state)
{
	struct site site;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *session = SSL_new(context);
	char path[256];
	char piece[4096];
	size_t got = 0;
	int fd;

	site_start(&site, *state, "c1");
	write_file(site.f, "shrinks", (size_t)LARGE_SIZE * 4, NULL);
	(void)text_format(path, sizeof(path), "%s/shrinks", site.f->folder);
	fd = site_connect(&site);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(SSL_set_fd(session, fd), 1);
	SSL_set_connect_state(session);
	while (SSL_do_handshake(session) != 1)
		turn(site.f);
	assert_int_equal(SSL_write(session, "GET /file/shrinks HTTP/1.1\r\nHost: x\r\n\r\n", 40),
			 40);
	while (SSL_read_ex(session, piece, sizeof(piece), &got) != 1)
		turn(site.f);
	turn_for(site.f, 50);
	assert_int_equal(truncate(path, 10), 0);
	for (int64_t end = clock_monotonic_ms() + WAIT_MS;
	     site.counters.open > 0 && clock_monotonic_ms() < end; turn(site.f)) {
		while (SSL_read_ex(session, piece, sizeof(piece), &got) == 1)
			;
	}
	assert_int_equal(site.counters.open, 0);
	SSL_free(session);
	SSL_CTX_free(context);
	close(fd);
	site_stop(&site);
}

static void copy_file(const char *from, const char *to)
{
	char command[300];

	(void)text_format(command, sizeof(command), "cp -p %s %s", path_of(from), path_of(to));
	assert_int_equal(system(command), 0);
}

static void test_reload(void **state)
{
	struct problem problem = {0};
	struct site site;
	struct tls *tls = tls_of(TLS_CLIENT, NULL, "ca/ca.crt");
	struct http_client *client;
	struct answer answer;

	copy_file("c1.crt", "now.crt");
	copy_file("c1.key", "now.key");
	site_start(&site, *state, "now");
	copy_file("other.key", "now.key"); /* half of a renewal: the old pair stays in use */
	assert_int_equal(tls_reload(site.tls, &problem), E_CONFLICT);
	assert_holds(problem.message, "the TLS key cannot be used");
	assert_int_equal(chmod(path_of("now.key"), 0644), 0);
	assert_int_equal(tls_reload(site.tls, &problem), E_DENIED);
	assert_int_equal(unlink(path_of("now.crt")), 0);
	assert_int_equal(tls_reload(site.tls, &problem), -ENOENT);
	client = client_of(&site, tls);
	ask(&site, client, "/peer", true, &answer);
	assert_int_equal(answer.rc, 0);
	copy_file("other.crt", "now.crt");
	assert_int_equal(chmod(path_of("now.key"), 0600), 0);
	assert_int_equal(tls_reload(site.tls, &problem), 0);
	ask(&site, client, "/peer", true, &answer); /* connections that are open stay so */
	assert_int_equal(answer.rc, 0);
	http_client_free(client);
	client = client_of(&site, tls);
	ask(&site, client, "/peer", true, &answer);
	assert_holds(answer.problem.detail, "IP address mismatch");
	http_client_free(client);
	tls_free(tls);
	site_stop(&site);
}

/* --- the CA --- */

static void test_issue(void **state)
{
	const char *const taken[] = {"10.9.0.7", "127.0.0.1", NULL};
	char folder[128];
	char key[128];
	struct site_ca_request request = {.ca = folder,
					  .name = "c2",
					  .role = SITE_CA_CONTROLLER,
					  .addresses = taken,
					  .days = 30,
					  .out = made};
	struct problem problem = {0};
	struct stat status;
	time_t made_s;

	(void)state;
	(void)text_copy(folder, sizeof(folder), path_of("ca"));
	(void)text_copy(key, sizeof(key), path_of("ca/ca.key"));
	assert_int_equal(site_ca_create(path_of("ca"), "north", 20, &problem), E_CONFLICT);
	/* The second site with the first one's CA. */
	assert_int_equal(site_ca_issue(&request, &problem), E_CONFLICT);
	assert_holds(problem.message, "127.0.0.1 is the address of c1 already");
	request.name = "../c2";
	assert_int_equal(site_ca_issue(&request, &problem), E_INVALID);
	assert_int_equal(stat(path_of("c1.key"), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(stat(key, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(chmod(key, 0640), 0);
	request.name = "c1";
	assert_int_equal(site_ca_issue(&request, &problem), E_DENIED);
	assert_int_equal(chmod(key, 0600), 0);
	assert_int_equal(site_ca_create(path_of("short"), "west", 0, &problem), 0);
	made_s = time(NULL);
	(void)text_copy(folder, sizeof(folder), path_of("short"));
	while (time(NULL) == made_s) /* it ends with the second that it was made in */
		usleep(20000);
	assert_int_equal(site_ca_issue(&request, &problem), E_CONFLICT);
	assert_holds(problem.message, "ended");
}

/* A CA that begins tomorrow is what a node sees whose clock stands at yesterday. */
static void test_clock_behind(void **state)
{
	const char *const addresses[] = {"127.0.0.1", NULL};
	const struct site_ca_subject ca_subject = {.site = "east", .name = "CA"};
	const struct site_ca_subject subject = {
		.site = "east", .role = "controller", .name = "c9", .addresses = addresses};
	EVP_PKEY *key = NULL;
	X509 *ca = NULL;
	X509 *certificate = NULL;
	struct site site;
	struct tls *tls;
	struct http_client *client;
	struct answer answer;
	FILE *file;

	assert_int_equal(site_ca_key(2048, &key), 0);
	assert_int_equal(site_ca_sign(&ca_subject, key, NULL, NULL, 400, &ca), 0);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(ca), 200L * 86400));
	assert_true(X509_sign(ca, key, EVP_sha256()) > 0);
	assert_int_equal(site_ca_sign(&subject, key, ca, key, 300, &certificate), 0);
	assert_non_null(file = fopen(path_of("east.crt"), "we"));
	assert_int_equal(PEM_write_X509(file, certificate), 1);
	assert_int_equal(fclose(file), 0);
	assert_non_null(file = fopen(path_of("east-ca.crt"), "we"));
	assert_int_equal(PEM_write_X509(file, ca), 1);
	assert_int_equal(fclose(file), 0);
	assert_non_null(file = fopen(path_of("east.key"), "we"));
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
	assert_int_equal(fclose(file), 0);
	site_start(&site, *state, "east");
	tls = tls_of(TLS_CLIENT, NULL, "east-ca.crt");
	client = client_of(&site, tls);
	ask(&site, client, "/peer", true, &answer);
	if (answer.rc)
		fail_msg("%s: %s", answer.problem.message, answer.problem.detail);
	http_client_free(client);
	tls_free(tls);
	site_stop(&site);
	X509_free(certificate);
	X509_free(ca);
	EVP_PKEY_free(key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_served, start, stop),
		cmocka_unit_test_setup_teardown(test_pin, start, stop),
		cmocka_unit_test_setup_teardown(test_refused, start, stop),
		cmocka_unit_test_setup_teardown(test_two_cas, start, stop),
		cmocka_unit_test_setup_teardown(test_client_certificate, start, stop),
		cmocka_unit_test_setup_teardown(test_handshakes, start, stop),
		cmocka_unit_test_setup_teardown(test_many_handshakes, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_reader, start, stop),
		cmocka_unit_test_setup_teardown(test_shorter_file, start, stop),
		cmocka_unit_test_setup_teardown(test_reload, start, stop),
		cmocka_unit_test_setup_teardown(test_clock_behind, start, stop),
		cmocka_unit_test(test_issue),
	};

	return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
