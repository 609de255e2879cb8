#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "bampi/relay/relay.h"

int main(int argc, char **argv)
{
	return daemon_main(&relay_daemon, argc, argv);
}
