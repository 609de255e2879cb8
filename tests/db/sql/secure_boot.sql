select set_config('haas.scope', 'operator', false) \g /dev/null
set role portald;
-- signatures are a matter of UEFI, and a signed image is made for x86-64
select node_put('{"name":"n1","secure_boot":"signed"}', false, 'ann');
select node_put('{"name":"n1","firmware":"uefi","secure_boot":"signed","arch":"arm64"}', false, 'ann');
select node_put('{"name":"n1","firmware":"uefi","secure_boot":"attested"}', false, 'ann');
select node_put('{"name":"n1","arch":"arm64"}', false, 'ann');
select node_put('{"name":"n1","firmware":"bios"}', false, 'ann');
select firmware, secure_boot, attested from node_view;
-- portald reads what the TPM proved, and writes none of it
insert into node_attestation (node_id, attested) select id, true from node;
reset role;
set role bampid;
insert into node_attestation (node_id, attested, key, pcr7) select id, true, repeat('a', 128), repeat('b', 64) from node;
update node_attestation set attested = false;
update node_attestation set attested = false, why = 'its TPM is another one than before';
reset role;
set role portald;
select attested, attested_why from node_view;
-- another mark forgets nothing, none at all forgets what was pinned
select node_put('{"name":"n1","secure_boot":"signed"}', false, 'ann');
select count(*) from node_attestation;
select node_put('{"name":"n1","secure_boot":"off"}', false, 'ann');
select count(*) from node_attestation;
