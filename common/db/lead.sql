-- :statement lead_take
-- :columns epoch, leader, ours, ended
-- $1 name of the lead $2 instance $3 life of the program $4 the lead that it belongs to, or null
-- Sessions that hold the lead of a daemon that went silent are ended here, by the role that they are of: the function has more rights.
select t.epoch, t.leader, t.ours, (select count(pg_terminate_backend(b.pid)) from unnest(t.blockers) b (pid)) as ended
 from haas.lead_take($1, $2, $3, $4) t

-- :statement lead_beat
-- $1 name of the lead $2 life of the program
select haas.lead_beat($1, $2)
