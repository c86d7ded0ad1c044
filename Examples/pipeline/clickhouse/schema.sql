-- ClickHouse 24.10 or newer (refreshable materialised views that append). docs/fleet.md explains the design.
CREATE DATABASE IF NOT EXISTS lagmonitor;

-- The table for the agents' inserts: each line unchanged, copies included. It stores nothing. Views pass the rows on.
--   INSERT INTO lagmonitor.lines SETTINGS date_time_input_format = 'best_effort', input_format_skip_unknown_fields = 1
--   FORMAT JSONEachRow
CREATE TABLE IF NOT EXISTS lagmonitor.lines (
    schema LowCardinality(String),
    time DateTime64(9, 'UTC'),
    id UUID,
    event LowCardinality(String),
    phase LowCardinality(String),
    severity LowCardinality(String),
    message String,
    kind LowCardinality(String),
    fingerprint String,
    stack_hash String,
    duration_ms Decimal(18, 3),
    threshold_ms Decimal(18, 3),
    mono_us UInt64,
    boot_id String,
    pid Int32,
    thread_id Int32,
    thread_name LowCardinality(String),
    process_name LowCardinality(String),
    host_name LowCardinality(String),
    service_name LowCardinality(String),
    service_version LowCardinality(String),
    k8s_namespace_name LowCardinality(String),
    k8s_pod_name String,
    k8s_container_name LowCardinality(String),
    k8s_node_name LowCardinality(String),
    container_id String,
    labels Map(LowCardinality(String), String),
    loop LowCardinality(String),
    cause LowCardinality(String),
    cpu_ms Nullable(Decimal(18, 3)),
    run_delay_ms Nullable(Decimal(18, 3)),
    blocked_ms Nullable(Decimal(18, 3)),
    syscall LowCardinality(String),
    syscall_target String,
    lock_kind LowCardinality(String),
    culprit String,
    culprit_confidence Nullable(Float32),
    seq UInt64,
    dropped_total UInt64,
    suppressed_total UInt64,
    frames_total UInt32,
    frames Array(Tuple(module String, build_id String, offset String, symbol String, in_app Bool)),
    -- Only in lines about other lines (`dropped`, `suppressed`, `recurring`).
    reason LowCardinality(String),
    dropped UInt64,
    suppressed UInt64,
    count UInt64,
    total_ms Decimal(18, 3),
    longest_ms Decimal(18, 3),
    first_time DateTime64(9, 'UTC'),
    last_time DateTime64(9, 'UTC')
) ENGINE = Null;

-- Each stall once, in any order of arrival and with any number of copies: of the lines with the same id, the most complete one stays.
-- Only the id is in the key: `begin` and `end` of a stall may differ in time and fingerprint, and then both lines would stay.
-- The id contains the stall's millisecond, so the key is still in order of time.
CREATE TABLE IF NOT EXISTS lagmonitor.stalls (
    id UUID,
    hour DateTime('UTC') DEFAULT toStartOfHour(UUIDv7ToDateTime(id, 'UTC')),
    version UInt8,
    received_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC'),
    time DateTime64(9, 'UTC'),
    phase LowCardinality(String),
    message String,
    kind LowCardinality(String),
    fingerprint String,
    stack_hash String,
    duration_ms Decimal(18, 3),
    threshold_ms Decimal(18, 3),
    mono_us UInt64,
    pid Int32,
    thread_name LowCardinality(String),
    process_name LowCardinality(String),
    host_name LowCardinality(String),
    service_name LowCardinality(String),
    service_version LowCardinality(String),
    k8s_namespace_name LowCardinality(String),
    k8s_pod_name String,
    k8s_container_name LowCardinality(String),
    k8s_node_name LowCardinality(String),
    container_id String,
    labels Map(LowCardinality(String), String),
    loop LowCardinality(String),
    cause LowCardinality(String),
    cpu_ms Nullable(Decimal(18, 3)),
    run_delay_ms Nullable(Decimal(18, 3)),
    blocked_ms Nullable(Decimal(18, 3)),
    syscall LowCardinality(String),
    syscall_target String,
    lock_kind LowCardinality(String),
    culprit String,
    culprit_confidence Nullable(Float32),
    seq UInt64,
    frames_total UInt32,
    frames Array(Tuple(module String, build_id String, offset String, symbol String, in_app Bool))
) ENGINE = ReplacingMergeTree(version)
PARTITION BY toMonday(hour)
ORDER BY (hour, id);

CREATE MATERIALIZED VIEW IF NOT EXISTS lagmonitor.lines_to_stalls TO lagmonitor.stalls AS
SELECT id, transform(phase, ['begin', 'abandoned', 'end'], [1, 2, 3], 0) AS version, time, phase, message, kind, fingerprint,
       stack_hash, duration_ms, threshold_ms, mono_us, pid, thread_name, process_name, host_name, service_name, service_version,
       k8s_namespace_name, k8s_pod_name, k8s_container_name, k8s_node_name, container_id, labels,
       loop, cause, cpu_ms, run_delay_ms, blocked_ms, syscall, syscall_target, lock_kind, culprit, culprit_confidence, seq,
       frames_total, frames
FROM lagmonitor.lines WHERE event = 'stall';

-- What was lost or held back, or recurs. These lines have no id, so the key consists of the columns that distinguish them.
CREATE TABLE IF NOT EXISTS lagmonitor.notices (
    hour DateTime('UTC') DEFAULT toStartOfHour(time),
    time DateTime64(9, 'UTC'),
    event LowCardinality(String),
    host_name LowCardinality(String),
    boot_id String,
    pid Int32,
    mono_us UInt64,
    reason LowCardinality(String),
    fingerprint String,
    message String,
    service_name LowCardinality(String),
    service_version LowCardinality(String),
    k8s_namespace_name LowCardinality(String),
    k8s_pod_name String,
    k8s_container_name LowCardinality(String),
    k8s_node_name LowCardinality(String),
    container_id String,
    labels Map(LowCardinality(String), String),
    dropped UInt64,
    suppressed UInt64,
    count UInt64,
    total_ms Decimal(18, 3),
    longest_ms Decimal(18, 3),
    first_time DateTime64(9, 'UTC'),
    last_time DateTime64(9, 'UTC')
) ENGINE = ReplacingMergeTree
PARTITION BY toMonday(hour)
ORDER BY (hour, host_name, boot_id, pid, mono_us, event, reason, fingerprint, time);

CREATE MATERIALIZED VIEW IF NOT EXISTS lagmonitor.lines_to_notices TO lagmonitor.notices AS
SELECT time, event, host_name, boot_id, pid, mono_us, reason, fingerprint, message, service_name, service_version,
       k8s_namespace_name, k8s_pod_name, k8s_container_name, k8s_node_name, container_id, labels,
       dropped, suppressed, count, total_ms, longest_ms, first_time, last_time
FROM lagmonitor.lines WHERE event != 'stall';
