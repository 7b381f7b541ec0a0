"""The page of the Python interface: every argument, result and error is described, and every example runs."""

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from studies.book.interface_page import HEAD, write_interface

SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Examples):\n((?:(?: .*)?\n)*)", re.M)
ENTRY = re.compile(r"^ {4}\*{0,2}(\w+): \S", re.M)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def list_public() -> dict[str, Any]:
    """What the page describes, by its path."""
    objects = {}
    for path in re.findall(r"^::: (\S+)$", write_interface(), re.M):
        module, _, name = path.rpartition(".")
        objects[path] = getattr(importlib.import_module(module), name)
    return objects


def read_sections(thing: Any) -> dict[str, str]:
    return dict(SECTION.findall(inspect.cleandoc(thing.__doc__ or "") + "\n"))


def list_methods(thing: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(thing).items():
        if name[0] != "_" and not name.startswith("set"):  # made by scikit-learn and matplotlib
            yield name, getattr(member, "func", getattr(member, "fget", member))


def is_property(thing: type, name: str) -> bool:
    return not callable(vars(thing)[name])


def find_faults(path: str, thing: Any) -> list[str]:
    """What the docstrings of a function, or of a class and its methods, lack."""
    faults = [] if "Examples" in read_sections(thing) else [f"{path}: no example"]
    if not isinstance(thing, type):
        return faults + find_gaps(path, thing)
    if fields := {name for name in vars(thing).get("__annotations__", {}) if name[0] != "_"}:
        described = ENTRY.findall(read_sections(thing).get("Attributes", ""))
        if fields - set(described) and not issubclass(thing, Exception):
            faults.append(f"{path}: attributes {sorted(fields - set(described))}")
    if "__init__" in vars(thing) and not hasattr(thing, "__dataclass_fields__"):
        taken = list(inspect.signature(thing).parameters)
        if ENTRY.findall(read_sections(thing).get("Args", "")) != taken:
            faults.append(f"{path}: arguments {taken}")
    for name, member in list_methods(thing):
        if not callable(member):
            continue
        if is_property(thing, name):
            faults += [] if member.__doc__ else [f"{path}.{name}: nothing"]
        else:
            faults += find_gaps(f"{path}.{name}", member)
    return faults


def find_gaps(path: str, function: Any) -> list[str]:
    """The arguments, result and errors of a function that its docstring does not describe, or makes up."""
    inner = inspect.unwrap(function)
    found, signature = read_sections(function), inspect.signature(inner)
    taken = [name for name in signature.parameters if name not in ("self", "cls")]
    faults = []
    if ENTRY.findall(found.get("Args", "")) != taken:
        faults.append(f"{path}: arguments {taken}")
    if inspect.isgeneratorfunction(inner):
        faults += [] if "Yields" in found else [f"{path}: what it yields"]
    elif signature.return_annotation not in (None, "None") and "Returns" not in found:
        faults.append(f"{path}: what it returns")
    tree = ast.parse(textwrap.dedent(inspect.getsource(inner)))
    if any(isinstance(node, ast.Raise) for node in ast.walk(tree)) and "Raises" not in found:
        faults.append(f"{path}: what it raises")
    return faults


def test_every_argument_result_and_error_is_described():
    faults = {path: find_faults(path, thing) for path, thing in list_public().items()}
    lacking = [line for lines in faults.values() for line in lines]
    complete = sum(not lines for lines in faults.values())
    assert not lacking, f"{complete} of {len(faults)} are complete\n" + "\n".join(lacking)


def test_the_examples_run(tmp_path, monkeypatch):
    """In one folder, from the lines at the head of the page on."""
    monkeypatch.chdir(tmp_path)
    (setup,) = re.findall(r"^```python\n(.*?)^```", HEAD, re.M | re.S)
    parser, report, known = doctest.DocTestParser(), [], {}
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    with contextlib.redirect_stderr(io.StringIO()):
        exec(setup, known)
        for path, thing in list_public().items():
            test = parser.get_doctest(inspect.cleandoc(thing.__doc__), dict(known), path, None, 0)
            runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
    assert runner.tries > 100
