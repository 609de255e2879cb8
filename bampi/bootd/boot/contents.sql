-- Statements of bampi/bootd/boot/contents.c.

-- :statement content_put
-- :columns digest, size_bytes, url, gone
-- $1 instance $2 where others fetch from us, '' = nowhere $3 addresses of this machine $4 digests here $5 those of them that are copies
select digest, size_bytes, url, gone from haas.content_put($1, $2, $3::inet[], $4::text[], $5::text[])
