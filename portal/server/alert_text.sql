-- An alert as the API shows it, alone (alert_store) and with its fabric (fabric_store). a is alert. Silences and suspects are the operators'
-- to see: suspects name other tenants.

-- :part alert_item
jsonb_build_object('id', a.id, 'kind', a.kind, 'severity', a.severity, 'subject_kind', a.subject_kind,
'subject', a.subject, 'tenant', (select t.name from haas.tenant t where t.id = a.tenant_id),
'message', a.message, 'hint', coalesce(a.detail ->> 'hint', ''), 'raised_at',
a.raised_at, 'seen_at', a.seen_at, 'cleared_at', a.cleared_at, 'acknowledged_by', a.acknowledged_by,
'acknowledged_at', a.acknowledged_at, 'silenced_until', case when a.cleared_at is null then
(haas.alert_silence_of(a.kind, a.subject)).until end)
