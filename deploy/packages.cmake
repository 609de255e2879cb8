# Debian packages by CPack: `cmake --build build/release --target package`. Why not debian/: docs/decision/packages-by-cpack.md.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME haas)
set(CPACK_PACKAGE_VENDOR haas)
# Who publishes packages names himself: -D CPACK_PACKAGE_CONTACT="Name <address>".
set(CPACK_PACKAGE_CONTACT "haas <haas@localhost>" CACHE STRING "maintainer of the packages")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL controller relay storage cli doc)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)

# haas_package(NAME DEPENDS ".." RECOMMENDS ".." UNITS .. OPTIONAL ..): its description is the first paragraph of package/NAME. The operator enables units of OPTIONAL.
macro(haas_package name)
  cmake_parse_arguments(arg "" "DEPENDS;RECOMMENDS;SUMMARY" "UNITS;OPTIONAL" ${ARGN})
  string(TOUPPER ${name} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME haas-${name})
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${arg_DEPENDS}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${arg_RECOMMENDS}")
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${arg_SUMMARY}")
  if("${name}" STREQUAL "doc")
    set(CPACK_DEBIAN_${upper}_PACKAGE_ARCHITECTURE all)
  else()
    set(CPACK_DEBIAN_${upper}_PACKAGE_SHLIBDEPS ON)
  endif()
  # Documents may go back; what reads the database may not.
  set(scripts "")
  if(NOT "${name}" STREQUAL "doc")
    list(APPEND scripts preinst)
  endif()
  if(NOT "${arg_UNITS}" STREQUAL "")
    list(APPEND scripts postinst prerm postrm)
  endif()
  set(COMPONENT ${name})
  list(JOIN arg_UNITS " " UNITS)
  list(JOIN arg_OPTIONAL " " OPTIONAL)
  foreach(script ${scripts})
    configure_file(package/${script}.in ${CMAKE_CURRENT_BINARY_DIR}/package/${name}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/package/${name}/${script})
  endforeach()
  if(NOT "${arg_UNITS}" STREQUAL "")
    # The configuration is the operator's: dpkg asks before it overwrites an edited one.
    set(conffiles "")
    foreach(unit ${arg_UNITS})
      string(REGEX REPLACE "\\.(service|target|timer)$" "" program ${unit})
      if(TARGET ${program})
        string(APPEND conffiles "/etc/haas/${program}.conf\n")
      endif()
    endforeach()
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/package/${name}/conffiles "${conffiles}")
    list(APPEND CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_BINARY_DIR}/package/${name}/conffiles)
  endif()
endmacro()

haas_package(controller
  SUMMARY "controller of rented servers: boot, steps, networks, traffic, API
DHCP, TFTP and HTTP boot, BMC control, tenant networks by VLAN, traffic
collection, packet captures and the REST API, each a daemon of its own."
  DEPENDS "haas-cli (= ${PROJECT_VERSION}), postgresql-15, systemd"
  # /usr/lib/haas: what makes boot files, then what makes images.
  RECOMMENDS "busybox-static, cpio, binutils, kmod, ipxe, gcc, make, perl, liblzma-dev, dpkg-dev, sbsigntool, systemd-boot-efi, openssl, mmdebstrap, e2fsprogs, fdisk, mtools, dosfstools, grub-common, grub-pc-bin, grub-efi-amd64-bin, zstd, python3"
  UNITS haas.target haas-db.service haas-schema.service portald.socket portald.service portal-outward.service bampi-bootd.service bampid.service
        peregrined.service peregrine-flowd.service peregrine-captured.service
        haas-backup.service haas-backup.timer
  OPTIONAL portald-tls.socket portald-edge.socket)
haas_package(relay
  SUMMARY "DHCP relay and boot cache of a remote segment
Relays DHCP with option 82, answers ARP for the controller and keeps boot
files near the nodes."
  DEPENDS "haas-cli (= ${PROJECT_VERSION}), systemd" UNITS bampi-relay.service)
haas_package(storage
  SUMMARY "volumes of tenants by iSCSI
Makes, opens, archives and destroys volumes on this machine's disks."
  DEPENDS "haas-cli (= ${PROJECT_VERSION}), systemd, tgt, iproute2" UNITS haas-tgtd.service bampi-stored.service)
haas_package(cli
  SUMMARY "haasctl, the operator's hand
Asks the controller for everything, over its local socket."
  DEPENDS "")
haas_package(doc
  SUMMARY "documentation of the HaaS controller
Architecture, vocabulary, switches, decisions, the API document."
  DEPENDS "")
include(CPack)
