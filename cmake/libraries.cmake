# Every outside library, found once; parts name them as lib::X.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
set(outside
  event=libevent_core event_extra=libevent_extra pq=libpq jansson=jansson sodium=libsodium zstd=libzstd config=libconfig
  nl_route=libnl-route-3.0 freeipmi=libfreeipmi ipmiconsole=libipmiconsole curl=libcurl event_openssl=libevent_openssl openssl=openssl
  gcrypt=libgcrypt netsnmp=netsnmp netsnmp_agent=netsnmp-agent ssh=libssh xml=libxml-2.0 xxhash=libxxhash pcap=libpcap ndpi=libndpi seccomp=libseccomp
  ncursesw=ncursesw rdkafka=rdkafka cjose=cjose openblas=openblas jpeg=libjpeg png=libpng)
foreach(pair ${outside})
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 name)
  list(GET pair 1 module)
  pkg_check_modules(pkg_${name} REQUIRED IMPORTED_TARGET ${module})
  add_library(lib::${name} ALIAS PkgConfig::pkg_${name})
endforeach()
