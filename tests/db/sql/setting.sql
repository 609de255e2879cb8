set role portald;
select set_config('haas.scope', 'operator', false);
select x -> 'value' from jsonb_array_elements(site_settings() -> 'items') x where x ->> 'name' = 'login.hours';
\echo a whole number within its bounds, or a word of its list; what comes back is what is counted with
select site_setting_change(1, '{"login.hours": 12, "login.second_factor": "all"}', 'ann');
select x ->> 'name', x -> 'value' from jsonb_array_elements(site_settings() -> 'items') x where x ->> 'name' like 'login.%';
\echo 12.0 is no whole number here; nothing of a refused change is kept
select site_setting_change(2, '{"login.hours": 12.0}', 'ann');
select site_setting_change(2, '{"capture.seconds": 30, "login.hours": 12.5}', 'ann');
select site_setting_change(2, '{"login.hours": "12"}', 'ann');
select site_setting_change(2, '{"login.hours": 169}', 'ann');
select site_setting_change(2, '{"login.hours": -1}', 'ann');
select site_setting_change(2, '{"login.second_factor": "some"}', 'ann');
select site_setting_change(2, '{"login.color": 1}', 'ann');
select x ->> 'name', x -> 'value' from jsonb_array_elements(site_settings() -> 'items') x where x ->> 'name' in ('login.hours', 'capture.seconds');
\echo who did not see the newest is told; null takes a value back
select site_setting_change(1, '{"login.hours": 13}', 'ann');
select site_setting_change(2, '{"login.hours": null}', 'ann');
select x -> 'value' from jsonb_array_elements(site_settings() -> 'items') x where x ->> 'name' = 'login.hours';
select kind, subject, message from event where kind = 'site.setting_changed' order by id;
\echo a tenant changes none, and sees none
select set_config('haas.scope', '', false), set_config('haas.tenant', '1', false);
select site_setting_change(3, '{"login.hours": 14}', 'acme');
select site_settings();
