-- Statements of bampi/bootd/boot/boot_gate.c: the doors of db/schema/boot.sql.

-- :statement boot_gate_script
-- :columns n, verdict
select n, verdict from haas.boot_script_fetch($1::jsonb)

-- :statement boot_gate_agent
-- :columns n, verdict
select x.n, haas.boot_agent_begin(x.token, x.key, x.nic, x.asker) as verdict
from jsonb_to_recordset($1::jsonb) as x (n integer, token text, key text, nic macaddr, asker jsonb) order by x.token, x.n

-- :statement boot_gate_return
select haas.boot_script_return($1)

-- :statement boot_gate_alarm
select haas.boot_alarm_add($1::bigint, $2, $3, $4, '{}')
