"""One engine for rules: a table for each verb, whose rules are declared by a decorator and run over things.

    LINT: RuleTable[Finding] = RuleTable("opset.schemas.lint", ("rules", "example_rules"))

    @LINT.rule("S202", Operator)
    def check_order(operator: Operator, context: LintContext) -> Iterator[Finding]: ...

    for rule, finding in LINT.apply(operator, context): ...

A fix mends the findings of a code as far as they have one plain remedy; what it takes and returns, its verb says.

    @LINT.fix("S201")
    def declare_differences(operator: Operator, document: dict[str, Any], sets: TypeSets) -> None: ...

Lint, the checker, breaking changes, the claims of examples and the checklist of a contribution are such tables. The
title of a code stands in `errors.CODES` only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Generic, TypeVar

from opset.errors import CODES

F = TypeVar("F")
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rule(Generic[F]):
    """A rule about things of one type.

    Attributes:
        codes: Codes of its findings; a table without codes has names of its rules.
        subject: Type of the things that it checks.
        check: Yields the findings about a thing; it may take a context as well.
        name: Name in the documentation, after its function.
        phrase: Title of a rule that has a name and no code.
        severity: Severity of its findings.
        requires: Requirement of its findings.
        clause: Clause of the standard, or section, that it follows.
        applies: Whether it can check a thing.
        since: IR version from which it holds, 0 for any.
        until: IR version up to which it holds, None for any.
        optional: Whether it runs only if it is selected.
    """

    codes: tuple[str, ...]
    subject: type
    check: Callable[..., Iterator[F]]
    name: str = ""
    phrase: str = ""
    severity: str = ""
    requires: str = ""
    clause: str = ""
    applies: Callable[[Any], bool] = lambda thing: True
    since: int = 0
    until: int | None = None
    optional: bool = False

    @property
    def code(self) -> str:
        """The code of its findings, or the first of them."""
        return self.codes[0]

    @property
    def title(self) -> str:
        """The title of its code, or its own phrase if it has a name and no code."""
        return CODES.get(self.code, self.phrase)


class RuleTable(Generic[F]):
    """The rules of a verb, in the order of the modules that declare them; these are imported when they are needed."""

    def __init__(self, package: str, modules: Collection[str], fixes: Collection[str] = (), **defaults: Any) -> None:
        """Create a table without rules.

        Args:
            package: The package of the modules with rules.
            modules: Their names in it.
            fixes: Further modules, with fixes alone, by their full names.
            defaults: Attributes of rules that do not have their own.
        """
        self._defaults = defaults
        self._modules = [f"{package}.{name}" for name in modules]
        self._fix_modules = [*self._modules, *fixes]
        self._declared: dict[tuple[str, type], Rule[F]] = {}
        self._fixes: dict[str, Callable[..., Any]] = {}

    def rule(self, codes: str, subject: type, **parts: Any) -> Callable[[Function], Function]:
        """Return a decorator that declares a rule.

        Args:
            codes: Codes of its findings, separated by spaces.
            subject: Type of the things that it checks.

        Raises:
            ValueError: If another rule about this type has one of the codes.
        """

        def declare(function: Function) -> Function:
            name = function.__name__.strip("_").replace("_", "-")
            rule: Rule[F] = Rule(tuple(codes.split()), subject, function, **{"name": name, **self._defaults, **parts})
            for code in rule.codes:
                if (code, subject) in self._declared:
                    raise ValueError(f"two rules about {subject.__name__} have the code {code}")
                self._declared[code, subject] = rule
            return function

        return declare

    def fix(self, codes: str) -> Callable[[Function], Function]:
        """Return a decorator that declares a fix.

        Args:
            codes: Codes of the findings that it mends, separated by spaces.

        Raises:
            ValueError: If another fix mends findings of one of the codes.
        """

        def declare(function: Function) -> Function:
            for code in codes.split():
                if code in self._fixes:
                    raise ValueError(f"two fixes mend {code}")
                self._fixes[code] = function
            return function

        return declare

    @cached_property
    def rules(self) -> tuple[Rule[F], ...]:
        """All rules, in the order in which they run."""
        for module in self._modules:
            import_module(module)
        rules = dict.fromkeys(self._declared.values())
        return tuple(sorted(rules, key=lambda rule: self._modules.index(rule.check.__module__)))

    @cached_property
    def by_code(self) -> dict[str, Rule[F]]:
        """The rules by their codes; of a code of two rules, the first."""
        return {code: rule for rule in reversed(self.rules) for code in rule.codes}

    @cached_property
    def fixes(self) -> dict[Callable[..., Any], list[str]]:
        """The fixes, in the order in which they run, each with the codes of the findings that it mends."""
        for module in self._fix_modules:
            import_module(module)
        codes: dict[Callable[..., Any], list[str]] = {}
        for code, fix in sorted(self._fixes.items(), key=lambda each: self._fix_modules.index(each[1].__module__)):
            codes.setdefault(fix, []).append(code)
        return codes

    def select(self, subject: type, codes: Set[str] | None = None) -> Iterator[Rule[F]]:
        """Yield the rules about things of a type, with one of these codes if they are named."""
        for rule in self.rules:
            if rule.subject is subject and (codes is None or not codes.isdisjoint(rule.codes)):
                yield rule

    def apply(self, thing: object, *context: object, codes: Set[str] | None = None) -> Iterator[tuple[Rule[F], F]]:
        """Yield the findings of rules about a thing as they are found, each with its rule."""
        for rule in self.select(type(thing), codes):
            if rule.applies(thing):
                for finding in rule.check(thing, *context):
                    yield rule, finding
