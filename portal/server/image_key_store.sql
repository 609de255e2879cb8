-- SQL of the keys that sign images.
-- :use portal/server/store_text.sql

-- :part image_key_item
jsonb_build_object('id', k.id, 'public_key', k.public_key, 'actor', k.actor, 'since', k.since, 'until', k.until,
'images', (select count(*) from haas.image i where i.key_id = k.id))

-- :statement image_key_list
-- :columns = document
-- $1 limit, $2 cursor -> (page)
${store_page k.id ;; ${image_key_item} ;; haas.image_key k where ($2::text is null or k.id > $2) ;; k.id}

-- :statement image_key_add
-- $1 id, $2 public key, $3 actor
select haas.image_key_add($1, $2, $3)

-- :statement image_key_added
-- :columns = answer
-- $1 id -> answer
${store_answer select 201 as status, null as location, null::bigint as version, ${image_key_item} as body from haas.image_key k where k.id = $1}

-- :statement image_key_retire
-- :columns = answer
-- $1 id, $2 actor -> answer
${store_answer_with gone as materialized (select haas.image_key_retire($1, $2) as done) ;; select 204 as status, null as location, null::bigint as version, null::jsonb as body from gone where gone.done is not null}

-- :statement image_resign
-- $1 name, $2 version, $3 signature, $4 key id, $5 actor
select haas.image_resign($1, $2, $3, $4, $5)
