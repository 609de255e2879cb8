\echo every cell of the life of a node
select state, string_agg(event || '=' || coalesce(next::text, '-') || coalesce(case when dirties then '!' else '~' end, ''), ' ' order by event)
from node_transition_rule group by state order by state;
\echo no cell is missing
select count(*) = 7 * 12 from node_transition_rule;
insert into node (name) values ('n1');
\echo accept, reserve (dirty from now on), activate, release, scrubbed
select node_transition(id, 'accept', 't') from node;
select node_transition(id, 'reserve', 't') from node;
select state, dirty from node;
select node_transition(id, 'activate', 't') from node;
select node_transition(id, 'release', 't') from node;
\echo accept cannot skip the scrub
select node_transition(id, 'accept', 't') is null from node;
select node_transition(id, 'abandon', 't') from node;
select node_transition(id, 'accept', 't') is null from node;
select state, dirty from node;
select node_transition(id, 'release', 't') from node;
select node_transition(id, 'scrubbed', 't') from node;
select state, dirty from node;
select kind, message from event order by id;
