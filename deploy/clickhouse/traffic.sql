-- Traffic of peregrine-flowd in ClickHouse: reads the topics of Kafka (docs/kafka.md). BROKERS stands for HOST:PORT,...; run once, as it is for ClickHouse 18.16 and later.
create database if not exists haas;

-- --- what waits in Kafka: one table per topic, columns in the order of the message ----------------------------------------------------

create table haas.share_queue (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, direction String,
	tenant_id Nullable(UInt64), network_id Nullable(UInt64), vlan UInt16, reason String, tenant String, network String,
	bytes UInt64, packets UInt64, samples UInt64, square Float64, floor UInt64, partial UInt8
) engine = Kafka settings kafka_broker_list = 'BROKERS', kafka_topic_list = 'haas.traffic.share.v1', kafka_group_name = 'clickhouse.share',
	kafka_format = 'TabSeparated', kafka_row_delimiter = '\n';

create table haas.pair_queue (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, direction String,
	tenant_id Nullable(UInt64), network_id Nullable(UInt64), vlan UInt16, reason String, a String, b String,
	bytes UInt64, packets UInt64, samples UInt64, square Float64, missed UInt64, floor UInt64
) engine = Kafka settings kafka_broker_list = 'BROKERS', kafka_topic_list = 'haas.traffic.pair.v1', kafka_group_name = 'clickhouse.pair',
	kafka_format = 'TabSeparated', kafka_row_delimiter = '\n';

create table haas.flow_queue (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, direction String,
	tenant_id Nullable(UInt64), network_id Nullable(UInt64), vlan UInt16, reason String, a String, b String,
	forward UInt8, source String, target String, source_port UInt16, target_port UInt16, protocol UInt8, ethertype UInt16,
	bytes UInt64, packets UInt64, samples UInt64, square Float64, missed UInt64
) engine = Kafka settings kafka_broker_list = 'BROKERS', kafka_topic_list = 'haas.traffic.flow.v1', kafka_group_name = 'clickhouse.flow',
	kafka_format = 'TabSeparated', kafka_row_delimiter = '\n';

create table haas.port_queue (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, seconds Float64,
	in_bytes UInt64, out_bytes UInt64, in_packets UInt64, out_packets UInt64, in_errors UInt64, out_errors UInt64,
	in_discards UInt64, out_discards UInt64, speed_bps UInt64, out_sampled Nullable(UInt64), interval_s Float64
) engine = Kafka settings kafka_broker_list = 'BROKERS', kafka_topic_list = 'haas.traffic.port.v1', kafka_group_name = 'clickhouse.port',
	kafka_format = 'TabSeparated', kafka_row_delimiter = '\n';

create table haas.bucket_queue (
	at DateTime, writer String, batch UInt64, from_at DateTime, to_at DateTime, bytes UInt64, unattributed_bytes UInt64,
	lost_bytes UInt64, thinned UInt32, cut UInt8, given_up UInt64,
	rows_share UInt32, rows_pair UInt32, rows_flow UInt32, rows_port UInt32
) engine = Kafka settings kafka_broker_list = 'BROKERS', kafka_topic_list = 'haas.traffic.bucket.v1', kafka_group_name = 'clickhouse.bucket',
	kafka_format = 'TabSeparated', kafka_row_delimiter = '\n';

-- --- minutes. A message that came twice is the same rows with the same (writer, batch, row): of these one stays, "final" sees to it ------

create table haas.share (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, direction String,
	tenant_id UInt64, network_id UInt64, vlan UInt16, reason String, tenant String, network String,
	bytes UInt64, packets UInt64, samples UInt64, square Float64, floor UInt64, partial UInt8
) engine = ReplacingMergeTree partition by toYYYYMMDD(at) order by (switch, port, direction, at, writer, batch, row);
create materialized view haas.share_follow to haas.share as
	select at, writer, batch, row, switch, switch_id, port, direction, ifNull(tenant_id, 0) as tenant_id, ifNull(network_id, 0) as network_id,
		vlan, reason, tenant, network, bytes, packets, samples, square, floor, partial from haas.share_queue;

