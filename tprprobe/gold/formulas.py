"""Arithmetic questions read with Python's own grammar: their template, their tree, their exact value.

sympy is no help here: it reorders and simplifies even what it is told not to evaluate.
Source: the templates of mathematics_dataset/modules/arithmetic.py.
"""

import ast
import re
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import NamedTuple

from tprprobe.errors import InputError

# One final period or question mark belongs to the template, never to the last number.
TEMPLATES = (
    "",
    "What is the value of ",
    "What is ",
    "Evaluate ",
    "Calculate ",
    "Work out ",
    "Divide ",
)
QUESTION = re.compile(rf"({'|'.join(TEMPLATES[1:])}|) *+([0-9+\-*/(). ]+?) *[.?]?")
SPOKEN = re.compile(  # of arithmetic__div: a division in words, between two numbers
    r"(?:(Divide )|What is |Calculate |)(-?[\d.]*\d) (?(1)(?P<by>by)|(?P<divided>divided by)) -?[\d.]*\d[.?]?"
)
FOREIGN = re.compile(  # Python's, but not of these questions: ** // ... () 2(3) and unary plus
    r"\*\*|//|\.\.\.|\( *\)|[\d.)] *\(|(?:^|[(+\-*/]) *\+"
)
ALIKE = str.maketrans("0123456789", "1" * 10)  # the tree does not depend on the digits; 007 parses
OPERATIONS = {ast.Add: add, ast.Sub: sub, ast.Mult: mul, ast.Div: truediv}


class Expression(NamedTuple):
    """The words before the expression of a question, the expression, where it starts, its tree.

    The tree has ast.Constant (of unknown value), ast.UnaryOp (minus) and ast.BinOp (+ - * /) only.
    Binary operators have ``symbols`` characters: a spoken one stands in the text as a `/` and spaces.
    """

    template: str
    text: str
    start: int
    tree: ast.expr
    symbols: int = 1


def unreadable(question: str, why: object) -> InputError:
    """The error for a question that is no readable expression."""
    return InputError(
        f"cannot read {question!r} as an arithmetic expression: {why}; accepted are numbers, "
        "+ - * / and brackets, as in 'Calculate (-2)/(3/4).'"
    )


def parse(question: str) -> Expression | None:
    """The expression in a question, None for a question in other words (`Sum 3 and 4`)."""
    spoken = SPOKEN.fullmatch(question)
    words = (spoken["by"] or spoken["divided"]) if spoken else "/"
    match = QUESTION.fullmatch(question.replace(words, "/".ljust(len(words))))
    if (
        match is None
        or (match[1] == "Divide " and not spoken)
        or not any(map(str.isdigit, match[2]))
    ):
        return None
    if foreign := FOREIGN.search(match[2]):
        raise unreadable(question, f"{foreign[0]!r} is none of its operations")
    try:
        tree = ast.parse(match[2].translate(ALIKE), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise unreadable(question, error) from None
    return Expression(match[1], match[2], match.start(2), tree, len(words))


def operator_position(text: str, node: ast.BinOp) -> int:
    """The position of a node's binary operator in the text: after the brackets of its left side."""
    position = node.left.end_col_offset or 0
    while text[position] in " )":
        position += 1
    return position


def evaluate(question: str) -> Fraction:
    """The exact value of a question that is an expression.

    Args:
        question: A question of arithmetic.

    Returns:
        The value.

    Raises:
        InputError: It is no expression, or divides by zero.

    Examples:
        >>> tp.gold.evaluate("Calculate 2/(3/4).")
        Fraction(8, 3)
    """
    expression = parse(question)
    if expression is None:
        raise unreadable(question, "it is in words")
    try:
        return _value(expression.tree, expression.text)
    except ZeroDivisionError:
        raise unreadable(question, "it divides by zero") from None
    except RecursionError:
        raise unreadable(question, "it is nested too deeply") from None


def _value(node: ast.expr, text: str) -> Fraction:
    if isinstance(node, ast.BinOp):
        return OPERATIONS[type(node.op)](_value(node.left, text), _value(node.right, text))
    if isinstance(node, ast.UnaryOp):
        return -_value(node.operand, text)
    return Fraction(text[node.col_offset : node.end_col_offset])
