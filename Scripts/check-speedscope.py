"""Checks a file against speedscope's format and prints the milliseconds of its profiles.

The schema expresses in JSON Schema what speedscope's `src/lib/file-format-spec.ts` expresses in TypeScript, for sampled profiles.
"""
import json
import sys

import jsonschema

FRAME = {
    "type": "object", "required": ["name"],
    "properties": {"name": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "number"}, "col": {"type": "number"}},
}
SAMPLED = {
    "type": "object", "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
    "properties": {
        "type": {"const": "sampled"}, "name": {"type": "string"},
        "unit": {"enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"]},
        "startValue": {"type": "number"}, "endValue": {"type": "number"}, "weights": {"type": "array", "items": {"type": "number"}},
        "samples": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
    },
}
FILE = {
    "type": "object", "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"}, "exporter": {"type": "string"},
        "name": {"type": "string"}, "activeProfileIndex": {"type": "number"},
        "shared": {"type": "object", "required": ["frames"], "properties": {"frames": {"type": "array", "items": FRAME}}},
        "profiles": {"type": "array", "items": SAMPLED, "minItems": 1},
    },
}

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
jsonschema.validate(document, FILE)
frames = len(document["shared"]["frames"])
for profile in document["profiles"]:
    assert profile["unit"] == "milliseconds"
    assert len(profile["samples"]) == len(profile["weights"])
    assert all(index < frames for sample in profile["samples"] for index in sample)
    assert abs(sum(profile["weights"]) - (profile["endValue"] - profile["startValue"])) < 0.001 * len(profile["weights"])
print(round(sum(sum(profile["weights"]) for profile in document["profiles"])))