create table haas.pair (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, direction String,
	tenant_id UInt64, network_id UInt64, vlan UInt16, reason String, a String, b String,
	bytes UInt64, packets UInt64, samples UInt64, square Float64, missed UInt64, floor UInt64
) engine = ReplacingMergeTree partition by toYYYYMMDD(at) order by (switch, port, direction, at, writer, batch, row);
create materialized view haas.pair_follow to haas.pair as
	select at, writer, batch, row, switch, switch_id, port, direction, ifNull(tenant_id, 0) as tenant_id, ifNull(network_id, 0) as network_id,
		vlan, reason, a, b, bytes, packets, samples, square, missed, floor from haas.pair_queue;

create table haas.flow (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, direction String,
	tenant_id UInt64, network_id UInt64, vlan UInt16, reason String, a String, b String,
	forward UInt8, source String, target String, source_port UInt16, target_port UInt16, protocol UInt8, ethertype UInt16,
	bytes UInt64, packets UInt64, samples UInt64, square Float64, missed UInt64
) engine = ReplacingMergeTree partition by toYYYYMMDD(at) order by (switch, port, direction, at, writer, batch, row);
create materialized view haas.flow_follow to haas.flow as
	select at, writer, batch, row, switch, switch_id, port, direction, ifNull(tenant_id, 0) as tenant_id, ifNull(network_id, 0) as network_id,
		vlan, reason, a, b, forward, source, target, source_port, target_port, protocol, ethertype,
		bytes, packets, samples, square, missed from haas.flow_queue;

create table haas.port (
	at DateTime, writer String, batch UInt64, row UInt32, switch String, switch_id UInt64, port String, seconds Float64,
	in_bytes UInt64, out_bytes UInt64, in_packets UInt64, out_packets UInt64, in_errors UInt64, out_errors UInt64,
	in_discards UInt64, out_discards UInt64, speed_bps UInt64, out_sampled Nullable(UInt64), interval_s Float64
) engine = ReplacingMergeTree partition by toYYYYMMDD(at) order by (switch, port, at, writer, batch, row);
create materialized view haas.port_follow to haas.port as select * from haas.port_queue;

create table haas.bucket (
	at DateTime, writer String, batch UInt64, from_at DateTime, to_at DateTime, bytes UInt64, unattributed_bytes UInt64,
	lost_bytes UInt64, thinned UInt32, cut UInt8, given_up UInt64,
	rows_share UInt32, rows_pair UInt32, rows_flow UInt32, rows_port UInt32
) engine = ReplacingMergeTree partition by toYYYYMM(at) order by (at, writer, batch);
create materialized view haas.bucket_follow to haas.bucket as select * from haas.bucket_queue;

-- --- hours: made from minutes again and again (docs/kafka.md), the one that saw most batches stays ---------------------------------------

create table haas.share_hour (
	at DateTime, switch String, port String, direction String, tenant_id UInt64, network_id UInt64, vlan UInt16, reason String,
	tenant String, network String, bytes UInt64, packets UInt64, samples UInt64, square Float64, floor UInt64, batches UInt64
) engine = ReplacingMergeTree(batches) partition by toYYYYMM(at)
	order by (switch, port, direction, at, tenant_id, network_id, vlan, reason, tenant, network);
create table haas.pair_hour (
	at DateTime, switch String, port String, direction String, tenant_id UInt64, network_id UInt64, vlan UInt16, reason String,
	a String, b String, bytes UInt64, packets UInt64, samples UInt64, square Float64, missed UInt64, batches UInt64
) engine = ReplacingMergeTree(batches) partition by toYYYYMM(at)
	order by (switch, port, direction, at, tenant_id, network_id, vlan, reason, a, b);
