#include "common/base/macros.h"
#include "common/io/daemon.h"

#include "peregrine/flowd/flowd.h"

int main(int argc, char **argv)
{
	return daemon_main(&flowd_daemon, argc, argv);
}
