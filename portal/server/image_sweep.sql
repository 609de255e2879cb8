-- Somebody may begin to upload the same content while it is being removed: an upload finds the file and is done (image_upload.c). So a file is
-- first hidden under another name, then the rows are asked again, and only what still has none is removed. What a portald that ended in
-- between left hidden gets its name back before anything is asked: the rows decide anew.

-- :statement image_sweep
-- :columns digest
select e.detail ->> 'digest' as digest from haas.event e where (e.subject_kind, e.kind) in (('package', 'package.deleted'), ('image', 'image.deleted')) and haas.is_operator()
and not exists (select from haas.package p where p.digest = e.detail ->> 'digest') and not exists (select from haas.image i where i.stored_digest = e.detail ->> 'digest')
group by 1 order by max(e.id) desc limit 1000
