-- Statements of bampi/bootd/dhcp/foreign_server.c.

-- :statement dhcp_server_put
select haas.dhcp_server_put($1::text, $2::inet, $3::text[], $4::inet[], $5::macaddr[])
