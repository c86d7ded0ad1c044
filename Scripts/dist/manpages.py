#!/usr/bin/env python3
"""manpages.py VERSION FOLDER: creates a man page for each command, from the output of `lagmond --experimental-dump-help` on stdin."""

import json
import os
import re
import sys

# Texts that the argument parser's dump does not contain.
FILES = [
    ("/etc/lagmond/lagmond.json", "The configuration that the packaged service runs with."),
    (
        "/usr/share/doc/lagmond/",
        "All settings, outputs and fields; in examples/ targets, containers, log readers, alerts and a dashboard. In the archive: share/doc/lagmond/.",
    ),
]


def text(words):
    """Escapes a text for roff, so that no character of it is a request."""
    words = words.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(("\\&" + line if line[:1] in (".", "'") else line) for line in words.split("\n"))


def paragraphs(words):
    return "\n.PP\n".join(text(part.strip()) for part in re.split(r"\n\s*\n|\n(?=\S)", words) if part.strip())


def name_of(name):
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def heading(argument):
    """`--output <destination>`, with the names bold and the value in italics."""
    value = f"\\fI{text(argument.get('valueName', 'value'))}\\fR"
    if argument["kind"] == "positional":
        return value
    names = ", ".join(f"\\fB{text(name_of(name))}\\fR" for name in argument["names"])
    return names + (f" {value}" if argument["kind"] == "option" else "")


def synopsis(argument):
    form = heading({**argument, "names": [argument["preferredName"]]} if argument.get("names") else argument)
    if argument["isOptional"]:
        form = f"[{form}]"
    return form + ("..." if argument["isRepeating"] else "")


def described(argument):
    parts = [argument.get("abstract", ""), argument.get("discussion", "")]
    if argument.get("allValues"):
        parts.append("Allowed: " + ", ".join(argument["allValues"]) + ".")
    if argument.get("defaultValue"):
        parts.append("Default: " + argument["defaultValue"] + ".")
    return text(" ".join(part.strip() for part in parts if part))


def page(command, path, related, version):
    # `lagmond run -- COMMAND`: the arguments after the two dashes are COMMAND's.
    arguments = [a for a in command.get("arguments", []) if a.get("shouldDisplay", True)]
    title = "-".join(path)
    lines = [
        f'.TH {title.upper()} 1 "" "lagmond {version}" "LagMonitor"',
        ".SH NAME",
        f"{text(title)} \\- {text(command['abstract'][:1].lower() + command['abstract'][1:].rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{text(' '.join(path))}\\fR",
    ]
    subcommands = [c for c in command.get("subcommands", []) if c.get("shouldDisplay", True) and c["commandName"] != "help"]
    if subcommands:
        lines.append("\\fIcommand\\fR [\\fIoptions\\fR]")
    for argument in arguments:
        before = "\\-\\- " if argument.get("parsingStrategy") == "postTerminator" else ""
        form = synopsis(argument)
        lines.append(f"[{before}{form[1:]}" if form.startswith("[") else before + form)
    if command.get("discussion"):
        lines += [".SH DESCRIPTION", paragraphs(command["discussion"])]
    if subcommands:
        lines.append(".SH COMMANDS")
        for sub in subcommands:
            default = " (default)" if sub["commandName"] == command.get("defaultSubcommand") else ""
            lines += [".TP", f"\\fB{text(sub['commandName'])}\\fR{default}", text(sub["abstract"])]
    if arguments:
        lines.append(".SH OPTIONS")
        for argument in arguments:
            lines += [".TP", heading(argument), described(argument)]
    if subcommands:
        lines.append(".SH FILES")
        for file, what in FILES:
            lines += [".TP", f"\\fI{text(file)}\\fR", text(what)]
    lines += [".SH SEE ALSO", ",\n".join(f".BR {text(other)} (1)" for other in related if other != title).replace(",\n", " ,\n")]
    return "\n".join(lines) + "\n"


def main():
    version, folder = sys.argv[1:]
    root = json.load(sys.stdin)["command"]
    commands = [c for c in root["subcommands"] if c.get("shouldDisplay", True) and c["commandName"] != "help"]
    name = root["commandName"]
    related = [name] + [f"{name}-{c['commandName']}" for c in commands]
    for command, path in [(root, [name])] + [(c, [name, c["commandName"]]) for c in commands]:
        with open(os.path.join(folder, "-".join(path) + ".1"), "w", encoding="utf-8") as file:
            file.write(page(command, path, related, version))


main()
