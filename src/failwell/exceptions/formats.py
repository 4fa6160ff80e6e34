"""Rules for libraries that parse and validate data, such as pydantic, jsonschema, msgspec and yaml.

A validation error from inside a tool's body says that data the tool got or made is wrong, not that the caller's
arguments are: those are checked before the body runs.
"""

from failwell.exceptions.rules import Rule, Rules
from failwell.exceptions.stdlib import by_source_of_text

_UNUSABLE: Rule = "BAD_UPSTREAM_RESPONSE"
_BUG: Rule = {"code": "INTERNAL_ERROR"}

_TABLES: dict[tuple[str, ...], dict[str, Rule]] = {
    ("pydantic", "pydantic_core"): {
        "ValidationError": _UNUSABLE,
        "PydanticUserError": _BUG,
        "PydanticErrorMixin": _BUG,
        "PydanticSerializationError": _BUG,
        "PydanticSerializationUnexpectedValue": _BUG,
        "PydanticCustomError": _UNUSABLE,
        "PydanticKnownError": _UNUSABLE,
        "PydanticOmit": _BUG,
        "PydanticUseDefault": _BUG,
        "SchemaError": _BUG,
    },
    ("pydantic_settings",): {"SettingsError": "CONFIG_ERROR"},
    ("jsonschema",): {
        "ValidationError": _UNUSABLE,
        "FormatError": _UNUSABLE,
        "SchemaError": _BUG,
        "UndefinedTypeCheck": _BUG,
        "UnknownType": _BUG,
        "_RefResolutionError": _BUG,
    },
    ("referencing",): {"Unresolvable": _BUG, "NoSuchResource": _BUG},
    ("jsonschema_rs",): {"ValidationError": _UNUSABLE, "ReferencingError": _BUG},
    ("fastjsonschema",): {"JsonSchemaValueException": _UNUSABLE, "JsonSchemaException": _BUG},
    ("msgspec",): {
        "ValidationError": _UNUSABLE,
        "DecodeError": by_source_of_text,
        "EncodeError": _BUG,
        "MsgspecError": _BUG,
    },
    ("marshmallow",): {"ValidationError": _UNUSABLE, "MarshmallowError": _BUG, "RegistryError": _BUG},
    ("cattrs",): {
        "BaseValidationError": _UNUSABLE,
        "StructureHandlerNotFoundError": _BUG,
        "ForbiddenExtraKeysError": _UNUSABLE,
    },
    ("voluptuous",): {"Invalid": _UNUSABLE, "SchemaError": _BUG},
    ("schema",): {"SchemaError": _UNUSABLE},
    ("cerberus",): {"DocumentError": _UNUSABLE, "SchemaError": _BUG},
    ("typeguard",): {"TypeCheckError": _BUG},
    ("beartype",): {"BeartypeException": _BUG},
    ("yaml",): {"YAMLError": by_source_of_text},
    ("ruamel",): {"YAMLError": by_source_of_text},
    ("orjson", "simplejson", "ujson", "rapidjson"): {"JSONDecodeError": by_source_of_text, "JSONEncodeError": _BUG},
    ("tomli", "tomlkit", "toml"): {
        "TOMLDecodeError": by_source_of_text,
        "TomlDecodeError": by_source_of_text,
        "ParseError": by_source_of_text,
    },
    ("lxml",): {"LxmlError": by_source_of_text, "XPathEvalError": "QUERY_ERROR", "XPathSyntaxError": "QUERY_ERROR"},
    ("dateutil",): {"ParserError": "PARSE_ERROR"},
    ("jinja2",): {"TemplateNotFound": "CONFIG_ERROR", "TemplateError": _BUG},
}

RULES: Rules = {
    (package, name): rule for packages, rules in _TABLES.items() for package in packages for name, rule in rules.items()
}
