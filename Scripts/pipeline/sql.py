"""Reads statements and named queries from the examples' SQL files."""

import os
import re

FOLDER = os.path.join(os.environ["PIPELINE_ROOT"], "Examples/pipeline/clickhouse")


def read(name):
    with open(os.path.join(FOLDER, name)) as file:
        return file.read()


def statements(name):
    """All statements that are not named queries."""
    text = re.sub(r"--.*", "", read(name).split("-- name:")[0])
    return [statement.strip() for statement in text.split(";") if statement.strip()]


def query(name, title, **parameters):
    """The query with `-- name: title`, with its parameters replaced."""
    text = read(name).split(f"-- name: {title}\n")[1].split(";")[0]
    for key, value in parameters.items():
        text = re.sub(r"\{%s:[^}]*\}" % key, str(value), text)
    return re.sub(r"--.*", "", text)


INSERT_SETTINGS = "SETTINGS date_time_input_format = 'best_effort', input_format_skip_unknown_fields = 1"
