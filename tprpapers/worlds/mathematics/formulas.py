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
    if match is None or (match[1] == "Divide " and not spoken):
        return None
    if not any(map(str.isdigit, match[2])):
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
    """The exact value of a question that is an expression. Raises: InputError for others, and divisions by zero."""
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


MISSING = -1
OPERATORS = ("+", "-", "*", "/")
CODES = {ast.Add: 0, ast.Sub: 1, ast.Mult: 2, ast.Div: 3}
SUMS, SUB, DIV = (0, 1), 1, 3


class Above(NamedTuple):
    """The context of a node of the tree: its parent and the divisions, term and sign above it."""

    slot: int = MISSING  # which argument of its parent, 1 or 2
    parent: int = MISSING  # index into OPERATORS
    parent_position: int = MISSING
    tree_depth: int = 0
    flips: int = 0  # divisions that have it on their right
    net: int = 0  # the same, below the nearest + or −
    div_second: int = MISSING  # position of the innermost of them
    term: int = MISSING  # its multiplicative term; MISSING directly below + and −
    sign: int = 1  # with which a term that starts here enters its sum


BEHIND = ("", "/…", "/(-", "/")  # nothing; `/` and any brackets and signs; `/(` or `/(-`; `/` alone
FIELDS = (
    *("start", "stop"),  # of its characters in the question
    "point",  # where a number has its decimal point, its end if it has none
    "surface",  # how near before it a `/` stands: an index of BEHIND
    "neg",  # whether a unary minus is directly above
    *Above._fields,
)


def walk(expression: Expression) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """A row of FIELDS for every number, from left to right, and for every operator.

    The sign of a number is that of its term, its own minus is `neg`.
    """
    numbers, operators, signs = [], [], []
    stack: list[tuple[ast.expr, bool, Above]] = [(expression.tree, False, Above())]
    while stack:
        node, neg, above = stack.pop()
        if isinstance(node, ast.UnaryOp):
            leaf = isinstance(node.operand, ast.Constant)
            stack.append((node.operand, leaf, above if leaf else _negated(above, signs)))
        elif isinstance(node, ast.BinOp):
            code = CODES[type(node.op)]
            position = expression.start + operator_position(expression.text, node)
            above = above if code in SUMS else _in_term(above, signs)
            operators.append((position, position + expression.symbols, 0, 0, 0, *above))
            left_context, right_context = _sides(above, code, position)
            stack += [(node.right, False, right_context), (node.left, False, left_context)]
        else:
            numbers.append((*_span(node, expression), neg, *_in_term(above, signs)))
    return [(*row[:-1], signs[row[-2]]) for row in numbers], operators


def _span(node: ast.expr, expression: Expression) -> tuple[int, int, int, int]:
    text, shift = expression.text, expression.start
    start, stop = node.col_offset, node.end_col_offset or 0
    point = text.find(".", start, stop)
    before, behind = text[:start], ""  # the narrowest of BEHIND that holds
    if before.endswith(("/", "/(", "/(-")):
        behind = "/" if before.endswith("/") else "/(-"
    elif before.rstrip("(-").endswith("/"):
        behind = "/…"
    point = shift + (stop if point < 0 else point)
    return shift + start, shift + stop, point, BEHIND.index(behind)


def _in_term(above: Above, signs: list[int]) -> Above:
    """The context within a multiplicative term, which begins here if none has begun yet."""
    if above.term != MISSING:
        return above
    signs.append(above.sign)
    return above._replace(term=len(signs) - 1)


def _negated(above: Above, signs: list[int]) -> Above:
    """The context under a unary minus, which changes the sign of its term or of the next one to begin."""
    if above.term != MISSING:
        signs[above.term] *= -1
        return above
    return above._replace(sign=-above.sign)


def _sides(above: Above, code: int, position: int) -> tuple[Above, Above]:
    context = above._replace(
        slot=1, parent=code, parent_position=position, tree_depth=above.tree_depth + 1
    )
    if code in SUMS:
        sign = above.sign if above.term == MISSING else 1
        context = context._replace(net=0, term=MISSING, sign=sign)
        return context, context._replace(slot=2, sign=-sign if code == SUB else sign)
    if code == DIV:
        flipped = context._replace(
            flips=context.flips + 1, net=context.net + 1, div_second=position
        )
        return context, flipped._replace(slot=2)
    return context, context._replace(slot=2)
