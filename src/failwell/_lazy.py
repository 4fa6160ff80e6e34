"""Lazy loading: names of a package and regular expressions that are created when they are first used."""

# Not `typing`: it takes longer to load than the rest of `import failwell`. Type checkers know the name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, AnyStr


def exports(
    package: str, homes: "Mapping[str, str]", modules: "Collection[str]" = ()
) -> "tuple[Callable[[str], object], Callable[[], list[str]]]":
    """Return `__getattr__` and `__dir__` of a package.

    *homes* gives for each module the names that it holds, separated by spaces; a module is named relative to the
    package, or from `failwell.` on. *modules* are exported themselves.
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> object:
        from importlib import import_module

        if name in home_of:
            home = home_of[name]
            found = getattr(import_module(home if home.startswith("failwell.") else f"{package}.{home}"), name)
            import_module(package).__dict__[name] = found
            return found
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load, lambda: sorted([*home_of, *modules])


class LazyPattern:
    """A regular expression that is compiled by its first use: one failure needs few of all that there are.

    After that, its methods are those of the compiled one, found without another step.
    """

    __slots__ = ("findall", "finditer", "flags", "fullmatch", "match", "pattern", "search", "split", "sub", "subn")

    def __init__(self, pattern: "Any", flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> "Any":
        # Called only for what is not set yet.
        if name not in LazyPattern.__slots__:
            raise AttributeError(f"a pattern has no attribute {name!r}")
        import re

        compiled: Any = re.compile(self.pattern, self.flags)
        for method in LazyPattern.__slots__:
            if method not in ("pattern", "flags"):
                setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy_pattern(pattern: "AnyStr", flags: int = 0) -> "re.Pattern[AnyStr]":
    """Return what `re.compile` returns, compiled by its first use."""
    found: Any = LazyPattern(pattern, flags)
    return found  # type: ignore[no-any-return]  # it does what such a pattern does
