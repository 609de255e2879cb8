-- :statement daemon_beat
-- $1 name $2 instance $3 version $4 milliseconds since its start
select haas.daemon_beat($1, $2, $3, $4::double precision / 1000)
