"""Packages whose names are loaded when they are first used, so that importing one costs next to nothing."""

# Not `typing`: it takes longer to load than the rest of `import failwell`. Type checkers know the name.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


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
