"""Reads the output of `lagmond export --format sentry` or `--format otlp` with a third-party reader, and prints the total stalled
milliseconds of the lines about finished stalls.

    check-events.py sentry|otlp LINES EVENTS

LINES contains the lines that were exported. sentry: Sentry's own Relay (PyPI sentry-relay) normalises each event, as it does with events that it
receives, and must find nothing invalid. otlp: the protobuf classes of OpenTelemetry (PyPI opentelemetry-proto) parse each request, and reject
names and types that they do not know.
"""

import json
import sys


def sentry(line):
    from sentry_relay.processing import StoreNormalizer

    event = json.loads(line)
    event_id, frames = event["event_id"], frames_of(event)
    normal = StoreNormalizer(project_id=1).normalize_event(raw_event=line)
    # Relay must not reject, truncate or change anything in an event: each of these leaves a remark there.
    if normal.get("errors") or normal.get("_meta"):
        raise ValueError([normal.get("errors"), normal.get("_meta")])
    if normal.get("event_id") != event_id or frames_of(normal) != frames:
        raise ValueError(f"another event: {json.dumps(normal)[:2000]}")
    # Relay converts the host to a tag.
    if normal["level"] != event["level"] or ["server_name", event["server_name"]] not in normal["tags"]:
        raise ValueError("level or host differs")
    images = [image["debug_id"] for image in event.get("debug_meta", {}).get("images", [])]
    if [image.get("debug_id", "").split("-")[:2] for image in normal.get("debug_meta", {}).get("images", [])] != [
        image.split("-")[:2] for image in images
    ]:
        raise ValueError("other images")
    if event["tags"]["event"] != "stall":
        return None
    facts = normal["contexts"]["lagmonitor"]
    return facts["id"], facts["phase"], float(facts["duration_ms"])


def frames_of(event):
    return [
        [frame.get("function") for frame in value.get("stacktrace", {}).get("frames", [])]
        for value in event.get("exception", {}).get("values", [])
    ]


def otlp(line):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = json_format.Parse(line, ExportLogsServiceRequest(), ignore_unknown_fields=False)
    (resource,) = request.resource_logs
    (scope,) = resource.scope_logs
    (record,) = scope.log_records
    names = [attribute.key for attribute in resource.resource.attributes]
    if "service.name" not in names or "host.name" not in names or len(set(names)) != len(names):
        raise ValueError(f"resource: {names}")
    facts = {attribute.key: attribute.value for attribute in record.attributes}
    if len(facts) != len(record.attributes) or not record.time_unix_nano:
        raise ValueError(f"record: {record}")
    if record.event_name != "lagmonitor.stall":
        return None
    return (
        facts["lagmonitor.id"].string_value,
        facts["lagmonitor.phase"].string_value,
        facts["lagmonitor.duration_ms"].double_value,
    )


def main():
    reader = {"sentry": sentry, "otlp": otlp}[sys.argv[1]]
    with open(sys.argv[2], encoding="utf-8") as file:
        expected = sum(1 for _ in file)
    stalls = {}
    count = 0
    with open(sys.argv[3], encoding="utf-8", newline="\n") as file:
        for count, line in enumerate(file, 1):
            try:
                stall = reader(line)
            except Exception as error:
                sys.exit(f"check-events: {sys.argv[1]}: line {count}: {error}: {line[:3000]}")
            if stall and stall[1] != "begin":
                stalls[stall[0]] = stall[2]
    if count != expected:
        sys.exit(f"check-events: {sys.argv[1]}: {count} events of {expected} lines")
    print(round(sum(stalls.values())))


main()
