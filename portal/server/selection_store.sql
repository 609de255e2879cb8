-- SQL of actions on what a filter lets through. The statement before it keeps the chosen in haas.selected (list_query.c).

-- :statement selection_expect
-- $1 how many the caller saw: another number ends the transaction
select haas.selection_expect(nullif(current_setting('haas.selected', true), '')::text[], $1::bigint)

-- :statement selection_lock
-- $1 kind: locks what is in haas.selected
select haas.selection_lock($1)
