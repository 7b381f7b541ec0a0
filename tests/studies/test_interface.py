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

from studies.book.interface_page import write_interface

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


def read_sections(documented: Any) -> dict[str, str]:
    return dict(SECTION.findall(inspect.cleandoc(documented.__doc__ or "") + "\n"))


def list_methods(class_: type) -> Iterator[tuple[str, Any]]:
    for name, member in vars(class_).items():
        if name[0] != "_" and not name.startswith("set"):  # made by scikit-learn and matplotlib
            yield name, getattr(member, "func", getattr(member, "fget", member))


def is_property(class_: type, name: str) -> bool:
    return not callable(vars(class_)[name])


def find_faults(path: str, documented: Any) -> list[str]:
    """What the docstrings of a function, or of a class and its methods, lack."""
    faults = [] if "Examples" in read_sections(documented) else [f"{path}: no example"]
    if not isinstance(documented, type):
        return faults + find_gaps(path, documented)
    if fields := {name for name in vars(documented).get("__annotations__", {}) if name[0] != "_"}:
        described = ENTRY.findall(read_sections(documented).get("Attributes", ""))
        if fields - set(described) and not issubclass(documented, Exception):
            faults.append(f"{path}: attributes {sorted(fields - set(described))}")
    if "__init__" in vars(documented) and not hasattr(documented, "__dataclass_fields__"):
        parameters = list(inspect.signature(documented).parameters)
        if ENTRY.findall(read_sections(documented).get("Args", "")) != parameters:
            faults.append(f"{path}: arguments {parameters}")
    for name, member in list_methods(documented):
        if not callable(member):
            continue
        if is_property(documented, name):
            faults += [] if member.__doc__ else [f"{path}.{name}: nothing"]
        else:
            faults += find_gaps(f"{path}.{name}", member)
    return faults


def find_gaps(path: str, function: Any) -> list[str]:
    """The arguments, result and errors of a function that its docstring does not describe, or makes up."""
    inner = inspect.unwrap(function)
    sections, signature = read_sections(function), inspect.signature(inner)
    parameters = [name for name in signature.parameters if name not in ("self", "cls")]
    faults = []
    if ENTRY.findall(sections.get("Args", "")) != parameters:
        faults.append(f"{path}: arguments {parameters}")
    if inspect.isgeneratorfunction(inner):
        faults += [] if "Yields" in sections else [f"{path}: what it yields"]
    elif signature.return_annotation not in (None, "None") and "Returns" not in sections:
        faults.append(f"{path}: what it returns")
    tree = ast.parse(textwrap.dedent(inspect.getsource(inner)))
    if any(isinstance(node, ast.Raise) for node in ast.walk(tree)) and "Raises" not in sections:
        faults.append(f"{path}: what it raises")
    return faults


def test_every_argument_result_and_error_is_described():
    faults = {path: find_faults(path, documented) for path, documented in list_public().items()}
    lacking = [line for lines in faults.values() for line in lines]
    complete = sum(not lines for lines in faults.values())
    assert not lacking, f"{complete} of {len(faults)} are complete\n" + "\n".join(lacking)


def test_the_examples_run(tmp_path, monkeypatch):
    """In one folder, from the lines at the head of the page on."""
    monkeypatch.chdir(tmp_path)
    (setup,) = re.findall(r"^```python\n(from pathlib.*?)^```", write_interface(), re.M | re.S)
    parser, report, namespace = doctest.DocTestParser(), [], {}
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    with contextlib.redirect_stderr(io.StringIO()):
        exec(setup, namespace)
        for path, documented in list_public().items():
            test = parser.get_doctest(
                inspect.cleandoc(documented.__doc__), dict(namespace), path, None, 0
            )
            runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)
    assert runner.tries > 100
