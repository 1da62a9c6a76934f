"""Formulas of operators as text for a terminal: LaTeX becomes Unicode, "\\frac{x}{2}" is "x/2".

    formula_lines(r"y = \\sqrt{\\frac{a}{b}}")     # ["y = √(a/b)"]

What is not known of LaTeX stays as it is written; nothing is refused.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 5_000
DEEPEST = 30
"""Groups inside each other that are read; a formula with more stays as it is."""
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}]|[_^&]|\s+|[^\\{}_^&\s]", re.DOTALL)
_SYMBOLS = {
    "cdot": "·", "times": "×", "odot": "⊙", "ldots": "…", "cdots": "⋯", "dots": "…", "le": "≤", "leq": "≤", "ge": "≥",
    "geq": "≥", "ne": "≠", "neq": "≠", "in": "∈", "cap": "∩", "leftarrow": "←", "rightarrow": "→", "to": "→",
    "cup": "∪",
    "mapsto": "↦", "partial": "∂", "infty": "∞", "pm": "±", "approx": "≈", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈",
    "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "sum": "∑", "prod": "∏", "int": "∫", "nabla": "∇", "forall": "∀",
    "mid": "|", "land": "∧", "lor": "∨", "neg": "¬", "lVert": "‖", "rVert": "‖", "Vert": "‖", "alpha": "α", "beta": "β",
    "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "eta": "η", "theta": "θ", "kappa": "κ",
    "lambda": "λ",
    "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Delta": "Δ", "Gamma": "Γ", "Phi": "Φ", "Sigma": "Σ", "Omega": "Ω",
    "bmod": " mod ", "quad": "\ue000", "qquad": "\ue000\ue000", "left": "", "right": "", "Big": "", "big": "",
    "bigg": "", "displaystyle": "", "limits": "",
}  # fmt: skip
_SPACE = "\ue000"
"""Stands for a space that stays, however many there are."""
_INSIDE = re.compile(r"(?<=[⌊⌈(\[{]) | (?=[⌋⌉)\]},])")
"""Spaces on the inside of brackets."""
_ENDS = frozenset(("", "+", "-", "=", ",", ")", "}", "]", "&", "<", ">", r"\\", r"\right", r"\end", r"\quad", r"\;"))
"""What may follow a fraction that has no parentheses."""
_SPACED = frozenset("≤≥≠∈∩∪←→↦≈∧∨⊙")
_CHARACTERS = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "\\": "\n"}
_FRACTIONS = frozenset(("frac", "tfrac", "dfrac"))
_TEXTS = frozenset(("mathrm", "text", "mathbf", "mathit", "operatorname", "mathcal", "textbf", "mathbb"))
_UP = dict(zip("0123456789+-=()nijkTx", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱʲᵏᵀˣ", strict=True))
_DOWN = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))
_PLAIN = re.compile(r"[\w.√∞'⁰-₟ⁿⁱ]*|\([^()]*\)|[\w.]+\([^()]*\)")
"""What needs no parentheses as a part of a fraction or a root."""


def formula_lines(formula: str) -> list[str]:
    """Return a formula in LaTeX as lines of text; the cases of a definition stand below each other."""
    if len(formula) > MOST_CHARACTERS:
        return formula.splitlines()
    try:
        text = _Reader(formula).text()
    except _TooDeep:
        return formula.splitlines()
    lines = [_INSIDE.sub("", re.sub(" {2,}", " ", line).strip()) for line in text.split("\n")]
    return [line.replace(_SPACE, " ").rstrip() for line in lines if line.replace(_SPACE, "")]


class _TooDeep(Exception):
    """Raised if groups stand too deep inside each other."""


class _Reader:
    """Reads a formula, token by token."""

    def __init__(self, formula: str) -> None:
        self._tokens = _TOKEN.findall(formula)
        self._position = 0
        self._depth = 0

    def text(self) -> str:
        """Return all that is left as text."""
        parts = []
        while self._position < len(self._tokens):
            parts.append(self._until(""))
        return "".join(parts)

    def _next(self) -> str:
        token = self._tokens[self._position] if self._position < len(self._tokens) else ""
        self._position += 1
        return token

    def _until(self, end: str) -> str:
        """Return the text up to a token, which is read too, or to the end."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooDeep
        parts: list[str] = []
        while self._position < len(self._tokens):
            token = self._next()
            if token == end:
                break
            if token == r"\end":
                self._argument()
                break
            self._add(parts, token)
        self._depth -= 1
        return "".join(parts)

    def _add(self, parts: list[str], token: str) -> None:
        """Add the meaning of a token, with its arguments."""
        if token in ("_", "^"):
            parts.append(_script(self._argument(), token))
        elif token == "{":
            parts.append(self._until("}"))
        elif token == "&":
            parts.append("\t")
        elif token == r"\begin":
            parts.append(self._environment())
        elif token[0] == "\\":
            made = self._command(token[1:])
            if token[1:] in _FRACTIONS and (self._follows(parts) or self._peek() not in _ENDS):
                made = f"({made})"
            parts.append(made)
        elif token.isspace():
            parts.append("\n" if token.count("\n") > 1 else " ")
        else:
            parts.append("" if token == "}" else token)

    @staticmethod
    def _follows(parts: list[str]) -> bool:
        """Whether the next part is multiplied by what stands before it, or is the argument of a function."""
        before = "".join(parts).rstrip(" ")[-1:]
        return before.isalnum() or before in (")", "∑", "∏")

    def _peek(self) -> str:
        """Return the next token that is no space."""
        rest = (token for token in self._tokens[self._position :] if not token.isspace())
        return next(rest, "")

    def _argument(self) -> str:
        """Return the next group, or the next token, as text."""
        while (token := self._next()).isspace():
            pass
        if token == "{":
            return self._until("}")
        if token.startswith("\\"):
            return self._command(token[1:])
        return token

    def _command(self, name: str) -> str:
        """Return the text of a command, with its arguments."""
        if name in _FRACTIONS:
            return f"{_part(self._argument())}/{_part(self._argument())}"
        if name == "sqrt":
            return f"√{_part(self._argument())}"
        if name in _TEXTS:
            return self._argument()
        if name in _SYMBOLS:
            symbol = _SYMBOLS[name]
            return f" {symbol} " if symbol in _SPACED else symbol
        return _CHARACTERS.get(name, name)

    def _environment(self) -> str:
        """Return the rows of an environment, each on a line of its own, those of cases with their conditions."""
        name = self._argument()
        rows = [[re.sub(" {2,}", " ", cell.strip()) for cell in row.split("\t")] for row in self._until("").split("\n")]
        rows = [row for row in rows if any(row)]
        if name.endswith("matrix"):
            return f"[{'; '.join(' '.join(row) for row in rows)}]"
        if name != "cases":
            return "\n".join(" ".join(row) for row in rows)
        width = max((len(row[0]) for row in rows), default=0)
        lines = [f"{row[0]}{_SPACE * (width - len(row[0]) + 3)}{_condition(row[1:])}" for row in rows]
        return "".join(f"\n{_SPACE * 2}{line}" for line in lines) + "\n"


def _condition(cells: list[str]) -> str:
    """Return the condition of a case in words."""
    words = " ".join(cells)
    return words if not words or words.startswith(("if", "otherwise", "for", "else")) else f"if {words}"


def _part(text: str) -> str:
    """Return a part of a fraction or a root, in parentheses if it needs them."""
    text = text.strip()
    return text if _PLAIN.fullmatch(text) else f"({text})"


def _script(text: str, mark: str) -> str:
    """Return an index or an exponent: in small characters if Unicode has them all."""
    text = text.strip()
    small = _DOWN if mark == "_" else _UP
    if all(character in small for character in text) and not (text.isalpha() and len(text) > 2):
        return "".join(small[character] for character in text)
    return f"{mark}{text}" if re.fullmatch(r"\w|[A-Za-z0-9._]+", text) else f"{mark}({text})"
