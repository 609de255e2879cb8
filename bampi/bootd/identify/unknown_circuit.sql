-- Statements of bampi/bootd/identify/unknown_circuit.c.

-- :statement circuit_unknown_put
select haas.circuit_unknown_put($1::inet[], $2::text[], $3::text[], $4::macaddr[],
$5::bigint[])
