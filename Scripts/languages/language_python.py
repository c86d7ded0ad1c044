"""CPython: Debian's version, and those of pyenv, if any."""
import ast
import glob
import os

from language import HERE, Interpreter, Language


class Python(Language):
    name = "python"
    sources = ("stalls.py",)
    attached = ("sleep", "compute", "async-sleep", "ctypes")

    def interpreters(self, folder):
        paths = ["/usr/bin/python3"]
        for version in ("3.11", "3.12", "3.13"):
            paths += sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python{version}")))[-1:]
        for path, version in self.installed(paths, "-c", "import platform; print(platform.python_version())"):
            yield Interpreter(f"python-{version}", [path, str(HERE / "programs" / "stalls.py")])

    def ranges(self, text):
        ranges = {"<module>": [(1, len(text.splitlines()))]}
        self._collect(ast.parse(text), "", ranges)
        return ranges

    def _collect(self, node, prefix, ranges):
        for child in ast.iter_child_nodes(node):
            name = None
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = child.name
            elif isinstance(child, ast.Lambda):
                name = "<lambda>"
            elif isinstance(child, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                name = {"ListComp": "<listcomp>", "SetComp": "<setcomp>", "DictComp": "<dictcomp>", "GeneratorExp": "<genexpr>"}[
                    type(child).__name__
                ]
            elif isinstance(child, ast.ClassDef):
                ranges.setdefault(prefix + child.name, []).append((child.lineno, child.end_lineno))
                self._collect(child, prefix + child.name + ".", ranges)
                continue
            if name is None:
                self._collect(child, prefix, ranges)
                continue
            first = min([child.lineno] + [item.lineno for item in getattr(child, "decorator_list", [])])
            ranges.setdefault(prefix + name, []).append((first, child.end_lineno))
            self._collect(child, prefix + name + ".<locals>.", ranges)


LANGUAGE = Python()
