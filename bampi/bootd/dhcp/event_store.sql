-- Statements of bampi/bootd/dhcp/event_store.c.

-- :part actor
bampi-bootd

-- :statement event_add
select haas.event_told(e.kind, e.subject_kind, e.subject, null, e.message, e.detail)
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[])
as e (kind, subject_kind, subject, message, detail)
